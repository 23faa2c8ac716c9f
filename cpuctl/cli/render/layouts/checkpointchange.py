"""Layout of changes to state files: the changes and their reasons, gains and losses, what is verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, copies_cells, next_cell
from cpuctl.cli.render.findings import FILES, finding_lines, fix_cells, fix_label, placeholder_cells
from cpuctl.cli.render.layouts.checkpointdiff import difference_blocks
from cpuctl.cli.render.tables.start import next_of_start
from cpuctl.diagnostics import only_shows
from cpuctl.exports.answer_text import WHOLE_POD, advice, pod_name
from cpuctl.exports.outcomes import start_word
from cpuctl.phrases import all_of

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers

_BEGINNING, _UID = 8, 32
_ACTIONS = {"pool": "shared pool", "tables": "machineState"}
_LOSSES = {"podCPUs": "CPUs of the pod as a whole", "podMemory": "memory of the pod", "baseline": "baseline"}


def blocks(document: answers.CheckpointChange, *, wide: bool) -> Iterator[Block]:
    """Lay out a change; wide shows whole UIDs."""
    stated = {advice(each) for each in document["proof"]["findings"]} if document["proof"] else set()
    groups = list(_with_one_reason(document["files"]))
    unstated = [each for each in groups if each[0]["outcome"] == "rejected" and each[0]["fix"] not in stated]
    # A single fix is the last line; those of the findings are below them.
    inline = unstated if len(unstated) > 1 else []
    for alike in groups:
        yield Lines(tuple(_headline(alike, fixable=alike in inline)))
        file = alike[0]
        if file["actions"]:
            yield _actions(file, wide=wide)
        if file["losses"]:
            yield _losses(file["losses"], wide=wide)
        yield from difference_blocks(file, wide=wide, is_new=file["source"] is None)
    explained = {*placeholder_cells([*stated])}
    meanings = [
        each for each in placeholder_cells([files[0]["fix"] for files in unstated]) if each not in explained
    ]
    if inline and meanings:
        yield Lines(tuple(meanings))
    last = [] if inline else [*(cell for files in unstated for cell in _next_fix(files)), *meanings]
    yield Lines((*_closing(document), *last))


def _next_fix(files: Sequence[answers.ChangedFile]) -> Iterator[Cell]:
    """Write the only fix of files that are not changed."""
    fix = files[0]["fix"]
    what = f"for {all_of(file['file'] for file in files)}"
    if only_shows(fix):
        what = "to see why and what would help" if " explain " in fix else "to see what to change"
    yield from fix_cells(fix, f"Next, {what}", indent="")


def _with_one_reason(files: Sequence[answers.ChangedFile]) -> Iterator[list[answers.ChangedFile]]:
    """Group files that are rejected for the same reason; every other file is alone."""
    groups: dict[str, list[answers.ChangedFile]] = {}
    for file in files:
        key = (file["reason"], file["fix"], not file["source"])
        groups.setdefault(repr(key) if file["outcome"] == "rejected" else file["file"], []).append(file)
    yield from groups.values()


def _headline(files: Sequence[answers.ChangedFile], *, fixable: bool) -> Iterator[Cell]:
    """Write what becomes of files that are alike, and their fix unless it is below."""
    file = files[0]
    name = ", ".join(each["source"] or each["file"] for each in files)
    match file["outcome"]:
        case "rejected":
            result = "not changed" if file["source"] else "not created"
            yield Cell(f"{name}: {result}: {file['reason']}", "red")
            if fixable:
                yield from fix_cells(file["fix"], fix_label(file["fix"]))
        case "unchanged":
            yield Cell(f"{name}: nothing to change")
        case _:
            before, after = file["formatBefore"], file["formatAfter"]
            formats = f"format {after}" if before in ("", after) else f"format {before} -> {after}"
            yield Cell(f"{name}: {formats}{', new' if not before else ''}", "bold")


def _actions(file: answers.ChangedFile, *, wide: bool) -> Table:
    # The reason names the format that is read; the one that is written is the file's.
    formats = {"format": file["formatAfter"]}
    rows = tuple(
        (
            Cell(_ACTIONS.get(action["kind"], action["kind"])),
            *_holder(action["holder"], wide=wide),
            Cell(action["before"] or ("none" if action["kind"] == "pool" else "-")),
            Cell(action["after"] or (formats.get(action["kind"], "") if action["before"] else "") or "-"),
            Cell(action["reason"]),
        )
        for action in file["actions"]
    )
    columns = ("ACTION", "POD", "CONTAINER", "BEFORE", "AFTER", "WHY")
    # Whole UIDs leave little room: the reasons go below before a list of CPUs is broken.
    split, keys = (5, 3) if wide else (0, 0)
    return Table(tuple(Column(name) for name in columns), rows, split=split, keys=keys)


def _holder(holder: answers.Owner | None, *, wide: bool) -> tuple[Cell, Cell]:
    """Name a pod and its container; shorten a UID, which the table below shows in full."""
    if holder is None:
        return Cell("-"), Cell("-")
    name = pod_name(holder)
    if holder["pod"] is None and not wide and len(name) >= _UID:
        name = f"{name[:_BEGINNING]}..."
    return Cell(name), Cell(holder["container"] or WHOLE_POD)


def _losses(losses: Sequence[answers.Loss], *, wide: bool) -> Table:
    rows = tuple(
        (
            Cell(_LOSSES[loss["kind"]], "yellow"),
            *_holder(loss["holder"], wide=wide),
            Cell(loss["before"]),
            Cell(loss["meaning"]),
        )
        for loss in losses
    )
    return Table(tuple(Column(name) for name in ("LOST", "POD", "CONTAINER", "VALUE", "EFFECT")), rows)


def _closing(document: answers.CheckpointChange) -> Iterator[Cell]:
    proof, kubelet = document["proof"], document.get("kubelet")
    if proof is not None:
        who = f"kubelet {kubelet['version']}" if kubelet else "the kubelet"
        premise = "with these changes, " if _prevented(document["files"]) else ""
        named = f"{premise}{who}"
        yield Cell(*start_word(proof["start"], f"{named[0].upper()}{named[1:]}"))
        yield from finding_lines(proof["findings"], FILES)
    for running in document["kubelets"]:
        yield Cell(
            f"{running['name']} runs here (process {running['pid']}): stop it before using --yes", "yellow"
        )
    yield from _written(document)
    if proof is not None and document["outcome"] != "Changed" and (check := document.get("next")):
        yield next_of_start(proof["start"], check)


def _is_new(document: answers.CheckpointChange) -> bool:
    return any(file["source"] is None for file in document["files"])


def _written(document: answers.CheckpointChange) -> Iterator[Cell]:
    if document["written"]:
        for file in document["files"]:
            if file["target"]:
                backup = f", backup {file['backup']}" if file["backup"] else ""
                yield Cell(f"written: {file['target']}{backup}", "green")
    elif document["outcome"] == "Changed":
        yield from _unverified(document)
        directory = "--write-state DIR to write "
        new = f"{directory}new files" if "next" in document or _is_new(document) else ""
        yield Cell(f"Nothing was written; use {new or f'--yes to write in place, or {directory}elsewhere'}.")
        if "next" in document:
            yield next_cell("on the node", document["next"])
            yield from copies_cells(document["next"])
    elif document["outcome"] == "Rejected":
        yield Cell(f"Nothing was written{_prevented(document['files'])}.")
    else:
        yield from _unverified(document)
        yield Cell("Nothing to write.")


def _unverified(document: answers.CheckpointChange) -> Iterator[Cell]:
    if document["proof"] is None:
        yield Cell("Not verified on a machine (use -m MACHINE).", "yellow")


def _prevented(files: Sequence[answers.ChangedFile]) -> str:
    """Name the files that cannot be changed if, because of them, changes that are shown are not made."""
    names = [file["file"] for file in files if file["outcome"] == "rejected"]
    if not names or all(file["outcome"] != "changed" for file in files):
        return ""
    return f", because {all_of(names)} cannot be changed safely"
