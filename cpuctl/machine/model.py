"""A node's hardware as the kernel describes it, as frozen values.

Terms are those of *Documentation/admin-guide/cputopology.rst* and
*Documentation/ABI/testing/sysfs-devices-system-cpu*. A kubelet's view of the same machine is in
``cpuctl.machine.machine_info``.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import count, pairwise
from typing import NamedTuple, Self, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Diagnostic
from cpuctl.records import Record

MAX_CPUS = 8192
"""The most CPUs a Linux kernel can be built for (CONFIG_NR_CPUS, the largest of all architectures)."""

MAX_NUMA_NODES = 1024
"""The most NUMA nodes a Linux kernel can be built for (CONFIG_NODES_SHIFT)."""

_S390X, _IBM = "s390x", "IBM/"
CPU_DIRECTORY, NODE_DIRECTORY = "sys/devices/system/cpu", "sys/devices/system/node"
"""Where the kernel lists CPUs and NUMA nodes, as paths from the root."""

SMT_CONTROL = f"{CPU_DIRECTORY}/smt/control"
"""Where the kernel says whether SMT is on and switches it, as a path from the root."""

SMT_OFF, SMT_FORCED_OFF = "off", "forceoff"
"""Contents of that file while the kernel brings no second thread of a core online: now, or until a reboot."""

MAX_CACHE_USES = 128 * MAX_CPUS
"""Every CPU uses about four caches; far more would be a list crafted to exhaust the memory."""


MachineFinding: TypeAlias = Diagnostic[str]
"""Something unusual about a machine; its location is the kernel's file, as a path from the root.

