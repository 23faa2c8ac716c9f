"""Layout of a machine: a summary, every CPU, a map, distances, one line, PCI devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.answering.cpu_columns import CPU_COLUMNS, DEFAULT_COLUMNS, KUBELET_COLUMNS
from cpuctl.cli.render.blocks import Block, Box, Cell, Column, Flow, Lines, Picture, Table
from cpuctl.cli.render.findings import FILES, finding_lines, findings_block
from cpuctl.cpuset import CPUSet
from cpuctl.exports.answer_text import GUESSED
from cpuctl.exports.machine_facts import bare_nodes
from cpuctl.exports.machine_picture import Core, Nested, TopologyDomain, nested
from cpuctl.exports.outcomes import start_word
from cpuctl.phrases import byte_text, counted

if TYPE_CHECKING:
    from cpuctl.answers.topology import (
        CPU,
        Amounts,
        ColumnName,
        KubeletLabel,
        KubeletView,
        Memory,
        NumaNode,
        PCIDevices,
        PlacedCPU,
        Summary,
        Topology,
        Unseen,
    )

_NOT_RECORDED = "not recorded"
_MASKS: Final[Sequence[tuple[str, Literal["online", "isolated", "nohzFull"]]]] = (
    ("online", "online"),
    ("isolated", "isolated"),
    ("nohz_full", "nohzFull"),
)


def blocks(document: Topology, *, wide: bool) -> Iterator[Block]:
    """Lay out a machine, or only the table of CPUs if columns are selected."""
    if "columns" in document:
        yield _cpu_table(document, document["columns"])
        return
    yield Lines.of(*_summary_lines(document, wide=wide))
    if document["numaNodes"]:
        yield _numa_table(document["numaNodes"], wide=wide)
    if "memory" in document:
        yield from memory_blocks(document["memory"], wide=wide)
    if wide:
        yield _cpu_table(document, DEFAULT_COLUMNS)
    kubelet = document["kubelet"]
    if "error" not in kubelet and kubelet["differences"]:
        differences = (Cell(f"- {difference}", "yellow") for difference in kubelet["differences"])
        yield Lines((Cell("The kubelet's view differs from the kernel's:"), *differences))
    if findings := document["findings"]:
        if wide:
            yield Lines.of("Unusual:")
            yield findings_block(findings, FILES, wide=wide)
        else:
            yield Lines((Cell("Unusual:"), *finding_lines(findings, FILES)))


def _cpu_table(document: Topology, columns: Sequence[ColumnName]) -> Table:
    kubelet = document["kubelet"]
    labels = {} if "error" in kubelet else kubelet["labels"]
    rows = tuple(
        tuple(Cell(_shown(_value(cpu, labels.get(str(cpu["cpu"])), name))) for name in columns)
        for cpu in document["cpus"]
    )
    return Table(tuple(Column(name, "right") for name in columns), rows)


def _value(cpu: CPU, label: KubeletLabel | None, column: ColumnName) -> object:
    if of_kubelet := KUBELET_COLUMNS.get(column):
        return label[of_kubelet] if label else None
    value = cpu[CPU_COLUMNS[column]]
    return f"{value} (guess)" if column == "TYPE" and cpu["typeGuessed"] else value


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _summary_lines(document: Topology, *, wide: bool) -> Iterator[str]:
    summary, kubelet = document["summary"], document["kubelet"]
    facts = {
        "Architecture": summary["architecture"],
        "Model": summary["model"],
        "CPUs online": f"{summary['online']} ({summary['cpus']})",
        "CPUs offline": summary["offline"],
        "CPUs isolated": summary["isolated"],
        "CPUs nohz_full": summary["nohzFull"],
        "Performance CPUs": _core_kind(summary, "performanceCPUs"),
        "Efficiency CPUs": _core_kind(summary, "efficiencyCPUs"),
        "Cores": _cores(summary),
        "Sockets": _count(summary["sockets"]),
        "NUMA nodes": _count(summary["numaNodes"]),
        **_caches(document),
        "Memory": _size(summary["memoryBytes"]) or _of_nodes(document["numaNodes"]),
        "Kubelet view": _kubelet_counts(kubelet, known=summary["cores"] is not None),
    }
    if wide:
        facts["Synthetic form"] = summary["synthetic"] or f"none: {summary['whyNotSynthetic']}"
        for name, key in _MASKS:
            facts[f"Mask {name}"] = CPUSet.parse(summary[key]).kernel_mask if summary[key] else ""
    for name, fact in facts.items():
        if fact:
            yield f"{name + ':':<18} {fact}"


def _of_nodes(nodes: Sequence[NumaNode]) -> str:
    """Return the sum over the nodes if the memory of the whole machine is not recorded."""
    known = [node["memoryBytes"] for node in nodes if node["memoryBytes"] is not None]
    return (
        f"{_size(sum(known))} on NUMA nodes; total of the machine {_NOT_RECORDED}" if known else _NOT_RECORDED
    )


def _cores(summary: Summary) -> str:
    threads = " or ".join(str(count) for count in summary["threadsPerCore"])
    return (
        f"{summary['cores']}, {threads} {'CPU' if threads == '1' else 'CPUs'} each"
        if threads
        else _NOT_RECORDED
    )


def _count(count: int | None) -> str:
    return _NOT_RECORDED if count is None else str(count)


def _caches(document: Topology) -> dict[str, str]:
    """Summarize the caches of each level and kind, as lscpu does."""
    found: dict[str, list[int | None]] = {}
    for cache in document["caches"]:
        if cache["level"] is not None:
            kind = {"Data": "d", "Instruction": "i"}.get(cache["type"], "")
            found.setdefault(f"L{cache['level']}{kind} cache", []).append(cache["sizeBytes"])
    named = {name: _cache_sizes(sizes) for name, sizes in found.items()}
    l3 = document["summary"]["l3Caches"]
    return named if l3 else {**named, "L3 cache": "none" if l3 == 0 else _NOT_RECORDED}


def _cache_sizes(sizes: Sequence[int | None]) -> str:
    """Write the total size, if the size of each is recorded, and their number."""
    known = [size for size in sizes if size is not None]
    instances = counted(len(sizes), "instance")
    return f"{_cache_size(sum(known))} ({instances})" if len(known) == len(sizes) else instances


def _core_kind(summary: Summary, kind: Literal["performanceCPUs", "efficiencyCPUs"]) -> str:
    guess = f", {GUESSED}" if summary["coreKindsGuessed"] else ""
    return f"{summary[kind]}{guess}" if summary[kind] else ""


def _kubelet_counts(kubelet: KubeletView | Unseen, *, known: bool) -> str:
    if "error" in kubelet:
        return f"{'unavailable' if known else 'unknown'}: {kubelet['error']}"
    uncore = kubelet["uncoreCaches"]
    caches = "" if uncore is None else f", {counted(uncore, 'uncore cache')}"
    each = f" of {counted(kubelet['cpusPerCore'], 'CPU')}" if kubelet["cores"] else ""
    return (
        f"{counted(kubelet['cpus'], 'CPU')}, {counted(kubelet['cores'], 'core')}{each}, "
        f"{counted(kubelet['sockets'], 'socket')}, {counted(kubelet['numaNodes'], 'NUMA node')}"
        f"{caches}"
    )


def _numa_table(nodes: Sequence[NumaNode], *, wide: bool) -> Table:
    """Show one row per node; sizes of huge pages that no node has only if *wide*."""
    there = {size for node in nodes for size, count in node["hugepages"].items() if wide or count}
    sizes = sorted(there, key=_page_kib)
    columns = ("NODE", "MEMORY", "FREE", *(f"HUGE {size}" for size in sizes), "CPUS")
    rows = tuple(
        (
            Cell(str(node["id"])),
            Cell(_size(node["memoryBytes"]) or "-"),
            Cell(_size(node["freeBytes"])),
            *(Cell(str(node["hugepages"].get(size, "-"))) for size in sizes),
            Cell(node["cpus"] or "none"),
        )
        for node in nodes
    )
    justified = [Column(name, "right") for name in columns[:-1]]
    return Table((*justified, Column("CPUS")), rows)


def _page_kib(size: str) -> int:
    """Return the size of a page, ``64Ki`` or ``1Gi``, in KiB."""
    return int(size[:-2]) << {"Ki": 0, "Mi": 10, "Gi": 20}[size[-2:]]


def _size(count: int | None) -> str:
    return "" if count is None else byte_text(count)


def _cache_size(count: int) -> str:
    """Write bytes as lscpu does: ``32 KiB``, ``1.3 MiB``."""
    text = byte_text(count)
    return f"{text[:-2]} {text[-2:]}B" if text.endswith("i") else f"{text} B"


_Amount = Literal["total", "reserved", "hugePages", "allocatable"]
_COLUMNS: Mapping[_Amount, str] = {
    "total": "TOTAL",
    "reserved": "RESERVED",
    "hugePages": "HUGE PAGES",
    "allocatable": "FOR PODS",
}


def memory_blocks(memory: Memory, *, wide: bool) -> Iterator[Block]:
    """Show what a kubelet would reserve and offer on every NUMA node, and what the kernel reports as free."""
    yield Lines(tuple(_notes(memory)))
    rows = tuple(
        (
            Cell(str(line["numaNode"])),
            Cell(line["resource"]),
            *(_amount(line, name) for name in _COLUMNS),
            Cell("-" if line["free"] is None else byte_text(line["free"])),
        )
        for line in memory["amounts"]
        if wide
        or line["resource"] == "memory"
        or any(line[name] for name in _COLUMNS)
        or line["overcommitted"]
    )
    names = (*_COLUMNS.values(), "FREE NOW")
    columns = (Column("NODE", "right"), Column("RESOURCE"), *(Column(name, "right") for name in names))
    yield Table(columns, rows)


def _amount(line: Amounts, name: _Amount) -> Cell:
    if name == "allocatable" and line["overcommitted"]:
        return Cell(f"{byte_text(line['overcommitted'])} short", "red")
    if name == "hugePages" and line["resource"] != "memory":
        return Cell("-")
    amount = line[name]
    return Cell("-" if amount is None else byte_text(amount))


def _notes(memory: Memory) -> Iterator[Cell]:
    if memory["policy"] == "None":
        yield Cell("Memory as the Memory Manager's Static policy would count it; the policy is None.")
    else:
        yield Cell("Memory as the Memory Manager counts it:")
    if memory["start"]["outcome"] != "Started":
        yield Cell(*start_word(memory["start"], "The kubelet"))


_MARKS = {"offline": ("x", "dim"), "isolated": ("i", "yellow"), "efficiency": ("e", "cyan")}
_LEGEND = {
    "x": "offline",
    "i": "isolated from the scheduler (isolcpus)",
    "e": "efficiency core",
}


def map_blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out a machine as nested boxes; brackets enclose the CPUs of one core."""
    yield from machine_boxes(document["cpus"], {cpu["cpu"]: _cpu(cpu) for cpu in document["cpus"]})
    yield from (Box(words, ()) for words in bare_nodes(document))
    marks = {mark for cpu in document["cpus"] if (mark := _state(cpu))}
    if marks:
        used = {_MARKS[state][0] for state in marks}
        guess = {"e": f", {GUESSED}"} if any(cpu["typeGuessed"] for cpu in document["cpus"]) else {}
        yield Lines.of(
            *(f"{mark}: {meaning}{guess.get(mark, '')}" for mark, meaning in _LEGEND.items() if mark in used)
        )


