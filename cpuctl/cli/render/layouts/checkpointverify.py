"""Layout of a verdict on state files: the start, the files, one line per finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.findings import (
    FILES,
    findings_block,
    placeholder_cells,
    repair_cells,
    start_counts_text,
)
from cpuctl.cli.render.tables.checkpoint import file_line
from cpuctl.cli.render.tables.start import kubelet_name, next_of_start, verdict_cell
from cpuctl.exports.answer_text import advice
from cpuctl.exports.outcomes import STATE_FILES_TAKEN, start_sentence
from cpuctl.option_names import KUBELET_VERSION
from cpuctl.phrases import all_of, byte_text

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers

_CHANGED = {
    "numaNodes": "the NUMA nodes",
    "hugePages": "the number of huge pages",
    "reserved": "reservedMemory",
}
"""Causes of differences from the file, as they are called in a sentence."""


def blocks(document: answers.CheckpointVerify, *, wide: bool) -> Iterator[Block]:
    """Lay out a verdict; wide shows findings and changes of memory as tables."""
    start, version = document["start"], document.get("kubelet", {}).get("version")
    who = kubelet_name(version, start, document["sources"]) if version else "The kubelet"
    verdict = verdict_cell(start, who, errors=document["summary"]["error"])
    findings, check = [each for each in document["findings"] if not _is_verdict(each)], _check(document)
    machine = document["sources"].get("machine")
    if _lacks_files(document) and start["outcome"] == "Started":
        yield Lines(
            (Cell("Nothing was checked: there are no state files. The kubelet writes new ones.", "yellow"),)
        )
    yield Lines((verdict,))
    if document["files"]:
        yield Lines(tuple(_file_lines(document, wide=wide)))
    elif start["outcome"] in ("Rejected", "KubeletFault"):
        yield Lines.of("State files: not checked, because the kubelet exits before reading them")
    if drift := document["memoryDrift"]:
        yield from _drift(drift, wide=wide)
    repair = () if wide else tuple(repair_cells(findings))
    if findings:
        yield findings_block(findings, FILES, wide=wide, ends=not repair)
    failed = any(each["severity"] == "error" for each in document["findings"] if _is_verdict(each))
    yield Lines.of(start_counts_text(document["summary"], start, stated=failed))
    if last := (*repair, *([next_of_start(start, check)] if check else [])):
        fixes = map(advice, findings if repair else [])
        yield Lines((*last, *placeholder_cells([check, *fixes])))
    if _lacks_files(document) and (machine is None or machine["value"] != "live"):
        yield next_line("on the node", f"sudo cpuctl checkpoint verify{_of_given_release(document)}")


def _of_given_release(document: answers.CheckpointVerify) -> str:
    release = document["sources"].get("kubeletVersion")
    return f" {KUBELET_VERSION} {release['value']}" if release and release["from"] == "given" else ""


def _lacks_files(document: answers.CheckpointVerify) -> bool:
    """Return whether nothing but the missing files is wrong."""
    startable = document["start"]["outcome"] in ("Started", "Undetermined")
    return not document["files"] and startable and not _check(document)


def _is_verdict(finding: answers.StateFinding) -> bool:
    """Return whether a finding only repeats that the kubelet does not start because of its settings."""
    return not finding["file"] and advice(finding).startswith("cpuctl config check")


def _check(document: answers.CheckpointVerify) -> str:
    return next((advice(each) for each in document["findings"] if _is_verdict(each)), "")


def _file_lines(document: answers.CheckpointVerify, *, wide: bool) -> Iterator[Cell]:
    for file in document["files"]:
        line, verdict = file_line(file, wide=wide), file["verdict"]
        yield Cell(f"{line.text}, {STATE_FILES_TAKEN.get(verdict['outcome'], 'rejected')}", line.style)
        if (
            verdict["outcome"] in ("Rejected", "KubeletFault", "Undetermined")
            and verdict != document["start"]
        ):
            yield Cell(f"  {start_sentence(verdict, 'with this file the kubelet')}", "red")


def _drift(drift: answers.MemoryDrift, *, wide: bool) -> Iterator[Block]:
    """Show how the machine's memory has changed since the file was written."""
    if drift["kind"] == "benign":
        yield Lines.of(
            "Memory has changed only by an amount that is normal after a reboot: "
            "it is safe to adopt the current values."
        )
    else:
        misfit = ", and the memory of pods no longer fits" if drift["podsNoLongerFit"] else ""
        yield Lines((Cell(f"{_changed(drift)}{misfit}.", "yellow"),))
    if wide:
        names = ("NODE", "RESOURCE", "FIELD", "IN THE FILE", "NOW", "CAUSE")
        columns = tuple(Column(name, "right" if name in ("IN THE FILE", "NOW") else "left") for name in names)
        rows = tuple(
            (
                Cell(str(change["numaNode"])),
                Cell(change["resource"] or "-"),
                Cell(change["field"]),
                Cell(_amount(change["saved"])),
                Cell(_amount(change["now"])),
                Cell(change["cause"]),
            )
            for change in drift["changes"]
        )
        yield Table(columns, rows)


def _changed(drift: answers.MemoryDrift) -> str:
    """Say what differs from the file, other than by what is normal after a reboot."""
    causes = {change["cause"] for change in drift["changes"]}
    if "memory" in causes:
        return "Memory has changed by more than is normal after a reboot"
    changed = [words for cause, words in _CHANGED.items() if cause in causes]
    if not changed:
        return "Memory has changed only by an amount that is normal after a reboot"
    listed = all_of(changed)
    return f"Since the file was written, {listed} changed"


def _amount(amount: int | None) -> str:
    return "-" if amount is None else f"{amount} ({byte_text(amount)})"
