"""Notes on stderr in addition to an answer: where inputs came from, and what may be missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cpuctl.cli.output import Style, complain, note
from cpuctl.inputs.sources import NOT_VERIFIED, THE_FLAGS, UNKNOWN_FLAGS
from cpuctl.inputs.user_defaults import origin_text
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.answers.start import Start
    from cpuctl.inputs.live_node import LiveNode, ObservedNode
    from cpuctl.inputs.sources import Sources

_WORDS = {
    "recordedArguments": "kubelet flags",
    "unitArguments": "kubelet flags",
    "unitFiles": "kubelet unit and environment files",
}
"""Inputs whose names in documents are no usual words."""


def warn_of_flags(flags: Sequence[str]) -> None:
    """Warn that these flags override the settings of a proposed file; no flags, no warning."""
    if flags:
        complain(f"warning: flags override files; remove or change these: {' '.join(flags)}")


def print_sources(sources: Sources, style: Style) -> None:
    """Print every warning and, if people read the answer, which inputs are assumed."""
    notes = (f"note: {text}" for text in sources.notes)
    warnings = (f"warning: {text}" for text in (*sources.read_as, *sources.warnings))
    for text in (*notes, *warnings):
        note(text, style)
    for name, entry in sources.entries.items():
        value, origin = entry["value"], entry["from"]
        if name == NOT_VERIFIED:
            if style.for_people:
                note(f"note: not verified {value}", style)
            continue
        if name == UNKNOWN_FLAGS:
            if style.for_people and not any(text.startswith(THE_FLAGS) for text in sources.warnings):
                note(f"note: {THE_FLAGS} are unknown and {value}", style)
            continue
        if name == "skippedObjects" and style.for_people:
            note(f"note: skipped (no pod template): {value}", style)
        if style.for_people and origin != "given":
            stated = "" if value == origin else f" ({origin_text(name, origin)})"
            if name == "kubeletConfiguration" and sources.assumed_configuration:
                stated = f", because {_missing(sources.assumed_configuration)} (set --kubelet-config FILE)"
            note(f"note: {_WORDS.get(name) or _spaced(name)}: {value or 'none'}{stated}", style)


def report_failed_start(start: Start, hint: str = "") -> None:
    """Report on stderr why a kubelet does not start if the answer cannot; *hint* is the next command."""
    from cpuctl.cli.output import complain
    from cpuctl.exports.outcomes import start_sentence

    complain(start_sentence(start, "The kubelet"))
    if hint:
        complain(f"hint: {hint}")


def _missing(place: str) -> str:
    """Report that a file is not on this host, or not in a recording (``RECORDING: /PATH``)."""
    recording, _, path = place.rpartition(": ")
    return f"{path} is not in {recording}" if recording else f"{path} does not exist"


def _spaced(name: str) -> str:
    """Write ``kubeletVersion`` as separate words."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in name)


def observe(node: LiveNode, style: Style) -> ObservedNode:
    """Observe a node with a progress bar, and report if it never settled."""
    from cpuctl.cli.progress import ProgressBar
    from cpuctl.inputs.live_node import observe_settled

    with ProgressBar(style) as progress:
        observed = observe_settled(node, progress)
    if not observed.settled:
        note("note: the kubelet's state changed during every read; try again", style)
    return observed


def print_doubts(node: LiveNode, style: Style) -> None:
    """Report why an answer about a node may be incomplete: unreadable files, a kubelet that makes changes."""
    from cpuctl.inputs.live_node import recent_change

    if count := len(node.files.unreadable):
        print_unreadable(count, "try again with sudo" if os.geteuid() else "-o json lists them", style)
    if change := recent_change(node):
        note(f"note: {change}", style)


def print_unreadable(count: int, remedy: str, style: Style) -> None:
    """Report how many files of a node could not be read."""
    note(f"note: {counted(count, 'file')} could not be read: {remedy}", style)
