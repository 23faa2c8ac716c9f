"""Machines described in one line, for bug reports, tests and "what if": ``synthetic:2s4n16c2t,l3=8``.

``cpuctl topology synthetic --help`` has the whole grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.findings import machine_findings, without_files
from cpuctl.machine.model import CPU, MAX_CPUS, MAX_NUMA_NODES, SMT_OFF, Cache, Machine, NumaNode
from cpuctl.machine.synthetic_description import (
    EFFICIENCY,
    HINT,
    HUGEPAGES,
    L3,
    PERFORMANCE,
    PLAIN,
    Arrangement,
    CoreKind,
    Description,
    Figures,
    Layout,
    Row,
    cpus_of_kind,
    default_distances,
    regular_layout,
)
from cpuctl.phrases import named
from cpuctl.records import replace

_L3_BYTES = 32 << 20


def described_layout(description: Description) -> Layout:
    """Divide all CPUs, also offline ones, as described; raise ValueError for figures that do not divide."""
    groups = description.groups
    figures = description.figures
    l3_count = description.l3_count
    if l3_count is None:
        l3_count = 0 if L3 in description.unknown else max(figures.sockets, figures.nodes)
    # Figures that explicit groups replace do not have to divide evenly.
    regular = regular_layout(
        Figures(sockets=figures.sockets, nodes=0, kinds=figures.kinds) if "nodes" in groups else figures,
        description.arrangement,
        l3_groups=0 if "l3" in groups else l3_count,
    )
    return Layout(
        cores=_explicit_cores(groups["cores"], figures.cpus) if "cores" in groups else regular.cores,
        sockets=groups.get("sockets", regular.sockets),
        nodes=groups.get("nodes", regular.nodes),
        l3_groups=tuple(groups["l3"].values()) if "l3" in groups else regular.l3_groups,
    )


def sleeping_siblings(layout: Layout) -> CPUSet:
    """Return the CPUs that are offline without simultaneous multithreading: all but a core's first."""
    return CPUSet(sum(core.mask & core.mask - 1 for core in layout.cores))


def kind_of_cpus(description: Description, letter: str) -> CPUSet | None:
    """Return the CPUs of performance or efficiency cores; None if the figures do not distinguish them."""
    return cpus_of_kind(description.figures, description.arrangement, letter) or None


def _explicit_cores(groups: Mapping[int, CPUSet], cpus: int) -> tuple[CPUSet, ...]:
    named = CPUSet.of(cpu for group in groups.values() for cpu in group)
    alone = CPUSet((1 << cpus) - 1) - named
    return (*groups.values(), *(CPUSet(1 << cpu) for cpu in alone))


def build_machine(description: Description) -> Machine:
    """Build the machine; raise ValueError if the parts of the description contradict each other."""
    numbered = CPUSet((1 << description.figures.cpus) - 1)
    _require_known_cpus(description, numbered)
    present = numbered - description.cpus.get("absent", CPUSet())
    layout = described_layout(description)
    online = present - description.cpus.get("offline", CPUSet())
    if description.nosmt:
        online -= sleeping_siblings(layout.restricted_to(present))
    if not online:
        raise ValueError("no CPU is online")
    layout = layout.restricted_to(online)
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
        smt_control=SMT_OFF if description.nosmt else None,
        isolated=description.cpus.get("isolated", CPUSet()),
        nohz_full=description.cpus.get("nohz_full", CPUSet()),
        performance_cpus=_kind(description, "pcores", PERFORMANCE, online),
        efficiency_cpus=_kind(description, "ecores", EFFICIENCY, online),
        memory_bytes=_machine_memory(description, nodes),
        hugepages={
            size: sum(node.hugepages.get(size, 0) for node in nodes) for size in description.hugepages
        },
        caches_known=L3 not in description.unknown,
        hugepages_known=HUGEPAGES not in description.unknown,
    ).checked()
    return replace(machine, findings=without_files(machine_findings(machine)))


