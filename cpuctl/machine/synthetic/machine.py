"""From a synthetic description to the machine it describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cpuctl.cpuset import CPUSet
from cpuctl.machine.findings import machine_findings, without_files
from cpuctl.machine.model import CPU, MAX_CPUS, MAX_NUMA_NODES, Cache, Machine, NumaNode
from cpuctl.machine.synthetic.description import HUGEPAGES, L3, Description, Row
from cpuctl.machine.synthetic.layout import Layout, default_distances, regular_layout

_L3_BYTES = 32 << 20


def described_layout(description: Description) -> Layout:
    """Divide all CPUs as described, offline ones included; raise ValueError where figures do not divide."""
    groups = description.groups
    figures = description.figures
    l3_count = description.l3_count
    if l3_count is None:
        l3_count = 0 if L3 in description.unknown else max(figures.sockets, figures.nodes)
    # Figures that explicit groups replace need not divide.
    regular = regular_layout(
        replace(figures, nodes=0) if "nodes" in groups else figures,
        description.numbering,
        l3_groups=0 if "l3" in groups else l3_count,
    )
    return Layout(
        cores=_explicit_cores(groups["cores"], figures.cpus) if "cores" in groups else regular.cores,
        sockets=groups.get("sockets", regular.sockets),
        nodes=groups.get("nodes", regular.nodes),
        l3_groups=tuple(groups["l3"].values()) if "l3" in groups else regular.l3_groups,
    )


def _explicit_cores(groups: Mapping[int, CPUSet], cpus: int) -> tuple[CPUSet, ...]:
    named = CPUSet.of(cpu for group in groups.values() for cpu in group)
    alone = CPUSet((1 << cpus) - 1) - named
    return (*groups.values(), *(CPUSet(1 << cpu) for cpu in alone))


def build_machine(description: Description) -> Machine:
    """Build the machine; raise ValueError where the parts of the description contradict each other."""
    numbered = CPUSet((1 << description.figures.cpus) - 1)
    _require_known_cpus(description, numbered)
    present = numbered - description.cpus.get("absent", CPUSet())
    online = present - description.cpus.get("offline", CPUSet())
    if not online:
        raise ValueError("no CPU is online")
    layout = described_layout(description).restricted_to(online)
    if max(layout.nodes, default=0) >= MAX_CPUS or len(layout.nodes) > MAX_NUMA_NODES:
        raise ValueError(f"at most {MAX_NUMA_NODES} NUMA nodes with numbers below {MAX_CPUS} are possible")
    nodes = tuple(_nodes(description, layout))
    machine = Machine(
        cpus=tuple(_cpus(layout)),
        numa_nodes=nodes,
        caches=tuple(
            Cache(level=3, kind="Unified", cpus=group, id=index, size_bytes=_L3_BYTES)
            for index, group in enumerate(layout.l3_groups)
        ),
        present=present,
        possible=present,
        offline=present - online,
        isolated=description.cpus.get("isolated", CPUSet()),
        nohz_full=description.cpus.get("nohz_full", CPUSet()),
        performance_cpus=description.cpus.get("pcores"),
        efficiency_cpus=description.cpus.get("ecores"),
        memory_bytes=_machine_memory(description, nodes),
        hugepages={
            size: sum(node.hugepages.get(size, 0) for node in nodes) for size in description.hugepages
        },
        caches_known=L3 not in description.unknown,
        hugepages_known=HUGEPAGES not in description.unknown,
    ).checked()
    return machine._replace(findings=without_files(machine_findings(machine)))


def _require_known_cpus(description: Description, numbered: CPUSet) -> None:
    groups = ((key, cpus) for key, groups in description.groups.items() for cpus in groups.values())
    for key, cpus in (*groups, *description.cpus.items()):
        if not cpus <= numbered:
            last = description.figures.cpus - 1
            raise ValueError(f"{key} names CPUs {cpus - numbered}, the figures end at CPU {last}")


def _cpus(layout: Layout) -> Iterator[CPU]:
    socket_of = {cpu: socket for socket, cpus in layout.sockets.items() for cpu in cpus}
    node_of = {cpu: node for node, cpus in layout.nodes.items() for cpu in cpus}
    core_of = {cpu: core for core in layout.cores for cpu in core}
    core_ids = _core_ids(layout, socket_of)
    for number in sorted(core_of):
        socket = socket_of.get(number)
        yield CPU(
            number=number,
            siblings=core_of[number],
            numa_node=node_of.get(number),
            package_id=socket,
            package_cpus=None if socket is None else layout.sockets[socket],
            core_id=core_ids[core_of[number]],
        )


def _core_ids(layout: Layout, socket_of: Mapping[int, int]) -> dict[CPUSet, int]:
    """Count the cores of every socket, as firmware does."""
    used: dict[int | None, int] = {}
    ids = {}
    for core in sorted(layout.cores, key=lambda core: core.lowest):
        socket = socket_of.get(core.lowest)
        ids[core] = used[socket] = used.get(socket, -1) + 1
    return ids


def _nodes(description: Description, layout: Layout) -> Iterator[NumaNode]:
    count = len(layout.nodes)
    memory = _spread(description.memory, count, "mem")
    pages = {
        size: _spread(row, count, f"huge pages of {size} KiB") for size, row in description.hugepages.items()
    }
    distances = description.distances
    if distances is None:
        distances = default_distances(layout.nodes, layout.sockets)
    if distances and len(distances) != count:
        raise ValueError(f"distances has {len(distances)} rows for {count} NUMA nodes")
    for index, (node_id, cpus) in enumerate(layout.nodes.items()):
        counted = ((size, row[index]) for size, row in pages.items())
        yield NumaNode(
            id=node_id,
            cpus=cpus,
            memory_bytes=memory[index],
            hugepages={size: number for size, number in counted if number is not None},
            distances=distances[index] if distances else (),
        )


def _machine_memory(description: Description, nodes: tuple[NumaNode, ...]) -> int | None:
    if not nodes:
        return description.memory[0]
    known = [node.memory_bytes for node in nodes if node.memory_bytes is not None]
    return sum(known) if known else None


def _spread(row: Row, count: int, what: str) -> Row:
    if len(row) not in {1, count}:
        raise ValueError(f"{what} has {len(row)} values for {count} NUMA nodes")
    return row if len(row) == count else row * count