def _cpu(row: CPU) -> Cell:
    state = _state(row)
    mark, style = _MARKS.get(state, ("", "green"))
    return Cell(f"{row['cpu']}{mark}", style)


def _state(row: CPU) -> str:
    if not row["online"]:
        return "offline"
    if row["isolated"]:
        return "isolated"
    return "efficiency" if row["type"] == "efficiency" else ""


_MIB = 1 << 20


def distances_blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out nodes and distances as ``numactl -H`` does, for people and scripts that parse its output."""
    nodes = document["numaNodes"]
    if nodes:
        yield Lines.of(*_node_lines(nodes), *_distance_lines(nodes))
    else:
        yield Lines.of("No NUMA available on this system")


def _node_lines(nodes: Sequence[NumaNode]) -> Iterator[str]:
    yield f"available: {len(nodes)} nodes ({CPUSet.of(node['id'] for node in nodes)})"
    for node in nodes:
        cpus = "".join(f" {cpu}" for cpu in CPUSet.parse(node["cpus"]))
        yield f"node {node['id']} cpus:{cpus}"
        for word, count in (("size", node["memoryBytes"]), ("free", node["freeBytes"])):
            yield f"node {node['id']} {word}: {'<not available>' if count is None else f'{count // _MIB} MB'}"


def _distance_lines(nodes: Sequence[NumaNode]) -> Iterator[str]:
    if not all(node["distances"] for node in nodes):
        yield "No distance information available."
        return
    yield "node distances:"
    yield "node" + "".join(f" {node['id']:>3}" for node in nodes)
    for node in nodes:
        yield f"{node['id']:>3}:" + "".join(f" {distance:>3}" for distance in node["distances"])


def synthetic_blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the argument of ``-m`` for a shell.

    If the machine has no such argument, the document has the reason instead, so callers need not check.
    """
    summary = document["summary"]
    yield Lines.of(summary["synthetic"] or f"none: {summary['whyNotSynthetic']}")