def _kind(description: Description, option: str, letter: str, online: CPUSet) -> CPUSet | None:
    """Return the CPUs of a kind: those named or, as kernels list them, the online ones of the figures."""
    if option in description.cpus:
        return description.cpus[option]
    cpus = kind_of_cpus(description, letter)
    return cpus and cpus & online


def _require_known_cpus(description: Description, numbered: CPUSet) -> None:
    groups = ((key, cpus) for key, groups in description.groups.items() for cpus in groups.values())
    for key, cpus in (*groups, *description.cpus.items()):
        if not cpus <= numbered:
            last = description.figures.cpus - 1
            raise ValueError(f"{key} names {named(cpus - numbered)}, but the last CPU is {last}")


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
    """Assign core ids per socket, as firmware does."""
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


def parse_synthetic(text: str) -> Machine:
    """Build the machine that *text* describes; raise InputError naming the part that is invalid."""
    description = text.removeprefix(PREFIX)
    try:
        return build_machine(Description.parse(description))
    except ValueError as error:
        raise InputError(str(error), where=PREFIX + description, hint=HINT) from None
    except InputError as error:
        raise error.within(PREFIX + description) from None


def describe_synthetic(machine: Machine) -> str:
    """Write a machine's topology as a synthetic description, the shortest of a few candidates.

    What is not topology is left out: firmware ids, caches other than L3, frequencies. Raise ValueError,
    saying why, for a machine that has no such description.
    """
    if not machine.numa_known:
        raise ValueError("NUMA nodes are not recorded")
    if not machine.cores_known:
        raise ValueError("cores are not recorded")
    if machine.l3_groups and not machine.caches_known:
        raise ValueError("the CPUs that share a level-3 cache are recorded only for some of them")
    _require_distinct_l3(machine)
    layout = _layout_of(machine)
    options = _options(machine, layout)
    candidates = (_described(replace(start, **options), machine, layout) for start in _starts(machine))
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
    """Yield regular descriptions that may be close to the machine."""
    groups = len(machine.l3_groups)
    cpus = len(_numbered(machine))
    for figures, nosmt in _figures(machine):
        if figures.cpus != cpus:
            continue
        counts = (None, groups) if groups and figures.cores % groups == 0 else (None,)
        for l3_count in counts:
            for arrangement in _arrangements(machine):
                start = Description(figures=figures, arrangement=arrangement, nosmt=nosmt, l3_count=l3_count)
                if _divides(start):
                    yield start


def _arrangements(machine: Machine) -> Iterator[Arrangement]:
    sockets = machine.sockets.values()
    halved = any(
        not node.cpus <= socket and not socket <= node.cpus and not node.cpus.isdisjoint(socket)
        for node in machine.numa_nodes
        for socket in sockets
    )
    for across in (False, True) if halved else (False,):
        for interleaved in (False, True):
            for near in (False, True):
                yield Arrangement(near=near, interleaved=interleaved, across=across)


def _figures(machine: Machine) -> Iterator[tuple[Figures, bool]]:
    """Yield figures that may fit, and whether only the first CPU of each core is online.

    They are plain CPUs, the machine's averages if these are integers, and its cores by kind.
    """
    cpus, nodes = len(_numbered(machine)), len(machine.numa_nodes)
    sockets, threads = max(len(machine.sockets), 1), max(map(len, machine.cores))
    plain = Figures(sockets=1, nodes=min(nodes, 1), kinds=(CoreKind(cpus, 1),))
    yield plain, False
    cores, rest = divmod(cpus, sockets * threads)
    if cores and not rest:
        yield Figures(sockets=sockets, nodes=nodes, kinds=(CoreKind(cores, threads),)), False
    kinds = _kinds_of_cores(machine)
    if len(kinds) > 1 or any(kind.letter != PLAIN for kind in kinds):
        yield Figures(sockets=sockets, nodes=nodes, kinds=kinds), False
    if machine.offline and threads == 1:
        yield from ((figures, True) for figures in _awake(plain, machine, kinds))


