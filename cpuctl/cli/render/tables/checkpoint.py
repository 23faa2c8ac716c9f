"""Tables of state files and of the containers that hold something in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.exports.answer_text import container_name, pod_name, pod_of_cpus
from cpuctl.phrases import byte_text

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.decisions import Block

OWNERS = {
    "running": ("running", ""),
    "podGone": ("gone", "yellow"),
    "containerGone": ("container gone", "yellow"),
    "unknown": ("", ""),
}


def file_line(file: answers.StateFile, *, wide: bool) -> Cell:
    """Describe a file in one line, and whether its checksums are right; wide shows who writes its format."""
    by = f" (kubelet {file['writtenBy']})" if wide and file["writtenBy"] else ""
    parts = [
        f"format {file['format']}{by}" if file["format"] else "format unknown",
        *(_checksum(each) for each in file["checksums"]),
        *([f"policy {file['policy'] or 'none named'}"] if file["policy"] is not None else []),
        *(["the copy for older kubelets differs"] if file["embeddedDiffers"] else []),
        *([f"unreadable ({file['problem']})"] if file["problem"] else []),
    ]
    fine = all(each["ok"] for each in file["checksums"]) and not file["problem"]
    return Cell(f"{file['source']}: {', '.join(parts)}", "" if fine else "red")


def _checksum(checksum: answers.Checksum) -> str:
    if checksum["ok"]:
        return f"{checksum['name']} correct"
    found = f"{checksum['name']} {checksum['written']}"
    # Many kubelet releases do not check a checksum that is 0.
    return f"{found}{' WRONG' if checksum['written'] else ''}, should be {checksum['expected']}"


def cpu_table(holders: Sequence[answers.CPUHolder], *, wide: bool, marked: bool = False) -> Table:
    """Show which container holds which CPUs; *marked*: with the mark of each container in a picture."""
    baselines = any(holder["baseline"] not in (None, holder["cpus"]) for holder in holders)
    columns = {
        "MARK": marked,
        "POD": True,
        "CONTAINER": True,
        "CPUS": True,
        "COUNT": True,
        "GUARANTEED": any(holder["baseline"] for holder in holders) if wide else baselines,
        "OWNER": _owners_known(holders),
        "UID": wide,
    }
    shown = [name for name, wanted in columns.items() if wanted]
    rows = tuple(tuple(_cpu_cells(holder)[name] for name in shown) for holder in holders)
    return Table(tuple(owner_column(name, wide=wide) for name in shown), rows)


def _cpu_cells(holder: answers.CPUHolder) -> dict[str, Cell]:
    return {
        "MARK": Cell(holder["mark"]),
        "POD": Cell(pod_of_cpus(holder)),
        "CONTAINER": Cell(container_name(holder)),
        "CPUS": Cell(holder["cpus"] or "none"),
        "COUNT": Cell(str(holder["count"])),
        "GUARANTEED": Cell(holder["baseline"] or "-"),
        "OWNER": Cell(*OWNERS[holder["owner"]]),
        "UID": Cell(holder["podUID"] or "-"),
    }


def memory_holders(holders: Sequence[answers.MemoryHolder], *, wide: bool) -> Table:
    """Show which container holds which memory, one row per block."""
    names = ["POD", "CONTAINER", "NODE", "RESOURCE", "SIZE"]
    names += ["OWNER"] if _owners_known(holders) else []
    names += ["BYTES", "UID"] if wide else []
    rows = tuple(tuple(cells[name] for name in names) for cells in _block_cells(holders))
    return Table(tuple(owner_column(name, wide=wide) for name in names), rows)


def owner_column(name: str, *, wide: bool) -> Column:
    """Return a column of a table of containers; long names are cut unless *wide*."""
    if name in ("COUNT", "THREAD COUNT", "SIZE", "BYTES"):
        return Column(name, "right")
    return Column(name, cut="middle" if name in ("POD", "CONTAINER") and not wide else "")


def _block_cells(holders: Sequence[answers.MemoryHolder]) -> Iterator[dict[str, Cell]]:
    for holder in holders:
        nothing: Block = {"numaNodes": "-", "resource": "none", "bytes": 0}
        for block in holder["blocks"] or (nothing,):
            yield {
                "POD": Cell(pod_name(holder)),
                "CONTAINER": Cell(container_name(holder)),
                "NODE": Cell(block["numaNodes"]),
                "RESOURCE": Cell(block["resource"]),
                "SIZE": Cell(byte_text(block["bytes"])),
                "OWNER": Cell(*OWNERS[holder["owner"]]),
                "BYTES": Cell(str(block["bytes"])),
                "UID": Cell(holder["podUID"]),
            }


def _owners_known(holders: Sequence[answers.Owner]) -> bool:
    return any(holder["owner"] != "unknown" for holder in holders)
