"""The kubelet's view of the CPUs: four labels per CPU, five totals, three integer averages.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager/topology``. A core is identified by its smallest CPU number,
an uncore cache by the first id listed for the core, or by the socket if none is listed. The averages are
rounded down as in the kubelet, and deliberately just as wrong on hybrid or partly offline machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.golang.text import GoError
from cpuctl.phrases import named
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
    from cpuctl.machine.model import Machine

Masks = Mapping[int, CPUMask]
"""CPU masks by element id, ids ascending."""

_Label = tuple[int, int, int, int, CPUMask]
"""NUMA node, socket, core and uncore cache of one core entry, and the mask of its threads."""


_FEW = 4
"""Looking up one CPU takes about as long as checking this many cores."""


class CPUTopology(Record):
    """The location of every CPU, as masks; the fields ``num_`` come from the machine information instead.

    If ``caches_known`` is False, ``uncore_caches`` are the sockets, which a kubelet uses in their place.
    """

    numa_nodes: Masks
    sockets: Masks
    cores: Masks
    uncore_caches: Masks
    num_cpus: int
    num_sockets: int
    num_cores: int
    caches_known: bool = True

    @classmethod
    def discover(cls, info: MachineInfo, *, knows_books: bool = True) -> CPUTopology:
        """Label every CPU; raise GoError with the kubelet's text if it would refuse to start.

        *knows_books* is False for a kubelet whose cAdvisor does not read books and drawers (s390x).
        """
        info = info if knows_books else info.without_books
        if info.num_cpus == 0:
            raise GoError("could not detect number of cpus")
        labels = _without_repeats([_labels(node, core) for node, core in _entries(info)])
        return cls(
            numa_nodes=_masks((node, threads) for node, _, _, _, threads in labels),
            sockets=_masks((socket, threads) for _, socket, _, _, threads in labels),
            cores=_masks((core, threads) for _, _, core, _, threads in labels),
            uncore_caches=_masks((cache, threads) for _, _, _, cache, threads in labels),
            num_cpus=info.num_cpus,
            num_sockets=info.num_sockets,
            num_cores=len(labels),
            caches_known=info.caches_known,
        )

    @property
    def num_numa_nodes(self) -> int:
        """Number of NUMA nodes that have a CPU."""
        return len(self.numa_nodes)

    @property
    def num_uncore_caches(self) -> int:
        """Number of distinct uncore cache ids of the CPUs."""
        return len(self.uncore_caches)

    @cached_property
    def cpus(self) -> CPUMask:
        """Mask of all CPUs."""
        return _union(self.numa_nodes.values())

    @cached_property
    def cpus_per_core(self) -> int:
        """Average CPUs per core, rounded down; 0 without cores."""
        return self.num_cpus // self.num_cores if self.num_cores else 0

    @cached_property
    def cpus_per_socket(self) -> int:
        """Average CPUs per socket, rounded down; 0 without sockets."""
        return self.num_cpus // self.num_sockets if self.num_sockets else 0

    @cached_property
    def cpus_per_uncore(self) -> int:
        """Average CPUs per uncore cache, rounded down; 0 without caches."""
        return self.num_cpus // self.num_uncore_caches if self.uncore_caches else 0

    @property
    def has_uneven_cores(self) -> bool:
        """Whether some core does not have the average number of CPUs."""
        return any(cpus.bit_count() != self.cpus_per_core for cpus in self.cores.values())

    @property
    def has_uneven_sockets(self) -> bool:
        """Whether some socket does not have the average number of CPUs."""
        return any(cpus.bit_count() != self.cpus_per_socket for cpus in self.sockets.values())

    @cached_property
    def numa_first(self) -> bool:
        """Whether pickers sort NUMA nodes above sockets: there are at least as many sockets as nodes."""
        return self.num_sockets >= self.num_numa_nodes

    @cached_property
    def _cores_inside(self) -> dict[CPUMask, Masks]:
        return {}

    def cores_inside(self, parent: CPUMask) -> Masks:
        """Return the cores that overlap the mask of a NUMA node or socket; cached by mask."""
        inside = self._cores_inside.get(parent)
        if inside is None:
            inside = {core: mask for core, mask in self.cores.items() if mask & parent}
            self._cores_inside[parent] = inside
        return inside

    def siblings(self, cpus: CPUMask) -> CPUMask:
        """Return the mask of all cores that have a thread among *cpus*."""
        return _union(self.cores_of(cpus).values())

    @cached_property
    def _core_of(self) -> dict[CPUMask, tuple[int, int]]:
        """The core of each CPU (a mask): its index in ``cores``, and its id."""
        return {
            cpu: (index, core)
            for index, (core, mask) in enumerate(self.cores.items())
            for cpu in _single(mask)
        }

    def cores_of(self, cpus: CPUMask) -> Masks:
        """Return the cores that have a thread among *cpus*, in order; a few CPUs are looked up one by one."""
        if cpus.bit_count() * _FEW > len(self.cores):
            return {core: mask for core, mask in self.cores.items() if mask & cpus}
        found = {self._core_of[cpu] for cpu in _single(cpus) if cpu in self._core_of}
        return {core: self.cores[core] for _, core in sorted(found)}

    def in_numa_nodes(self, nodes: NodeMask) -> CPUMask:
        """Return the mask of the CPUs of the NUMA nodes whose bits are set in *nodes*."""
        return _union(mask for node, mask in self.numa_nodes.items() if node >= 0 and nodes >> node & 1)

    def in_sockets_of(self, cpus: CPUMask) -> CPUMask:
        """Return the mask of the CPUs of all sockets that *cpus* touch."""
        return _union(mask for mask in self.sockets.values() if mask & cpus)

    def sockets_of(self, cpus: CPUMask) -> frozenset[int]:
        """Return the ids of the sockets that *cpus* touch."""
        return frozenset(socket for socket, mask in self.sockets.items() if mask & cpus)


def _single(cpus: CPUMask) -> Iterator[CPUMask]:
    """Yield the mask of every CPU in a mask."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest
        cpus ^= lowest


