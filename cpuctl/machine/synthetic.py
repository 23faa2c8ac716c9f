"""Machines described in one line, for bug reports, tests and "what if": ``synthetic:2s4n16c2t,l3=8``.

First the figures of ``lscpu``, in this order: ``2s`` sockets, ``4n`` NUMA nodes in all, ``16c`` cores per
socket, ``2t`` CPUs per core: 64 CPUs here. Left out: 1 socket, as many nodes as sockets, 1 CPU per core;
``0n`` is a machine without NUMA. Then options, separated by commas:

``far``, ``near``
    number the CPUs through all cores once per thread (the default, as most x86 servers do), or give the
    siblings of a core neighbouring numbers
``interleaved``
    deal the cores to sockets, NUMA nodes and L3 groups in turn: CPU 0 to the first, CPU 1 to the second
``l3=8``
    groups that share an L3 cache, in all; default: one per NUMA node or socket, whichever are more; ``-`` is
    unknown
``mem=64Gi``, ``mem=64Gi/0/-``
    memory of every node, or of each in order; ``-`` is unknown; default 64Gi; with ``0n`` the machine's
``hugepages-2Mi=512``, ``hugepages-1Gi=4/-``
    huge pages of every node, or of each; ``-`` is no such page size
``hugepages=-``
    the huge pages of some node, or of all, are unknown, but for those that other options name
``distances=10+21/21+10``
    rows of NUMA distances, ``none`` for none; default: 10, 12 inside a socket, 21 between sockets
``offline=3+5``, ``absent=6-7``, ``isolated=2-3``, ``nohz_full=2-3``, ``pcores=0-7``, ``ecores=8-15``
    CPUs that do not run, do not exist, are isolated, tickless, of performance or efficiency cores; a mask of
    the kernel does as well, with ``+`` for its commas: ``isolated=0xf+00000000``
``cores=0+8/1+9``, ``sockets=0-3/4-7``, ``nodes=0-2/3-7/252:``, ``l3=0-3/4-7``
    exact groups in place of the regular ones: CPU lists (``+`` for the comma) parted by slashes, each with an
    optional number before a colon, or ``none``. A CPU in no core group is a core of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.findings import machine_findings, without_files
from cpuctl.machine.model import CPU, MAX_CPUS, MAX_NUMA_NODES, Cache, Machine, NumaNode
from cpuctl.machine.synthetic_description import (
    HINT,
    HUGEPAGES,
    L3,
    Description,
    Figures,
    Layout,
    Numbering,
    Row,
    default_distances,
    regular_layout,
)

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


PREFIX = "synthetic:"

_NUMBERINGS = [
    Numbering(near=near, interleaved=interleaved) for interleaved in (False, True) for near in (False, True)
]


def parse_synthetic(text: str) -> Machine:
    """Build the machine that *text* describes; raise InputError naming the part that makes no sense."""
    description = text.removeprefix(PREFIX)
    try:
        return build_machine(Description.parse(description))
    except ValueError as error:
        raise InputError(str(error), where=PREFIX + description, hint=HINT) from None
    except InputError as error:
        raise error.within(PREFIX + description) from None


def describe_synthetic(machine: Machine) -> str:
    """Write a machine's topology as a synthetic description, the shortest of a few that fit.

    What is not topology is left out: firmware ids, caches other than L3, frequencies. Raise ValueError,
    saying why, for a machine that has no such description.
    """
    if not machine.numa_known:
        raise ValueError("nothing is recorded of NUMA nodes")
    if not machine.cores_known:
        raise ValueError("nothing is recorded of cores")
    if machine.l3_groups and not machine.caches_known:
        raise ValueError("only of some level-3 caches is it recorded which CPUs share them")
    _require_distinct_l3(machine)
    layout = _layout_of(machine)
    options = _options(machine, layout)
    candidates = (_described(start._replace(**options), machine.online, layout) for start in _starts(machine))
    return PREFIX + min(map(str, candidates), key=len)


def _require_distinct_l3(machine: Machine) -> None:
    claimed = CPUSet()
    for group in machine.l3_groups:
        if not group.isdisjoint(claimed):
            raise ValueError(f"CPUs {group & claimed} share more than one level-3 cache")
        claimed |= group


def _layout_of(machine: Machine) -> Layout:
    return Layout(
        cores=machine.cores,
        sockets=machine.sockets,
        nodes={node.id: node.cpus for node in machine.numa_nodes},
        l3_groups=machine.l3_groups,
    )


def _numbered(machine: Machine) -> CPUSet:
    highest = (machine.online | machine.offline | (machine.present or CPUSet())).mask.bit_length()
    return CPUSet((1 << highest) - 1)


def _starts(machine: Machine) -> Iterator[Description]:
    """Yield regular descriptions that may come near the machine."""
    groups = len(machine.l3_groups)
    for figures in _figures(machine):
        counts = (None, groups) if groups and figures.cores % groups == 0 else (None,)
        for l3_count in counts:
            for numbering in _NUMBERINGS:
                yield Description(figures=figures, numbering=numbering, l3_count=l3_count)


def _figures(machine: Machine) -> Iterator[Figures]:
    """Yield figures that may fit: the machine's averages where they are whole, and plain CPUs."""
    cpus, nodes = len(_numbered(machine)), len(machine.numa_nodes)
    yield Figures(sockets=1, nodes=min(nodes, 1), cores_per_socket=cpus, threads=1)
    sockets, threads = max(len(machine.sockets), 1), max(map(len, machine.cores))
    cores, rest = divmod(cpus, sockets * threads)
    if cores and not rest and _divides(nodes, sockets, cores):
        yield Figures(sockets=sockets, nodes=nodes, cores_per_socket=cores, threads=threads)


