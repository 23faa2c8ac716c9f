"""The interface of policies, and the immutable values that they see.

Rule: the plugin model for the CPU Manager (per pod, after binding: sort, filter, make room, score CPUs,
select sets, score sets, allocate), which upstream never built. Signatures, and how scores are combined, are
cpuctl's own; ``docs/policies.md`` describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, get_args

from cpuctl.cpuset import CPUSet

Alignment = Literal["hint", "equal", "cpu"]
"""The NUMA nodes a policy may choose from if the Topology Manager aligns: see ``Policy.alignment``."""

Step = Literal["sort", "filter", "post_filter", "pre_score", "select", "score", "allocate", "deallocate"]
STEPS: tuple[Step, ...] = get_args(Step)
"""The steps of a policy, in the order in which they run."""


class Rejection(Exception):  # noqa: N818  # it is an answer
    """A policy's rejection: the container cannot have CPUs, and why."""


class Failure(Exception):  # noqa: N818  # it is an answer, too
    """The kubelet's error if a policy that models the kubelet would ``crash`` or loop forever as it does."""

    def __init__(self, why: str, *, crash: bool = False, where: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.crash = crash
        self.where = where


class CPU(NamedTuple):
    """A CPU and its position, as the kubelet numbers it: a core is identified by its lowest CPU.

    ``kind`` is ``performance`` or ``efficiency`` if the machine has cores of both kinds, else empty.
    """

    number: int
    core: int
    numa_node: int
    socket: int
    uncore_cache: int
    kind: str = ""


class Elements(NamedTuple):
    """The elements of a topology, as masks of CPUs by id, and the totals that a kubelet counts."""

    numa_nodes: Mapping[int, int]
    sockets: Mapping[int, int]
    cores: Mapping[int, int]
    uncore_caches: Mapping[int, int]
    num_cpus: int
    num_sockets: int
    num_cores: int
    performance: int = 0
    efficiency: int = 0
    distances: Mapping[int, tuple[int, ...]] = {}


class Topology:
    """The position of every CPU; sets of CPUs by the id of the element, in the order of ids.

    The averages are the kubelet's own, rounded down, wrong on machines with cores of different sizes.
    ``distances`` are those of NUMA nodes, if they are known.
    """

    def __init__(self, elements: Elements) -> None:
        self.__elements = elements
        self.numa_nodes = _sets(elements.numa_nodes)
        """The CPUs of each NUMA node that has any."""
        self.sockets = _sets(elements.sockets)
        """The CPUs of each socket."""
        self.cores = _sets(elements.cores)
        """The CPUs of each core."""
        self.uncore_caches = _sets(elements.uncore_caches)
        """The CPUs of each uncore cache (L3), or of each socket if the caches are unknown."""

    @cached_property
    def cpus(self) -> Mapping[int, CPU]:
        """Every CPU by its id."""
        labels: dict[int, list[int]] = {}
        for sets in (self.cores, self.numa_nodes, self.sockets, self.uncore_caches):
            for element, cpus in sets.items():
                for cpu in cpus:
                    labels.setdefault(cpu, []).append(element)
        return MappingProxyType({cpu: self._cpu(cpu, labels[cpu]) for cpu in sorted(labels)})

    def _cpu(self, cpu: int, labels: list[int]) -> CPU:
        core, node, socket, cache = labels
        performance, efficiency = self.__elements.performance, self.__elements.efficiency
        kind = ""
        if performance and efficiency and (performance | efficiency) >> cpu & 1:
            kind = "performance" if performance >> cpu & 1 else "efficiency"
        return CPU(cpu, core, node, socket, cache, kind)

    @property
    def distances(self) -> Mapping[int, tuple[int, ...]]:
        """Return the distances of a NUMA node from each node, in the order of their ids."""
        return MappingProxyType(dict(self.__elements.distances))

    @property
    def cpus_per_core(self) -> int:
        """The average, rounded down; 0 without cores."""
        return _average(self.__elements.num_cpus, self.__elements.num_cores)

    @property
    def cpus_per_socket(self) -> int:
        """The average, rounded down; 0 without sockets."""
        return _average(self.__elements.num_cpus, self.__elements.num_sockets)

    @property
    def cpus_per_uncore_cache(self) -> int:
        """The average, rounded down; 0 without caches."""
        return _average(self.__elements.num_cpus, len(self.__elements.uncore_caches))

    @property
    def numa_first(self) -> bool:
        """Whether the kubelet treats NUMA nodes as larger than sockets: there are not more of them."""
        return self.__elements.num_sockets >= len(self.__elements.numa_nodes)


def _sets(masks: Mapping[int, int]) -> Mapping[int, CPUSet]:
    return MappingProxyType({element: CPUSet(mask) for element, mask in masks.items()})


def _average(total: int, number: int) -> int:
    return total // number if number else 0


class ContainerView(NamedTuple):
    """A container, its ``kind`` (app, init, sidecar), and the number of its exclusive CPUs, or 0."""

    name: str
    kind: str
    cpus: int


class PodView(NamedTuple):
    """A pod: ``cpus`` are the exclusive CPUs of its app containers and sidecars together."""

    namespace: str
    name: str
    uid: str
    qos: str
    priority: int
    containers: tuple[ContainerView, ...]

    @property
    def cpus(self) -> int:
        """The exclusive CPUs that it holds while it runs."""
        return sum(each.cpus for each in self.containers if each.kind != "init")


class Holder(NamedTuple):
    """Exclusive CPUs and their owner; ``container`` is empty for those of a pod as a whole."""

    uid: str
    container: str
    cpus: CPUSet


class Usage(NamedTuple):
    """How much of a resource is allocated on a NUMA node, and the total: CPUs, bytes or devices."""

    assigned: int
    allocatable: int


class View(NamedTuple):
    """What a policy can see; nothing in it can be changed.

    ``need`` CPUs of those in ``free`` are wanted for ``container`` (None for the pod as a whole, and if the
    question is not about a container). ``shared`` is the whole shared pool, ``reserved`` never becomes
    exclusive. ``nodes`` are the required NUMA nodes of the CPUs (None: any). ``kubelet`` is what the kubelet
    itself would take of ``free``. ``usage`` is by NUMA node and resource, ``settings`` are the options of the
    kubelet's CPU Manager policy, ``release`` its minor release and patch. ``running`` are the running pods.
    """

    topology: Topology
    free: CPUSet = CPUSet()
    need: int = 0
    container: ContainerView | None = None
    shared: CPUSet = CPUSet()
    reserved: CPUSet = CPUSet()
    nodes: frozenset[int] | None = None
    kubelet: CPUSet = CPUSet()
    holders: tuple[Holder, ...] = ()
    usage: Mapping[int, Mapping[str, Usage]] = MappingProxyType({})
    settings: Mapping[str, str] = MappingProxyType({})
    release: tuple[int, int | None] = (36, None)
    running: tuple[PodView, ...] = ()


class Policy:
    """Base of policies: any of the eight steps may be overridden, the others are the kubelet's own.

    ``alignment`` says which NUMA nodes are used if the Topology Manager aligns: those it has chosen
    (``hint``), any equally good ones (``equal``), or, if it has found none that all managers prefer,
    those that the CPU Manager prefers (``cpu``). ``source`` names what the policy comes from. Options are
    the keyword arguments of ``__init__`` (bool, int, float or str); ``choices`` has all values of those that
    accept only some, by their names on the command line. Nothing is to be kept from one call to the next:
    what counts is in the view.
    """

    alignment: ClassVar[Alignment] = "hint"
    source: ClassVar[str] = ""
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def sort(self, pods: tuple[PodView, ...], view: View) -> Iterable[PodView]:
        """Order pods that arrive together: return the same pods, each once."""
        return pods

    def filter(self, pod: PodView, cpu: CPU, view: View) -> bool:
        """Return whether a pod may have a CPU."""
        return True

    def post_filter(self, pod: PodView, view: View) -> Iterable[str]:
        """Return the UIDs of pods to evict for one that is not admitted, which is then tried again."""
        return ()

    def pre_score(self, container: ContainerView | None, cpu: CPU, view: View) -> float:
        """Score a CPU; higher is better."""
        return 0

    def select(self, scores: Mapping[int, float], view: View) -> Iterable[Iterable[int]]:
        """Name sets of ``view.need`` CPUs from those that have scores, the best first."""
        yield view.kubelet

    def score(self, cpus: CPUSet, view: View) -> float:
        """Score a set that ``select`` named; the highest wins, the first one among equals."""
        return 0

    def allocate(self, cpus: CPUSet, view: View) -> None:
        """Note the CPUs that the container is given."""

    def deallocate(self, cpus: CPUSet, view: View) -> None:
        """Note the CPUs released by pods that ``post_filter`` named."""
