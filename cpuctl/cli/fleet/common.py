"""Run a question on every node of a fleet, with progress and line output, until it ends or is interrupted."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from cpuctl.cli.kubelet_options import kubelet_inputs
from cpuctl.cli.output import Style, note, takes_every_character
from cpuctl.cli.process import noted
from cpuctl.cli.progress import ProgressBar
from cpuctl.errors import UsageError, unreadable
from cpuctl.fleet.asking import (
    NOTHING_KNOWN,
    Mapper,
    Question,
    Row,
    ask,
    earlier_answers,
    in_processes,
    processors,
)
from cpuctl.fleet.collection import collect
from cpuctl.inputs.configuration import KubeletInputs, config_read
from cpuctl.inputs.flag_files import paths_of
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.sources import THE_FLAGS, Sources, refuse_stdin_twice
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.phrases import counted, few
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from typer import Context

    from cpuctl.pods.model import Pod


_ASSUMED = {
    "kubeletVersion": "kubelet version: {} is assumed (set it with --nodes FILE or --kubelet-version)",
    "kubeletConfiguration": "kubelet configuration: {} are assumed (set it with --kubelet-config FILE)",
    "unknownFlags": f"{THE_FLAGS} are unknown and {{}}",
}


class FleetSelection(NamedTuple):
    """Which nodes are read, and how."""

    recordings: Sequence[str]
    jobs: int = 0
    resume: str = ""
    scheduler: str = ""


class FleetAnswers(NamedTuple):
    """The answers in the order of the nodes, except those that were already written as lines.

    ``unreadable``: a recording could not be used; ``stopped`` is the exit code if a signal
    ended the run, or 0; ``resumed``: an answer of an earlier run was reused.
    """

    rows: list[Any]
    passed_over: tuple[str, ...]
    unreadable: bool
    stopped: int
    resumed: bool = False


def ask_fleet(
    selection: FleetSelection,
    question: Question,
    style: Style,
    on_row: Callable[[Row], object] = lambda _: None,
) -> FleetAnswers:
    """Read all nodes; if answers are lines, write each as it arrives. *on_row* is called with each answer."""
    known = _earlier(selection.resume) if selection.resume else NOTHING_KNOWN
    found = collect(selection.recordings)
    if found.passed_over:
        note(f"note: skipped (not recordings): {few(found.passed_over)}", style)
    rows: list[Row] = []
    count, unreadable, resumed = 0, False, False
    with noted() as stop, ProgressBar(style) as progress:
        answers = ask(
            question,
            found.recordings,
            _mapper(selection),
            lambda done, total: progress("reading nodes", done, total),
            known,
        )
        for count, row in enumerate(answers, 1):  # noqa: B007  # it is reported after an interrupt
            unreadable = unreadable or row["outcome"] == "Unreadable"
            resumed = resumed or row["answerKey"] in known
            on_row(row)
            if style.output.value == "jsonl":
                _write_line(row)
            else:
                rows.append(row)
            if stop:
                break
        answers.close()
    if stop:
        note(f"note: interrupted, {counted(count, 'node')} answered", style)
    return FleetAnswers(rows, found.passed_over, unreadable, stop.exit_code if stop else 0, resumed)


def note_unresumed(resume: str, style: Style, *answers: FleetAnswers) -> None:
    """Report that no answer of an earlier run could be reused: the question may have been different."""
    if resume and not any(each.resumed for each in answers):
        note(f"note: --resume: {resume} has no answers to this question; all nodes were asked", style)


def note_assumed(rows: Iterable[Row], style: Style, names: Collection[str] = tuple(_ASSUMED)) -> None:
    """Report what is assumed about these inputs, and for which nodes, if people read the answer."""
    if not style.for_people:
        return
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, value in row.get("assumed", {}).items():
            found.setdefault((name, value), []).append(row["node"])
    for (name, value), nodes in found.items():
        if name in names:
            note(f"note: {_ASSUMED[name].format(value)}: {few(list(dict.fromkeys(nodes)))}", style)


def fleet_inputs(context: Context, *names: str) -> KubeletInputs:
    """Return the inputs of all kubelets; a configuration on standard input is read here, once.

    Raise UsageError if one of the *names* of other inputs is standard input, too, and InputError for what
    cannot be read: that would be the error of every node.
    """
    inputs = kubelet_inputs(context)
    refuse_stdin_twice(inputs.config, *names)
    inputs = config_read(inputs)
    # Paths in flags are looked up in every recording first.
    here = replace(inputs, arguments=None) if any(paths_of(inputs)) else inputs
    if here != KubeletInputs():
        with suppress(ConfigRefusedError):  # a configuration that no kubelet would load is part of the answer
            load_kubelet(here, Sources(), machine=None)
    return inputs


def releases_of(nodes: str) -> Mapping[str, str]:
    """Return the kubelet releases from the Nodes in a file, by node name; empty without a file."""
    if not nodes:
        return {}
    from cpuctl.fleet.plan_inputs import load_releases

    return load_releases(nodes)


def pods_of(name: str) -> Mapping[str, Sequence[Pod]] | None:
    """Return the pods in a file by node name, None without a file."""
    if not name:
        return None
    from cpuctl.fleet.plan_inputs import pods_by_node

    return pods_by_node(name)


def note_unmatched_pods(
    names: Collection[str], pods: Mapping[str, Sequence[Pod]] | None, style: Style
) -> None:
    """Report that none of the given pods is on a node with one of these *names*."""
    if pods and not pods.keys() & names:
        note(
            "note: no pod in --pods runs on any of these nodes: recordings must be named after their nodes",
            style,
        )


def _mapper(selection: FleetSelection) -> Mapper:
    jobs = selection.jobs or processors()
    if not selection.scheduler:
        return in_processes(jobs)

    from cpuctl.fleet.on_dask import LOCAL, on_dask

    if selection.jobs and selection.scheduler != LOCAL:
        hint = "the Dask scheduler sets the number of workers"
        raise UsageError("requires --dask-scheduler local", where="--jobs", hint=hint)
    return on_dask(selection.scheduler, jobs)


def _earlier(name: str) -> Mapping[str, list[Row]]:
    from pathlib import Path

    try:
        return earlier_answers(Path(name).read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise unreadable(error, name) from None


def _write_line(row: Row) -> None:
    sys.stdout.write(json.dumps(row, ensure_ascii=not takes_every_character()) + "\n")
    sys.stdout.flush()
