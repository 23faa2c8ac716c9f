"""A machine as its kernel describes it: one ``Machine`` from sysfs and procfs files.

Files: *Documentation/ABI/stable/sysfs-devices-system-cpu* and *Documentation/admin-guide/cputopology.rst*,
*Documentation/ABI/testing/sysfs-devices-system-cpu* (caches), *Documentation/ABI/stable/sysfs-devices-node*,
*Documentation/ABI/testing/sysfs-kernel-mm-hugepages*, and for hybrid CPUs
*tools/perf/Documentation/intel-hybrid.txt*.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.findings import cpu_files, machine_findings, node_files, note, warning
from cpuctl.machine.kernel_files import KernelFiles
from cpuctl.machine.kernel_text import (
    ProcessorSummary,
    parse_cpuinfo,
    parse_distances,
    parse_flag,
    parse_meminfo,
    parse_size,
    parse_word,
)
from cpuctl.machine.model import (
    CPU,
    CPU_DIRECTORY,
    MAX_NUMA_NODES,
    NODE_DIRECTORY,
    SMT_CONTROL,
    Cache,
    Machine,
    MachineFinding,
    NumaNode,
    distinct_caches,
)
from cpuctl.machine.tree import Tree
from cpuctl.phrases import are, have, named
from cpuctl.records import Record, replace

_NO_CLUSTER = 65535  # what kernels print if firmware tables have no clusters
_SIBLING_LISTS = ("thread_siblings_list", "core_cpus_list")
_SIBLING_MAPS = ("thread_siblings", "core_cpus")
_PACKAGE_LISTS = ("core_siblings_list", "package_cpus_list")
_PACKAGE_MAPS = ("core_siblings", "package_cpus")


class CPUStates(Record):
    """Which CPUs exist, and their state."""

    online: CPUSet
    present: CPUSet
    possible: CPUSet | None
    isolated: CPUSet
    nohz_full: CPUSet

    @property
    def offline(self) -> CPUSet:
        """Present CPUs that are offline (the kernel's own ``offline`` also counts slots never filled)."""
        return self.present - self.online


def read_cpu_states(files: KernelFiles) -> CPUStates:
    """Read the CPU lists; without them, the CPU directories and their ``online`` switches.

    Raise InputError for an invalid file, and if no CPU is online.
    """
    directories = files.numbered(CPU_DIRECTORY, "cpu")
    online = files.cpu_list(f"{CPU_DIRECTORY}/online")
    switched_off = _switched_off(files, directories)
    if online is None:
        online = directories - switched_off
        message = (
            "the list of online CPUs is missing: every CPU that is not switched off is treated as online"
        )
        files.findings.append(note("no-online-list", f"{CPU_DIRECTORY}/online", message))
    elif online & switched_off:
        message = (
            f"{are(online & switched_off)} online in {CPU_DIRECTORY}/online, which is used, "
            "and offline in their own online files"
        )
        files.findings.append(warning("online-disagrees", f"{CPU_DIRECTORY}/online", message))
    if not online:
        raise InputError("found no online CPU, expected at least one", where=CPU_DIRECTORY)
    present = files.cpu_list(f"{CPU_DIRECTORY}/present")
    return CPUStates(
        online=online,
        present=online | (directories if present is None else present),
        possible=files.cpu_list(f"{CPU_DIRECTORY}/possible"),
        isolated=files.cpu_list(f"{CPU_DIRECTORY}/isolated") or CPUSet(),
        nohz_full=files.cpu_list(f"{CPU_DIRECTORY}/nohz_full") or CPUSet(),
    )


def _switched_off(files: KernelFiles, directories: CPUSet) -> CPUSet:
    # A CPU without the file cannot be taken offline: the boot CPU, or all CPUs.
    paths = {cpu: f"{CPU_DIRECTORY}/cpu{cpu}/online" for cpu in directories}
    empty = CPUSet.of(cpu for cpu, path in paths.items() if files.is_blank(path))
    if empty:
        message = f"{have(empty)} an empty online file, which is ignored"
        files.findings.append(note("empty-online-switch", cpu_files(empty, "online"), message))
    switches = ((cpu, files.value(paths[cpu], parse_flag)) for cpu in directories - empty)
    return CPUSet.of(cpu for cpu, switch in switches if switch is False)


def read_cpus(files: KernelFiles, online: CPUSet, node_of: Mapping[int, int]) -> tuple[CPU, ...]:
    """Read every online CPU; *node_of* names its NUMA node.

    A CPU without topology files has no ids and no siblings: cAdvisor skips such CPUs. Raise InputError for a
    CPU without a directory.
    """
    _require_directories(files, online)
    return tuple(_read_cpu(files, cpu, online, node_of.get(cpu)) for cpu in online)


def _require_directories(files: KernelFiles, online: CPUSet) -> None:
    missing = online - files.numbered(CPU_DIRECTORY, "cpu")
    if missing:
        where = f"{CPU_DIRECTORY}/cpu{missing.lowest}"
        raise InputError(f"directory not found, expected one for every online CPU ({online})", where=where)


def _read_cpu(files: KernelFiles, number: int, online: CPUSet, node: int | None) -> CPU:
    directory = f"{CPU_DIRECTORY}/cpu{number}"
    topology = f"{directory}/topology/"
    cluster = files.number(f"{topology}cluster_id")
    siblings = files.cpu_set(topology, _SIBLING_LISTS, _SIBLING_MAPS)
    package = files.cpu_set(topology, _PACKAGE_LISTS, _PACKAGE_MAPS)
    return CPU(
        number=number,
        siblings=_with_itself(number, siblings & online) if siblings else CPUSet(),
        numa_node=node,
        package_id=files.number(f"{topology}physical_package_id"),
        package_cpus=_with_itself(number, package & online) if package else None,
        die_id=files.number(f"{topology}die_id"),
        cluster_id=None if cluster == _NO_CLUSTER else cluster,
        core_id=files.number(f"{topology}core_id"),
        book_id=files.number(f"{topology}book_id"),
        drawer_id=files.number(f"{topology}drawer_id"),
        capacity=files.number(f"{directory}/cpu_capacity"),
        max_khz=files.number(f"{directory}/cpufreq/cpuinfo_max_freq"),
        min_khz=files.number(f"{directory}/cpufreq/cpuinfo_min_freq"),
    )


def _with_itself(number: int, cpus: CPUSet) -> CPUSet:
    return cpus | CPUSet(1 << number)


def _with_siblings_by_ids(files: KernelFiles, cpus: Sequence[CPU]) -> tuple[CPU, ...]:
    """If the kernel does not list siblings, treat CPUs with equal ids as siblings."""
    unnamed = [cpu for cpu in cpus if not cpu.siblings]
    cores: dict[Hashable, int] = {}
    for cpu in unnamed:
        cores[_core_key(cpu)] = cores.get(_core_key(cpu), 0) | 1 << cpu.number
    if unnamed and _cores_known(cpus):
        files.findings.append(_about_siblings(CPUSet.of(cpu.number for cpu in unnamed)))
    return tuple(
        cpu if cpu.siblings else cpu._replace(siblings=CPUSet(cores[_core_key(cpu)])) for cpu in cpus
    )


def _about_siblings(numbers: CPUSet) -> MachineFinding:
    message = (
        f"the kernel reports no thread siblings for {named(numbers)}: CPUs with equal core IDs "
        "count as one core"
    )
    return note("no-siblings", cpu_files(numbers, "topology/thread_siblings_list"), message)


def _cores_known(cpus: Iterable[CPU]) -> bool:
    """Return whether ids, or siblings listed by the kernel, show which CPUs share a core."""
    return any(cpu.core_id is not None or cpu.siblings for cpu in cpus)


def _core_key(cpu: CPU) -> Hashable:
    if cpu.core_id is None or cpu.core_id < 0:
        return cpu.number, None
    return cpu.drawer_id, cpu.book_id, cpu.package_id, cpu.die_id, cpu.cluster_id, cpu.core_id


_MOST_CACHES = 32
"""The most caches that one CPU may list: about four are usual."""


def read_caches(files: KernelFiles, online: CPUSet) -> tuple[Cache, ...]:
    """Read every cache once, ordered by level, kind and lowest CPU.

    A CPU's ``indexN`` is not read when the ``indexN`` of a lower CPU already names the CPU as sharing it.
    Raise InputError for an invalid file, and for caches that contradict each other.
    """
    try:
        return distinct_caches(_listed_caches(files, online))
    except ValueError as error:
        raise InputError(str(error), where=CPU_DIRECTORY) from None


def _listed_caches(files: KernelFiles, online: CPUSet) -> Iterator[Cache]:
    covered: dict[int, int] = {}
    for cpu in online:
        directory = f"{CPU_DIRECTORY}/cpu{cpu}/cache"
        indexes = files.numbered(directory, "index")
        if len(indexes) > _MOST_CACHES:
            message = f"found {len(indexes)} caches, expected at most {_MOST_CACHES}"
            raise InputError(message, where=directory)
        for index in indexes:
            if covered.get(index, 0) >> cpu & 1:
                continue
            cache = _read_cache(files, f"{directory}/index{index}/", cpu, online)
            if cache is not None and not cache.complete:
                # Another CPU's files for the same cache may contain more.
                yield cache
            elif cache is not None:
                covered[index] = covered.get(index, 0) | cache.cpus.mask
                yield cache


def _read_cache(files: KernelFiles, directory: str, cpu: int, online: CPUSet) -> Cache | None:
    level = files.number(f"{directory}level")
    shared = files.cpu_set(directory, ("shared_cpu_list",), ("shared_cpu_map",))
    if level is None and shared is None:
        return None
    kind = files.value(f"{directory}type", parse_word)
    # Some kernels print an empty map: the other CPUs that use the cache are then unknown.
    cpus = ((shared or CPUSet()) & online) | CPUSet(1 << cpu)
    return Cache(
        sharing_known=bool(shared),
        level=level,
        kind=kind or "Unified",
        cpus=cpus,
        id=files.number(f"{directory}id"),
        size_bytes=files.value(f"{directory}size", parse_size),
        complete=None not in (level, shared, kind),
    )


def read_nodes(files: KernelFiles, online: CPUSet) -> tuple[NumaNode, ...]:
    """Read every node that has a directory; a CPU that several nodes list belongs to the lowest.

    If no node has one, links in the CPU directories, if any, show their nodes. Raise InputError for an
    invalid file, and for more than MAX_NUMA_NODES nodes.
    """
    nodes: list[NumaNode] = []
    claimed = repeating = unlisted = CPUSet()
    node_ids = files.numbered(NODE_DIRECTORY, "node")
    if len(node_ids) > MAX_NUMA_NODES:
        message = f"found {len(node_ids)} NUMA nodes, expected at most {MAX_NUMA_NODES}"
        raise InputError(message, where=NODE_DIRECTORY)
    for node_id in node_ids:
        directory = f"{NODE_DIRECTORY}/node{node_id}"
        itself = CPUSet(1 << node_id)
        entries = files.numbered(directory, "cpu") & online
        listed = files.cpu_set(f"{directory}/", ("cpulist",), ("cpumap",))
        cpus = entries if listed is None else listed & online
        unlisted |= itself if listed is None else CPUSet()
        repeating |= CPUSet() if cpus.isdisjoint(claimed) else itself
        nodes.append(_read_node(files, node_id, cpus - claimed, entries))
        claimed |= cpus
    files.findings.extend(_about_lists(repeating, unlisted))
    return tuple(nodes) or _linked_nodes(files, online)


def _linked_nodes(files: KernelFiles, online: CPUSet) -> tuple[NumaNode, ...]:
    """Collect the nodes that CPU directories link to: ``cpu3/node1``."""
    linked: dict[int, int] = {}
    for cpu in online:
        for node_id in islice(files.numbered(f"{CPU_DIRECTORY}/cpu{cpu}", "node"), 1):
            linked[node_id] = linked.get(node_id, 0) | 1 << cpu
    if linked:
        message = (
            "links of CPUs point to NUMA nodes whose directories are missing: other NUMA nodes are unknown"
        )
        files.findings.append(warning("linked-nodes", NODE_DIRECTORY, message))
    return tuple(NumaNode(node_id, CPUSet(linked[node_id])) for node_id in sorted(linked))


def kernel_has_nodes(tree: Tree) -> bool | None:
    """Return, from other files, whether the kernel has NUMA nodes; None if unknown.

    Kernels with CONFIG_NUMA have a bus of nodes (*drivers/base/node.c*) and count hits (*mm/vmstat.c*).
    """
    buses, counters = tree.names("sys/bus"), tree.read("proc/vmstat")
    if "node" in buses or tree.names(NODE_DIRECTORY) or tree.names("sys/kernel/mm/numa"):
        return True
    if counters:
        return "numa_hit" in counters
    # A recording of only some buses would have no reason to include CPUs but not nodes.
    return False if "cpu" in buses else None


def _about_lists(repeating: CPUSet, unlisted: CPUSet) -> Iterator[MachineFinding]:
    if repeating:
        listing = named(repeating, "NUMA node")
        message = f"CPUs of {listing} are also listed by a lower-numbered node, to which they are assigned"
        yield warning("repeated-cpus", node_files(repeating, "cpulist"), message)
    if unlisted:
        message = f"{have(unlisted, 'NUMA node')} no list of CPUs: directory entries are used instead"
        yield note("no-cpu-list", node_files(unlisted, "cpulist"), message)


def _read_node(files: KernelFiles, node_id: int, cpus: CPUSet, entries: CPUSet) -> NumaNode:
    directory = f"{NODE_DIRECTORY}/node{node_id}"
    memory = files.value(f"{directory}/meminfo", parse_meminfo)
    return NumaNode(
        id=node_id,
        cpus=cpus,
        memory_bytes=memory.total if memory else None,
        free_bytes=memory.free if memory else None,
        hugepages=read_hugepages(files, f"{directory}/hugepages", "nr_hugepages"),
        free_hugepages=read_hugepages(files, f"{directory}/hugepages", "free_hugepages"),
        surplus_hugepages=read_hugepages(files, f"{directory}/hugepages", "surplus_hugepages"),
        distances=files.value(f"{directory}/distance", parse_distances) or (),
        directory_cpus=entries if entries and entries != cpus else None,
    )


def read_hugepages(files: KernelFiles, directory: str, counter: str) -> Mapping[int, int]:
    """Read one counter of every huge page size: pages by size in KiB."""
    pages: dict[int, int] = {}
    for name in files.tree.names(directory):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        if name == f"hugepages-{size}kB" and size.isascii() and size.isdecimal() and len(size) < 19:
            count = files.number(f"{directory}/{name}/{counter}")
            if count is not None:
                pages[int(size)] = count
    return dict(sorted(pages.items()))


_L3 = 3
_MEMORY_MANAGEMENT = "sys/kernel/mm"
_HUGEPAGES = f"{_MEMORY_MANAGEMENT}/hugepages"


def read_machine_files(tree: Tree) -> Machine:
    """Read the machine that a tree with ``sys`` and ``proc`` describes.

    Only the CPU directory is needed; anything else that is missing is None or empty in the machine. Raise
    InputError, with the path inside the tree, for an invalid file and for an online CPU that cannot be read.
    """
    files = KernelFiles(tree)
    states = read_cpu_states(files)
    nodes = read_nodes(files, states.online)
    caches = read_caches(files, states.online)
    memory = files.value("proc/meminfo", parse_meminfo)
    numa_known = bool(nodes) or _known_to_lack_nodes(files)
    processor = files.large_value("proc/cpuinfo", parse_cpuinfo) or ProcessorSummary()
    cpus = read_cpus(files, states.online, {cpu: node.id for node in nodes for cpu in node.cpus})
    machine = Machine(
        cpus=_with_siblings_by_ids(files, cpus),
        numa_nodes=nodes,
        caches=caches,
        present=states.present,
        possible=states.possible,
        offline=states.offline,
        isolated=states.isolated,
        nohz_full=states.nohz_full,
        performance_cpus=files.cpu_list("sys/devices/cpu_core/cpus"),
        efficiency_cpus=files.cpu_list("sys/devices/cpu_atom/cpus"),
        memory_bytes=memory.total if memory else None,
        hugepages=read_hugepages(files, _HUGEPAGES, "nr_hugepages"),
        reserved_hugepages=read_hugepages(files, _HUGEPAGES, "resv_hugepages"),
        cpuinfo_sockets=processor.sockets,
        model_name=processor.model_name,
        vendor=processor.vendor,
        architecture=files.value("proc/sys/kernel/arch", parse_word),
        smt_control=files.value(SMT_CONTROL, str.strip),
        caches_known=any(cache.level is not None for cache in caches)
        and all(cache.sharing_known for cache in caches if cache.level == _L3),
        hugepages_known=_knows_hugepages(tree, nodes, numa_known=numa_known),
        numa_known=numa_known,
        cores_known=_cores_known(cpus),
    ).checked()
    return replace(machine, findings=(*files.findings, *machine_findings(machine)))


def _known_to_lack_nodes(files: KernelFiles) -> bool:
    """Return whether the kernel is known to have no NUMA nodes; note if it has nodes that are missing."""
    has_nodes = kernel_has_nodes(files.tree)
    if has_nodes:
        message = "other files show that the kernel has NUMA nodes, but they are missing from the recording"
        files.findings.append(warning("lacking-nodes", NODE_DIRECTORY, message))
    return has_nodes is False


def _knows_hugepages(tree: Tree, nodes: Iterable[NumaNode], *, numa_known: bool) -> bool:
    """Return whether the huge pages of all nodes are known; a kernel without them has only other files."""
    others = tree.names(_MEMORY_MANAGEMENT)
    if others and "hugepages" not in others:
        return True
    return numa_known and all(tree.names(f"{NODE_DIRECTORY}/node{node.id}/hugepages") for node in nodes)