def no_cpus_per_core(topology: CPUTopology, doing: str) -> KubeletFault:
    """Return the crash of a CPU Manager that divides by CPUs per core with fewer CPUs than cores."""
    return KubeletFault(
        kind=FaultKind.CRASH,
        where=f"CPU Manager, {doing} by CPUs per core, "
        f"which are 0 for {topology.num_cpus} CPUs on {topology.num_cores} cores",
        why="runtime error: integer divide by zero",
    )


def _entries(info: MachineInfo) -> Iterator[tuple[InfoNode, InfoCore]]:
    return ((node, core) for node in info.nodes for core in node.cores)


def _labels(node: InfoNode, core: InfoCore) -> _Label:
    if not core.threads:
        raise GoError("no cpus provided")
    threads = CPUSet.of(core.threads)
    if len(threads) != len(core.threads):
        raise GoError("cpus provided are not unique")
    cache = core.uncore_cache_ids[0] if core.uncore_cache_ids else core.socket_id
    return node.id, core.socket_id, threads.lowest, cache, CPUMask(threads.mask)


def _without_repeats(labels: list[_Label]) -> list[_Label]:
    """Assign a CPU that several core entries list to the last of them, as the kubelet's map does."""
    claimed, kept = NO_CPUS, []
    for node, socket, core, cache, threads in reversed(labels):
        kept.append((node, socket, core, cache, threads & ~claimed))
        claimed |= threads
    return kept


def _masks(labelled: Iterator[tuple[int, CPUMask]]) -> Masks:
    masks: dict[int, CPUMask] = {}
    for element, mask in labelled:
        if mask:
            masks[element] = masks.get(element, NO_CPUS) | mask
    return dict(sorted(masks.items()))


def _union(masks: Iterable[CPUMask]) -> CPUMask:
    return reduce(or_, masks, NO_CPUS)


# Where a kubelet's view of a machine differs from its kernel's.
#
# The kubelet knows only the CPUs that cAdvisor lists: a core by its (core id, package id) inside a NUMA node,
# an uncore cache by the first one listed for a core, or else by the socket.


def differing_views(machine: Machine, topology: CPUTopology) -> Iterator[str]:
    """Yield one sentence for each way in which the two views group the CPUs differently."""
    missing = machine.online - CPUSet(topology.cpus)
    if missing:
        yield f"the kubelet does not know {named(missing)}, which {_verb(missing)} online"
    extra = CPUSet(topology.cpus) - machine.online
    if extra:
        yield f"the kubelet knows {named(extra)}, which {_verb(extra)} not online"
    for what, kernel, kubelet in _partitions(machine, topology):
        # Missing CPUs are already reported: here only the grouping of the others is compared.
        shared = {mask & topology.cpus for mask in kernel} - {0}
        if shared != kubelet:
            counts = f"{what}: kernel {len(kernel)}, kubelet {len(kubelet)}"
            one = f"{'an' if what.startswith('L') else 'a'} {what.removesuffix('s')}"
            of_kernel, of_kubelet = shared - kubelet, kubelet - shared
            yield counts + _example("the kernel", of_kernel, one) + _example("the kubelet", of_kubelet, one)


def _verb(cpus: CPUSet) -> str:
    return "are" if len(cpus) > 1 else "is"


def _partitions(machine: Machine, topology: CPUTopology) -> Iterator[tuple[str, set[int], set[int]]]:
    if machine.numa_known:
        nodes = _distinct_sets(node.cpus for node in machine.numa_nodes)
        yield "NUMA nodes", nodes, set(topology.numa_nodes.values())
    if machine.sockets:
        yield "sockets", _distinct_sets(machine.sockets.values()), set(topology.sockets.values())
    if machine.cores_known:
        yield "cores", _distinct_sets(machine.cores), set(topology.cores.values())
    if machine.caches_known:
        yield "L3 caches", _distinct_sets(machine.l3_groups), set(topology.uncore_caches.values())


def _distinct_sets(groups: Iterable[CPUSet]) -> set[int]:
    return {group.mask for group in groups if group}


def _example(who: str, masks: set[int], one: str) -> str:
    if not masks:
        return ""
    cpus = CPUSet(min(masks, key=_lowest_bit))
    return f"; {named(cpus)} {f'share {one}' if len(cpus) > 1 else f'is alone in {one}'} only in {who}'s view"


def _lowest_bit(mask: int) -> int:
    return mask & -mask


def cpu_labels(topology: CPUTopology) -> Mapping[int, tuple[int, int, int, int]]:
    """Return the NUMA node, socket, core and uncore cache of every CPU, as the kubelet numbers them."""
    labels: dict[int, list[int]] = {cpu: [] for cpu in CPUSet(topology.cpus)}
    for elements in (topology.numa_nodes, topology.sockets, topology.cores, topology.uncore_caches):
        for element, mask in elements.items():
            for cpu in CPUSet(mask):
                labels[cpu].append(element)
    return {cpu: (node, socket, core, cache) for cpu, (node, socket, core, cache) in labels.items()}