Files that every CPU or node has are one name with an asterisk; empty if no kernel files were read.
"""


class CPU(NamedTuple):
    """One online logical CPU and the ids the kernel gives it; None if nothing was recorded.

    ``core_id``, ``die_id`` and ``cluster_id`` are unique only inside their parent, if at all: cores are
    distinguished by ``siblings``. ``package_id`` is -1 if the kernel does not know the socket;
    ``package_cpus`` are the CPUs in the same package. ``capacity`` is relative to the strongest CPU's, which
    is 1024 (*Documentation/scheduler/sched-capacity.rst*).
    """

    number: int
    siblings: CPUSet
    numa_node: int | None = None
    package_id: int | None = None
    package_cpus: CPUSet | None = None
    die_id: int | None = None
    cluster_id: int | None = None
    core_id: int | None = None
    book_id: int | None = None
    drawer_id: int | None = None
    capacity: int | None = None
    max_khz: int | None = None
    min_khz: int | None = None


class Cache(NamedTuple):
    """One cache and the online CPUs that share it; ``size_bytes`` is None if not recorded.

    If no file shows which CPUs share it, or the kernel's map is empty (``sharing_known`` is False), only the
    CPU that lists the cache is known. A ``level`` that was not recorded is None. ``complete`` is False if
    files are missing that a kubelet reads.
    """

    level: int | None
    kind: str
    cpus: CPUSet
    id: int | None = None
    size_bytes: int | None = None
    sharing_known: bool = True
    complete: bool = True


def cache_order(cache: Cache) -> tuple[int, str, int, int, int]:
    """Return the sort key: level, kind, lowest CPU; the rest only makes the order total."""
    number = -1 if cache.id is None else cache.id
    return cache.level or 0, cache.kind, cache.cpus.lowest, cache.cpus.mask, number


def distinct_caches(caches: Iterable[Cache]) -> tuple[Cache, ...]:
    """Return every cache once, in order; raise ValueError beyond ``MAX_CACHE_USES``."""
    distinct: set[Cache] = set()
    uses = 0
    for cache in caches:
        if cache not in distinct:
            distinct.add(cache)
            uses += len(cache.cpus)
        if uses > MAX_CACHE_USES:
            raise ValueError(f"found too many caches: more than {MAX_CACHE_USES} uses of caches by CPUs")
    return tuple(sorted(distinct, key=cache_order))


class CoreKinds(Record):
    """The CPUs of performance and efficiency cores; both empty if all are equal or indistinguishable.

    ``guessed`` is True if they are derived from maximum frequencies, because the kernel does not name kinds.
    """

    performance: CPUSet = CPUSet()
    efficiency: CPUSet = CPUSet()
    guessed: bool = False


class NumaNode(Record):
    """One online NUMA node; it may have no CPUs or no memory.

    ``hugepages`` counts pages by page size in KiB, including ``surplus_hugepages``, which are freed after
    use. ``distances`` are relative (10 to the node itself), in the order of the machine's nodes, as in the
    kernel's ``distance`` file. ``directory_cpus`` is None unless the CPUs in the node's directory differ from
    the node's list: a kubelet uses the directory.
    """

    id: int
    cpus: CPUSet
    memory_bytes: int | None = None
    free_bytes: int | None = None
    hugepages: Mapping[int, int] = {}
    free_hugepages: Mapping[int, int] = {}
    surplus_hugepages: Mapping[int, int] = {}
    distances: tuple[int, ...] = ()
    directory_cpus: CPUSet | None = None


class Machine(Record):
    """A node's topology as one value: what is recorded of it, and what follows from that.

    CPU sets cover online CPUs unless their name says otherwise.

    ``offline`` are the CPUs that are present but not online. ``hugepages`` counts pages by page size in KiB
    (``reserved_hugepages``: those that are free on some node but reserved by a process), ``cpuinfo_sockets``
    counts the ``physical id``s of /proc/cpuinfo, ``vendor`` is its ``vendor_id``; ``smt_control`` is the
    content of the kernel's file of that name (None: no such file). If ``cores_known`` is False, each CPU is
    its own core only because siblings are not recorded. ``caches_known`` is False if caches, or the CPUs that
    share level-3 caches, are not recorded; ``hugepages_known`` is False if the huge pages of some NUMA node
    are not recorded: unrecorded ones may exist. ``numa_known`` is False if no NUMA node is recorded and
    nothing shows that the kernel has none. ``findings`` are what is unusual.
    """

    cpus: tuple[CPU, ...]
    numa_nodes: tuple[NumaNode, ...] = ()
    caches: tuple[Cache, ...] = ()
    present: CPUSet | None = None
    possible: CPUSet | None = None
    offline: CPUSet = CPUSet()
    isolated: CPUSet = CPUSet()
    nohz_full: CPUSet = CPUSet()
    performance_cpus: CPUSet | None = None
    efficiency_cpus: CPUSet | None = None
    memory_bytes: int | None = None
    hugepages: Mapping[int, int] = {}
    reserved_hugepages: Mapping[int, int] = {}
    cpuinfo_sockets: int = 0
    model_name: str | None = None
    vendor: str | None = None
    architecture: str | None = None
    smt_control: str | None = None
    cores_known: bool = True
    caches_known: bool = True
    hugepages_known: bool = True
    numa_known: bool = True
    findings: tuple[MachineFinding, ...] = ()

    @property
    def may_have_books(self) -> bool:
        """Whether CPUs can be in books and drawers: on s390x, or if the architecture is unknown."""
        if self.architecture:
            return self.architecture == _S390X
        return self.vendor is None or self.vendor.startswith(_IBM)

    def checked(self) -> Self:
        """Return the machine; raise ValueError if its parts contradict each other."""
        numbers = [cpu.number for cpu in self.cpus]
        if numbers != sorted(set(numbers)):
            raise ValueError("CPUs must be listed once each, in ascending order")
        nodes = [node.id for node in self.numa_nodes]
        if nodes != sorted(set(nodes)):
            raise ValueError("NUMA nodes must be listed once each, in ascending order")
        claimed = CPUSet()
        for node in self.numa_nodes:
            if not claimed.isdisjoint(node.cpus):
                raise ValueError(f"CPUs {claimed & node.cpus} belong to two NUMA nodes")
            claimed |= node.cpus
        if not claimed <= self.online:
            raise ValueError(f"NUMA nodes list CPUs {claimed - self.online}, which are not online")
        return self

    @cached_property
    def online(self) -> CPUSet:
        """The online CPUs."""
        return CPUSet.of(cpu.number for cpu in self.cpus)

    @cached_property
    def cpu_by_number(self) -> Mapping[int, CPU]:
        """Every online CPU by its number."""
        return {cpu.number: cpu for cpu in self.cpus}

    @cached_property
    def caches_by_cpu(self) -> Mapping[int, tuple[Cache, ...]]:
        """The caches that each CPU uses, in the order of ``caches``."""
        used: dict[int, list[Cache]] = {}
        for cache in self.caches:
            for cpu in cache.cpus:
                used.setdefault(cpu, []).append(cache)
        return {cpu: tuple(caches) for cpu, caches in used.items()}

    @cached_property
    def cores(self) -> tuple[CPUSet, ...]:
        """The online CPUs of each physical core, by lowest CPU.

        Siblings decide, because core ids repeat on real machines.
        """
        seen, cores = CPUSet(), []
        for cpu in self.cpus:
            if cpu.number not in seen:
                threads = (cpu.siblings & self.online) - seen
                cores.append(threads)
                seen |= threads
        return tuple(cores)

    @cached_property
    def sockets(self) -> Mapping[int, CPUSet]:
        """CPUs by socket number, without CPUs whose socket is unknown."""
        members: dict[int, int] = {}
        for cpu, socket in self.socket_of.items():
            if socket is not None:
                members[socket] = members.get(socket, 0) | 1 << cpu
        return {socket: CPUSet(members[socket]) for socket in sorted(members)}

    @cached_property
    def socket_of(self) -> Mapping[int, int | None]:
        """The socket of every CPU: its package id; None if the kernel does not report an id or a package.

        Packages without an id (-1 or no file) are numbered after the known ids, by lowest CPU.
        """
        known = {
            cpu.number: cpu.package_id
            for cpu in self.cpus
            if cpu.package_id is not None and cpu.package_id >= 0
        }
        packages = {
            cpu.package_cpus: known[cpu.number]
            for cpu in self.cpus
            if cpu.package_cpus and cpu.number in known
        }
        free = count(1 + max(known.values(), default=-1))
        for cpu in self.cpus:
            if cpu.package_cpus and cpu.number not in known and cpu.package_cpus not in packages:
                packages[cpu.package_cpus] = next(free)
        return {
            cpu.number: known.get(cpu.number, packages.get(cpu.package_cpus or CPUSet())) for cpu in self.cpus
        }

    @cached_property
    def l3_groups(self) -> tuple[CPUSet, ...]:
        """The CPU sets that share a level-3 cache, by lowest CPU; empty if the kernel does not report any."""
        groups = {cache.cpus for cache in self.caches if cache.level == 3 and cache.sharing_known}
        return tuple(sorted(groups, key=lambda group: group.lowest))

    @cached_property
    def core_kinds(self) -> CoreKinds:
        """The CPUs of performance and efficiency cores, as the kernel reports them or else guessed.

        Frequencies within 10 % of each other count as one kind: favoured single cores differ that much.
        """
        if self.performance_cpus is not None or self.efficiency_cpus is not None:
            efficiency = self.efficiency_cpus or CPUSet()
            others = self.online - efficiency if efficiency else CPUSet()
            return CoreKinds(others if self.performance_cpus is None else self.performance_cpus, efficiency)
        for slower, faster in pairwise(sorted({cpu.max_khz for cpu in self.cpus if cpu.max_khz})):
            if slower * 10 < faster * 9:
                strong = CPUSet.of(cpu.number for cpu in self.cpus if (cpu.max_khz or 0) > slower)
                weak = CPUSet.of(cpu.number for cpu in self.cpus if 0 < (cpu.max_khz or 0) <= slower)
                return CoreKinds(strong, weak, guessed=True)
        return CoreKinds()
