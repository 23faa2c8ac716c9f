"""Whether a kubelet starts, in the same lines in every answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Lines, next_cell
from cpuctl.exports.outcomes import start_word

if TYPE_CHECKING:
    from cpuctl.answers.start import SettingToFix, Start
    from cpuctl.answers.values import Sources


def start_block(start: Start, who: str = "The kubelet", check: str = "") -> Lines:
    """Show whether *who* starts and, if not, what to change; *check* is the command for that."""
    following = (next_of_start(start, check),) if check else ()
    return Lines((Cell(*start_word(start, who)), *remedy_cells(start), *following))


def next_of_start(start: Start, command: str, where: str = "") -> Cell:
    """Return the last line of an answer about a failed start.

    If it is unknown, there may be nothing to change: the command shows what else is known.
    """
    what = "to see what is known" if start["outcome"] == "Undetermined" else "to see what to change"
    if command.startswith("cpuctl plan "):
        what = "to see which pods get which CPUs"
    return next_cell(f"{what}{where}", command)


def verdict_cell(start: Start, who: str, *, errors: int) -> Cell:
    """Show whether *who* starts; with *errors*, the answer is no, and so is the colour."""
    text, style = start_word(start, who)
    return Cell(text, "yellow" if start["outcome"] == "Started" and errors else style)


def kubelet_name(version: str, start: Start, sources: Sources) -> str:
    """Name a kubelet by its release, unless that is only assumed and the answer depends on it."""
    entry = sources.get("kubeletVersion")
    assumed = entry is not None and entry["from"] == "default" and entry["value"] == version
    return "The kubelet" if assumed and start["outcome"] == "Undetermined" else f"Kubelet {version}"


def remedy_cells(start: Start) -> Iterator[Cell]:
    """Show where and how to change a configuration that cannot be loaded, and the outcome after that."""
    yield from setting_cells(start)
    yield from fix_cells(start)


def fix_cells(start: Start) -> Iterator[Cell]:
    """Show how to change a configuration that cannot be loaded, and the outcome after that."""
    if start["outcome"] in ("Rejected", "KubeletFault"):
        if "fix" in start:
            yield Cell(f"  fix: {start['fix']}")
        yield from (Cell(f"  {each} (once the first is fixed)") for each in start.get("later", ()))


def setting_cells(start: Start) -> Iterator[Cell]:
    """Show where the settings are that keep a kubelet from starting, or that they are not set."""
    for place in settings_to_fix(start):
        if text := setting_text(place):
            yield Cell(f"  {text}")


def settings_to_fix(start: Start) -> Sequence[SettingToFix]:
    """Return the settings that keep a kubelet from starting, if the answer names them."""
    return start.get("settingsToFix", ()) if start["outcome"] in ("Rejected", "KubeletFault") else ()


def setting_text(place: SettingToFix) -> str:
    """Show where a setting to be changed is, or that it has to be set."""
    if place["where"] is None:
        return f"setting: {place['setting']} (not set)" if place["setting"] else ""
    return f"where: {place['where']}{': ' if place['setting'] else ''}{place['setting'] or ''}"
