"""What is unusual about a machine, and how the kubelet sees it.

Rule: what cAdvisor reports is in ``cpuctl.machine.machine_info``; for the rest kubelet v1.36
``cm/cpumanager/topology/topology.go`` and ``cm/topologymanager``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.machine_info import MachineInfo, kubelet_view
from cpuctl.machine.model import (
    CPU,
    CPU_DIRECTORY,
    NODE_DIRECTORY,
    Machine,
    MachineFinding,
    NumaNode,
)
from cpuctl.phrases import are, counted, have, named

_MOST_NUMA_NODES = 8  # a kubelet's Topology Manager refuses more by default


def machine_findings(machine: Machine) -> tuple[MachineFinding, ...]:
    """Report what is unusual, in a fixed order; empty for an ordinary machine."""
    info = kubelet_view(machine)
    return (*topology_findings(machine, info), *_last_level_caches(machine, info))


def topology_findings(machine: Machine, info: MachineInfo) -> tuple[MachineFinding, ...]:
    """Report what is unusual apart from caches; *info* is the kubelet's view of the machine."""
    return (
        *_offline(machine, info),
        *_unnamed_ids(machine),
        *_repeated_core_ids(machine),
        *_asymmetric_siblings(machine),
        *_uneven_cores(machine, info),
        *_packages_by_id_and_by_list(machine),
        *_core_types(machine),
        *_no_numa_nodes(machine, info),
        *_outside(machine, info),
        *_numa_nodes(machine, info),
        *_memory(machine),
        *_node_files(machine),
    )


def without_files(findings: Iterable[MachineFinding]) -> tuple[MachineFinding, ...]:
    """Return the same findings for a machine that was not read from kernel files."""
    return tuple(finding.at("") for finding in findings)


def cpu_files(cpus: CPUSet, name: str) -> str:
    """Name a file that each of *cpus* has."""
    return f"{CPU_DIRECTORY}/cpu{cpus if len(cpus) == 1 else '*'}/{name}"


def node_files(nodes: CPUSet, name: str) -> str:
    """Name a file that each of *nodes* has."""
    return f"{NODE_DIRECTORY}/node{nodes if len(nodes) == 1 else '*'}/{name}"


def warning(code: str, file: str, message: str, *, expected: str = "", detected: str = "") -> MachineFinding:
    """Return a finding about something that the kubelet sees differently, or about contradictory files."""
    return MachineFinding(Severity.WARNING, code, file, message, expected, detected)


def note(code: str, file: str, message: str, *, expected: str = "", detected: str = "") -> MachineFinding:
    """Return a finding that is merely informative."""
    return MachineFinding(Severity.NOTE, code, file, message, expected, detected)


def _where(machine: Machine, holds: Callable[[CPU], bool]) -> CPUSet:
    return CPUSet.of(cpu.number for cpu in machine.cpus if holds(cpu))


def _nodes_where(machine: Machine, holds: Callable[[NumaNode], bool]) -> CPUSet:
    return CPUSet.of(node.id for node in machine.numa_nodes if holds(node))


def _counted(info: MachineInfo) -> CPUSet:
    return CPUSet.of(cpu for node in info.nodes for core in node.cores for cpu in core.threads)


