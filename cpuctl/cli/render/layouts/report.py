"""Layout of a report: the state of each part, what is wrong, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell, without_sudo
from cpuctl.cli.render.findings import STYLES, fix_cells, fix_label, placeholder_cells
from cpuctl.cli.render.layouts.audit import CAPTURE_AGAIN, is_live, needs_running_node
from cpuctl.exports.answer_text import advice, full_name
from cpuctl.exports.outcomes import PODS, brief_rejection, start_word
from cpuctl.exports.report_words import PARTS, PlacedFinding, findings_of, refused_pods, standings, verdict

if TYPE_CHECKING:
    from cpuctl.answers.report import Report
    from cpuctl.exports.page import Tone

TONE_STYLES: dict[Tone, str] = {"good": "green", "warn": "yellow", "bad": "red", "unknown": "yellow", "": ""}


def blocks(document: Report, *, wide: bool) -> Iterator[Block]:
    """Lay out a report; wide adds notes, and what to do about findings."""
    overall = verdict(document)
    yield Lines((Cell(f"{document['node']}: {overall.text}", TONE_STYLES[overall.tone]),))
    rows = tuple(
        (Cell(each.title), Cell(each.status.text, TONE_STYLES[each.status.tone]))
        for each in standings(document)
    )
    yield Table((Column("PART"), Column("RESULT")), rows)
    yield from _start(document)
    found = [each for each in findings_of(document) if wide or each.finding["severity"] != "note"]
    if found:
        on_node = "" if is_live(document) else "on the node"
        shown = [line for each in found for line in _finding(each, on_node, wide=wide)]
        yield Lines((*shown, *placeholder_cells([advice(each.finding) for each in found if wide])))
    if lines := tuple(_refused(document)):
        yield Lines(lines)
    lines = tuple(
        Cell(f"unknown: {PARTS[each['part']]}: {each['what']}", "yellow") for each in document["unknown"]
    )
    if lines:
        yield Lines(lines)
    if following := tuple(_following(document, wide=wide)):
        yield Lines(following)


def _following(document: Report, *, wide: bool) -> Iterator[Cell]:
    command = document.get("next", "")
    if without_sudo(command).startswith("cpuctl explain "):
        yield next_cell("to see why and what would help", command)
    elif command and not wide:
        yield next_cell("to see notes and fixes", command)
    if "audit" in document and needs_running_node(document["audit"]):
        yield CAPTURE_AGAIN


def _start(document: Report) -> Iterator[Lines]:
    """Show the kubelet's own message if it does not start."""
    starts = [
        document["configuration"]["start"],
        *([document["state"]["start"]] if "state" in document else []),
    ]
    for start in starts:
        if start["outcome"] != "Started":
            yield Lines((Cell(*start_word(start, "The kubelet")),))
            return


def _finding(found: PlacedFinding, on_node: str, *, wide: bool) -> Iterator[Cell]:
    finding = found.finding
    prefix = ": ".join(filter(None, (finding["severity"], found.about, finding["message"])))
    yield Cell(prefix, STYLES[finding["severity"]])
    if wide and (text := advice(finding)):
        place = on_node if found.part == "audit" else ""
        yield from fix_cells(text, fix_label(text, place))


def _refused(document: Report) -> Iterator[Cell]:
    for pod in refused_pods(document):
        word = PODS[pod["outcome"]].word
        why = brief_rejection(pod).removeprefix(f"{word}: ")
        yield Cell(f"{full_name(pod)}: {word}: {why}", PODS[pod["outcome"]].style)
