"""How a machine looks to people: a summary and its NUMA nodes; every CPU when more is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.answers.cpu_columns import CPU_COLUMNS
from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

_DEFAULT_COLUMNS = ("CPU", "NODE", "SOCKET", "CORE", "L1D", "L1I", "L2", "L3", "ONLINE")


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:
    """Lay out a machine, or only the table of CPUs where columns were asked for."""
    if "columns" in document:
        yield cpu_table(document["cpus"], tuple(document["columns"]))
        return
    yield Lines.of(*_summary_lines(document))
    if document["numaNodes"]:
        yield _numa_table(document["numaNodes"])
    if wide:
        yield cpu_table(document["cpus"], _DEFAULT_COLUMNS)
    if document["findings"]:
        yield Lines((Cell("Unusual:"), *(Cell(f"- {finding}", "yellow") for finding in document["findings"])))


def cpu_table(cpus: list[Mapping[str, Any]], columns: tuple[str, ...]) -> Table:
    """Make one row a CPU with the columns asked for."""
    rows = tuple(tuple(Cell(_shown(cpu[CPU_COLUMNS[name]])) for name in columns) for cpu in cpus)
    return Table(tuple(Column(name, "right") for name in columns), rows)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _summary_lines(document: Document) -> Iterator[str]:
    summary, kubelet = document["summary"], document["kubelet"]
    threads = " or ".join(str(count) for count in summary["threadsPerCore"])
    facts = {
        "Model": summary["model"],
        "CPUs online": f"{summary['online']} ({summary['cpus']})",
        "CPUs offline": summary["offline"],
        "CPUs isolated": summary["isolated"],
        "CPUs nohz_full": summary["nohzFull"],
        "Performance CPUs": summary["performanceCPUs"],
        "Efficiency CPUs": summary["efficiencyCPUs"],
        "Cores": f"{summary['cores']}, {threads} CPUs each",
        "Sockets": str(summary["sockets"]),
        "NUMA nodes": str(summary["numaNodes"]),
        "L3 caches": str(summary["l3Caches"]),
        "Memory": _size(summary["memoryBytes"]),
        "A kubelet counts": _kubelet_counts(kubelet),
    }
    for name, fact in facts.items():
        if fact:
            yield f"{name + ':':<18} {fact}"


def _kubelet_counts(kubelet: Mapping[str, Any]) -> str:
    if "error" in kubelet:
        return f"nothing: {kubelet['error']}"
    return (
        f"{kubelet['cpus']} CPUs, {kubelet['cores']} cores of {kubelet['cpusPerCore']}, "
        f"{kubelet['sockets']} sockets, {kubelet['numaNodes']} NUMA nodes, "
        f"{kubelet['uncoreCaches']} uncore caches"
    )


def _numa_table(nodes: list[Mapping[str, Any]]) -> Table:
    sizes = sorted({size for node in nodes for size in node["hugepages"]}, key=lambda size: (size[-2:], size))
    columns = ("NODE", "MEMORY", "FREE", *(f"HUGE {size}" for size in sizes), "CPUS")
    rows = tuple(
        (
            Cell(str(node["id"])),
            Cell(_size(node["memoryBytes"])),
            Cell(_size(node["freeBytes"])),
            *(Cell(str(node["hugepages"].get(size, "-"))) for size in sizes),
            Cell(node["cpus"] or "none"),
        )
        for node in nodes
    )
    justified = [Column(name, "right") for name in columns[:-1]]
    return Table((*justified, Column("CPUS")), rows)


def _size(count: int | None) -> str:
    """Write bytes as lscpu and free do: one decimal, powers of 1024."""
    if count is None:
        return ""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