def _offline(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    if not machine.offline:
        return
    file = f"{CPU_DIRECTORY}/online"
    if info.num_cpus > len(machine.online):
        message = (
            f"{are(machine.offline)} offline: without NUMA nodes, the kubelet still counts such CPUs "
            f"({info.num_cpus} in total), but never assigns them"
        )
        yield warning("offline-cpus-counted", file, message)
    else:
        yield note(
            "offline-cpus", file, f"{are(machine.offline)} offline: the kubelet counts only online CPUs"
        )


def _unnamed_ids(machine: Machine) -> Iterator[MachineFinding]:
    without_core = _where(machine, lambda cpu: cpu.core_id is None)
    without_package = _where(machine, lambda cpu: cpu.package_id is None)
    for cpus, file, ids in (
        (without_core & without_package, "topology", "neither core ID nor package ID"),
        (without_core - without_package, "topology/core_id", "no core ID"),
        (without_package - without_core, "topology/physical_package_id", "no package ID"),
    ):
        if cpus:
            so = "the kubelet does not see such CPUs"
            if cpus == machine.online:
                so = "the kubelet needs both, so its view is unknown"
            message = f"{have(cpus)} {ids}: {so}"
            yield warning("cpus-without-ids", cpu_files(cpus, file), message)
    if cpus := _where(machine, lambda cpu: cpu.package_id is not None and cpu.package_id < 0):
        message = f"{have(cpus)} package ID -1 (unknown): the kubelet treats -1 as a socket"
        yield warning("unknown-packages", cpu_files(cpus, "topology/physical_package_id"), message)


def _repeated_core_ids(machine: Machine) -> Iterator[MachineFinding]:
    """Report different cores with the same ids, as on machines that count ids per cluster."""
    cores: dict[Hashable, set[CPUSet]] = {}
    for cpu in machine.cpus:
        if cpu.core_id is not None:
            key = (cpu.drawer_id, cpu.book_id, cpu.package_id, cpu.numa_node, cpu.core_id)
            cores.setdefault(key, set()).add(cpu.siblings)
    merged = [sorted(sets, key=lambda cpus: cpus.mask) for sets in cores.values() if len(sets) > 1]
    if merged:
        first = " and ".join(str(cpus) for cpus in merged[0][:2])
        verb = "are" if len(merged) > 1 else "is"
        message = (
            f"{counted(len(merged), 'core ID')} {verb} repeated within a socket and NUMA node, for example "
            f"CPUs {first}: the kubelet treats such cores as one core"
        )
        yield warning("repeated-core-ids", cpu_files(machine.online, "topology/core_id"), message)


def _asymmetric_siblings(machine: Machine) -> Iterator[MachineFinding]:
    listed_by: dict[CPUSet, int] = {}
    for cpu in machine.cpus:
        listed_by[cpu.siblings] = listed_by.get(cpu.siblings, 0) | 1 << cpu.number
    odd = CPUSet()
    for siblings, mask in listed_by.items():
        if not siblings & machine.online <= CPUSet(mask):
            odd |= CPUSet(mask)
    if odd:
        message = f"thread siblings disagree about {named(odd)}: the list of the lowest CPU is used"
        yield warning("siblings-disagree", cpu_files(odd, "topology/thread_siblings_list"), message)


def _uneven_cores(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    sizes = sorted(set(map(len, machine.cores)))
    if len(sizes) > 1:
        online = " or ".join(map(str, sizes))
        message = f"cores have {online} CPUs online: {assumed_per_core(info)}"
        yield warning("uneven-cores", cpu_files(machine.online, "topology/thread_siblings_list"), message)


def assumed_per_core(info: MachineInfo, unit: str = "") -> str:
    """Say how many CPUs, in words of this *unit*, the kubelet assumes that every core has, and why."""
    cores, rest = info.num_cores, info.num_cpus % max(info.num_cores, 1)
    division = f"{info.num_cpus} CPUs / {cores} cores{', rounded down' if rest else ''}"
    return (
        f"the kubelet assumes {info.cpus_per_core}{unit} per core ({division})"
        if cores
        else "the kubelet counts no cores"
    )


def _packages_by_id_and_by_list(machine: Machine) -> Iterator[MachineFinding]:
    by_id = {(cpu.package_id, cpu.book_id, cpu.drawer_id) for cpu in machine.cpus}
    by_list = {cpu.package_cpus for cpu in machine.cpus}
    pairs = {(cpu.package_id, cpu.book_id, cpu.drawer_id, cpu.package_cpus) for cpu in machine.cpus}
    if None in by_list or any(cpu.package_id in {None, -1} for cpu in machine.cpus):
        return
    if not len(by_id) == len(by_list) == len(pairs):
        message = (
            f"package IDs make {counted(len(by_id), 'socket')}, package CPU lists {len(by_list)}: "
            "the sockets shown and the kubelet's labels use the IDs"
        )
        yield warning("packages-disagree", cpu_files(machine.online, "topology/physical_package_id"), message)


def _core_types(machine: Machine) -> Iterator[MachineFinding]:
    if machine.performance_cpus and machine.efficiency_cpus:
        message = (
            f"the kubelet does not distinguish performance cores (CPUs {machine.performance_cpus}) "
            f"from efficiency cores (CPUs {machine.efficiency_cpus})"
        )
        yield note("core-types", "sys/devices/cpu_atom/cpus", message)
    elif machine.core_kinds.guessed:
        message = (
            "maximum frequencies suggest several core types (efficiency cores: CPUs "
            f"{machine.core_kinds.efficiency}): a guess, as the kernel does not report core types; "
            "the kubelet does not distinguish them"
        )
        yield note("core-types-guessed", cpu_files(machine.online, "cpufreq/cpuinfo_max_freq"), message)
    capacities = sorted({cpu.capacity for cpu in machine.cpus if cpu.capacity is not None})
    if len(capacities) > 1:
        message = (
            f"CPUs differ in capacity ({', '.join(map(str, capacities))}): the kubelet does not "
            "distinguish them"
        )
        yield note("capacities-differ", cpu_files(machine.online, "cpu_capacity"), message)


def _no_numa_nodes(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    if machine.numa_nodes:
        return
    packages = [node.id for node in info.nodes if node.cores]
    ids = f"ID{'s' * (len(packages) > 1)} {', '.join(map(str, packages))}"
    by_packages = (
        f"the kubelet treats packages as NUMA nodes and counts {counted(len(packages), 'NUMA node')} ({ids})"
    )
    if packages and not machine.numa_known:
        message = (
            "NUMA nodes are not recorded: they are counted as on a kernel without NUMA support, where "
            f"{by_packages}; their CPUs and memory are unknown"
        )
    elif packages:
        message = f"the kernel shows no NUMA nodes: {by_packages}, without memory for its Memory Manager"
    elif not machine.numa_known:
        message = "NUMA nodes and packages are not recorded: without both, the kubelet counts no NUMA nodes"
    else:
        message = "the kernel shows neither NUMA nodes nor packages: the kubelet counts no NUMA nodes"
    yield warning("no-numa-nodes" if machine.numa_known else "unrecorded-nodes", NODE_DIRECTORY, message)


def _outside(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    in_nodes = CPUSet.of(cpu for node in machine.numa_nodes for cpu in node.cpus)
    if machine.numa_nodes and (outside := machine.online - in_nodes - _counted(info)):
        message = f"{are(outside)} in no NUMA node: the kubelet does not see such CPUs"
        yield warning("cpus-outside-nodes", NODE_DIRECTORY, message)


def _two_counts(info: MachineInfo) -> str:
    """Describe where managers count NUMA nodes differently: the CPU Manager counts those with CPUs."""
    with_cpus = sum(bool(node.cores) for node in info.nodes)
    if with_cpus == len(info.nodes):
        return ""
    return (
        f": the kubelet's CPU Manager counts {counted(with_cpus, 'NUMA node')} with CPUs, its Memory and"
        f" Topology Managers count all {len(info.nodes)}"
    )


def _numa_nodes(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    nodes = _nodes_where(machine, lambda _: True)
    if bare := _nodes_where(machine, lambda node: not node.cpus):
        message = f"{have(bare, 'NUMA node')} no CPUs{_two_counts(info)}"
        yield note("nodes-without-cpus", node_files(bare, "cpulist"), message)
    if empty := _nodes_where(machine, lambda node: node.memory_bytes == 0):
        message = f"{have(empty, 'NUMA node')} no memory"
        yield note("nodes-without-memory", node_files(empty, "meminfo"), message)
    unbroken = CPUSet((1 << len(nodes)) - 1)
    if nodes != unbroken:
        yield note(
            "node-numbers",
            NODE_DIRECTORY,
            f"NUMA node numbers have gaps: {nodes}",
            expected=str(unbroken),
            detected=str(nodes),
        )
    if len(nodes) > _MOST_NUMA_NODES:
        message = (
            f"there are {len(nodes)} NUMA nodes: with a Topology Manager policy other than none, the kubelet "
            f"does not start with more than {_MOST_NUMA_NODES} unless max-allowable-numa-nodes allows more"
        )
        found = {"expected": f"at most {_MOST_NUMA_NODES}", "detected": str(len(nodes))}
        yield warning("many-nodes", NODE_DIRECTORY, message, **found)


def _memory(machine: Machine) -> Iterator[MachineFinding]:
    if unrecorded := _nodes_where(machine, lambda node: node.memory_bytes is None):
        message = f"memory is not recorded for {named(unrecorded, 'NUMA node')}"
        yield note("unrecorded-memory", node_files(unrecorded, "meminfo"), message)
    if not machine.hugepages_known:
        yield note("unrecorded-hugepages", f"{NODE_DIRECTORY}/node*/hugepages", "huge pages are not recorded")
    total = machine.memory_bytes or 0
    if unrecorded:
        return
    in_nodes = sum(node.memory_bytes or 0 for node in machine.numa_nodes)
    if total and in_nodes and abs(total - in_nodes) * 100 > total:
        yield warning(
            "memory-disagrees",
            "proc/meminfo",
            f"/proc/meminfo reports {total >> 20} MiB of memory, the NUMA nodes report {in_nodes >> 20} MiB: "
            "the kubelet uses the former for the machine and the latter for its Memory Manager",
            expected=f"{in_nodes >> 20} MiB",
            detected=f"{total >> 20} MiB",
        )


def _node_files(machine: Machine) -> Iterator[MachineFinding]:
    if nodes := _nodes_where(machine, lambda node: node.directory_cpus is not None):
        message = (
            f"the directories of {named(nodes, 'NUMA node')} list different CPUs from the cpulist files: "
            "the kubelet uses the directories"
        )
        yield warning("node-cpus-disagree", node_files(nodes, "cpulist"), message)
    expected = {0, len(machine.numa_nodes)}
    if nodes := _nodes_where(machine, lambda node: len(node.distances) not in expected):
        message = f"the distances of {named(nodes, 'NUMA node')} do not match the number of nodes"
        yield warning("distances", node_files(nodes, "distance"), message)


def _last_level_caches(machine: Machine, info: MachineInfo) -> Iterator[MachineFinding]:
    instead = "" if _has_uncore_caches(info) else ": the kubelet uses sockets instead of uncore caches"
    unshared = CPUSet.of(cpu for cache in machine.caches if not cache.sharing_known for cpu in cache.cpus)
    if unshared:
        message = f"the kernel does not report which CPUs share some caches of {named(unshared)}"
        yield note("cache-sharing", cpu_files(unshared, "cache/index*/shared_cpu_list"), message)
    if partial := CPUSet.of(cpu for cache in machine.caches if not cache.complete for cpu in cache.cpus):
        message = (
            f"files of caches of {named(partial)} are missing: the kubelet ignores all caches of such a "
            "NUMA node"
        )
        yield warning("cache-files-missing", cpu_files(partial, "cache"), message)
    every_cache = cpu_files(machine.online, "cache")
    if not machine.caches_known and not unshared:
        message = "caches are not recorded: without them, the kubelet uses sockets instead of uncore caches"
        yield note("unrecorded-caches", every_cache, message)
        return
    if not machine.l3_groups:
        known = "shared by known CPUs" if unshared else "recorded"
        yield note("no-l3", every_cache, f"no level-3 cache is {known}{instead}")
        return
    if any(cache.id is None for cache in machine.caches):
        instead_text = " and uses sockets instead of uncore caches" if instead else ""
        message = f"caches have no IDs: the kubelet does not see them{instead_text}"
        yield warning("caches-without-ids", f"{every_cache}/index*/id", message)
    if machine.online != CPUSet.of(cpu for group in machine.l3_groups for cpu in group):
        yield note("l3-for-some", every_cache, "not every CPU has a level-3 cache")


def _has_uncore_caches(info: MachineInfo) -> bool:
    return any(core.uncore_cache_ids for node in info.nodes for core in node.cores)