def _divides(nodes: int, sockets: int, cores: int) -> bool:
    if not nodes:
        return True
    return not (sockets * cores % nodes or (nodes % sockets and sockets % nodes))


def _options(machine: Machine, layout: Layout) -> dict[str, Any]:
    """Write what has nothing to do with how CPUs are numbered and grouped."""
    return {
        "cpus": dict(_cpu_options(machine)),
        "memory": _row([node.memory_bytes for node in machine.numa_nodes] or [machine.memory_bytes]),
        "hugepages": _hugepages(machine),
        "distances": _distances(machine, layout),
        "unknown": frozenset(_unknown(machine)),
    }


def _unknown(machine: Machine) -> Iterator[str]:
    if not machine.caches_known:
        yield L3
    if not machine.hugepages_known:
        yield HUGEPAGES


def _described(description: Description, online: CPUSet, layout: Layout) -> Description:
    """Add to a description the groups of CPUs in which a layout differs from what it says so far."""
    regular = described_layout(description).restricted_to(online)
    groups = dict(_group_options(layout, regular))
    return description._replace(groups=groups, l3_count=None if "l3" in groups else description.l3_count)


def _cpu_options(machine: Machine) -> Iterator[tuple[str, CPUSet]]:
    options = {
        "offline": machine.offline,
        "absent": _numbered(machine) - machine.online - machine.offline,
        "isolated": machine.isolated,
        "nohz_full": machine.nohz_full,
        "pcores": machine.performance_cpus,
        "ecores": machine.efficiency_cpus,
    }
    for key, cpus in options.items():
        if cpus:
            yield key, cpus


def _group_options(layout: Layout, regular: Layout) -> Iterator[tuple[str, Mapping[int, CPUSet]]]:
    if not _alike(layout.cores, regular.cores):
        yield "cores", dict(enumerate(core for core in layout.cores if len(core) > 1))
    if layout.sockets != regular.sockets:
        yield "sockets", layout.sockets
    if layout.nodes != regular.nodes:
        yield "nodes", layout.nodes
    if not _alike(layout.l3_groups, regular.l3_groups):
        yield "l3", dict(enumerate(layout.l3_groups))


def _alike(groups: Sequence[CPUSet], others: Sequence[CPUSet]) -> bool:
    return groups == others or set(groups) == set(others)


def _row(values: Sequence[int | None]) -> Row:
    return (values[0],) if len(set(values)) == 1 else tuple(values)


def _hugepages(machine: Machine) -> dict[int, Row]:
    sizes = sorted({size for node in machine.numa_nodes for size in node.hugepages})
    return {size: _row([node.hugepages.get(size) for node in machine.numa_nodes]) for size in sizes}


def _distances(machine: Machine, layout: Layout) -> tuple[tuple[int, ...], ...] | None:
    rows = tuple(node.distances for node in machine.numa_nodes)
    if rows == default_distances(layout.nodes, layout.sockets):
        return None
    if not any(rows):
        return ()
    if not all(rows):
        raise ValueError("some NUMA nodes have distances and others have none")
    return rows