def _kinds_of_cores(machine: Machine) -> tuple[CoreKind, ...]:
    """Count the cores of a socket by kind; empty if sockets differ."""
    performance, efficiency = machine.performance_cpus or CPUSet(), machine.efficiency_cpus or CPUSet()
    letters = {
        core: PERFORMANCE if core <= performance else EFFICIENCY if core <= efficiency else PLAIN
        for core in machine.cores
    }
    # Offline siblings do not change a performance core's kind, but move it in the order of numbers.
    sizes: dict[str, int] = {}
    for core, letter in letters.items():
        sizes[letter] = max(sizes.get(letter, 0), len(core))
    order = list(sizes)

    def group_of(core: CPUSet) -> tuple[int, str]:
        letter = letters[core]
        return len(core) if letter == PLAIN else sizes[letter], letter

    found = set()
    for socket in machine.sockets.values() or (machine.online,):
        cores = sorted(
            (core for core in machine.cores if core <= socket),
            key=lambda core: (order.index(letters[core]), core.lowest),
        )
        found.add(
            tuple(
                CoreKind(len(list(same)), threads, letter)
                for (threads, letter), same in groupby(cores, key=group_of)
            )
        )
    return found.pop() if len(found) == 1 else ()


def _awake(plain: Figures, machine: Machine, kinds: tuple[CoreKind, ...]) -> Iterator[Figures]:
    """Yield candidates for a machine with one online CPU per core: one kind has siblings, or all do."""
    sockets, nodes = max(len(machine.sockets), 1), len(machine.numa_nodes)
    for place in range(len(kinds)):
        others = sum(kind.cores for number, kind in enumerate(kinds) if number != place)
        threads, rest = divmod(plain.cpus - sockets * others, sockets * kinds[place].cores)
        if threads > 1 and not rest:
            changed = replace(kinds[place], threads=threads)
            yield Figures(sockets=sockets, nodes=nodes, kinds=(*kinds[:place], changed, *kinds[place + 1 :]))
    threads, rest = divmod(plain.cpus, len(machine.cores))
    if threads > 1 and not rest and len(kinds) > 1:
        every = tuple(replace(kind, threads=threads) for kind in kinds)
        yield Figures(sockets=sockets, nodes=nodes, kinds=every)


def _divides(start: Description) -> bool:
    try:
        described_layout(start)
    except ValueError:
        return False
    return True


def _options(machine: Machine, layout: Layout) -> dict[str, Any]:
    """Return the options that do not depend on how CPUs are numbered and grouped."""
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


def _described(description: Description, machine: Machine, layout: Layout) -> Description:
    """Add to a description the CPUs and CPU groups in which a machine still differs from it."""
    regular = described_layout(description)
    running = machine.online | machine.offline
    asleep = sleeping_siblings(regular.restricted_to(running)) if description.nosmt else CPUSet()
    if not asleep <= machine.offline:
        return _described(replace(description, nosmt=False), machine, layout)
    stated = {
        "pcores": (kind_of_cpus(description, PERFORMANCE) or CPUSet()) & machine.online,
        "ecores": (kind_of_cpus(description, EFFICIENCY) or CPUSet()) & machine.online,
    }
    options = {**description.cpus, "offline": machine.offline - asleep}
    cpus = {key: cpus for key, cpus in options.items() if cpus and cpus != stated.get(key)}
    groups = dict(_group_options(layout, regular.restricted_to(machine.online)))
    return replace(
        description, groups=groups, cpus=cpus, l3_count=None if "l3" in groups else description.l3_count
    )


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
    if not _equivalent(layout.cores, regular.cores):
        yield "cores", dict(enumerate(core for core in layout.cores if len(core) > 1))
    if layout.sockets != regular.sockets:
        yield "sockets", layout.sockets
    if layout.nodes != regular.nodes:
        yield "nodes", layout.nodes
    if not _equivalent(layout.l3_groups, regular.l3_groups):
        yield "l3", dict(enumerate(layout.l3_groups))


def _equivalent(groups: Sequence[CPUSet], others: Sequence[CPUSet]) -> bool:
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