_NAMES = ("ADDRESS", "KIND", "VENDOR:DEVICE", "NODE", "RESOURCE")


def devices_blocks(document: PCIDevices, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out PCI devices, one per row, and the resources that device plugins would offer for them."""
    rows = tuple(
        (
            Cell(each["address"]),
            Cell(f"{each['kind']}{', virtual function' if each['virtual'] else ''}"),
            Cell(f"{each['vendor']}:{each['device']}"),
            Cell("-" if each["numaNode"] is None else str(each["numaNode"])),
            Cell(each["resource"] or "-"),
        )
        for each in document["pci"]
    )
    yield Table(tuple(Column(name, "right" if name == "NODE" else "left") for name in _NAMES), rows)
    yield Lines.of(
        "Resource names are those of common plugins; check them. Use -o yaml for a draft of --devices."
    )


def machine_boxes(rows: Sequence[PlacedCPU], cells: Mapping[int, Cell]) -> Iterator[Picture]:
    """Draw sockets around NUMA nodes around L3 caches around cores.

    *cells* has the text for each CPU of *rows*; brackets enclose a core, and offline CPUs are separate.
    """
    longest = max((len(cell.text) for cell in cells.values()), default=0)
    even = {cpu: Cell(cell.text.rjust(longest), cell.style) for cpu, cell in cells.items()}
    yield from _boxes(nested(row for row in rows if row["online"]), even)
    offline = [row for row in rows if not row["online"]]
    if offline:
        yield Box("Offline", (Flow(tuple((even[row["cpu"]],) for row in offline)),))


def _boxes(content: Iterable[Nested], cells: Mapping[int, Cell]) -> Iterator[Picture]:
    for kind, group in groupby(content, key=type):
        if kind is Core:
            yield Flow(tuple(_core(core.rows, cells) for core in group if isinstance(core, Core)))
        else:
            yield from (
                Box(place.name, tuple(_boxes(place.inside, cells)))
                for place in group
                if isinstance(place, TopologyDomain)
            )


def _core(rows: Sequence[PlacedCPU], cells: Mapping[int, Cell]) -> tuple[Cell, ...]:
    return (Cell("["), *(cells[row["cpu"]] for row in rows), Cell("]"))
