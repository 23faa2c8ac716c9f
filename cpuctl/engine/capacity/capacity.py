"""What else fits on a node, next to the pods that it runs, and how scattered its free CPUs are.

All results come from admitting pods on copies of the node; each search limit is named and reported.
The largest request for exclusive CPUs is searched for on the whole node and inside each element.

A fragmentation figure compares the current value with the best possible for the same number of free CPUs.
For NUMA nodes and uncore caches the value is the most free CPUs in any one of them: at best all of them, or
as many as may become exclusive in the largest one. For cores it is the number of free CPUs on cores with all
CPUs free: at best as many as fill cores. Siblings of reserved CPUs do not count, as their cores are never
free. A node without containers is not fragmented, whatever its shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.probe import (
    Progress,
    copies_of,
    exclusive_pod,
    free_cpus,
    no_progress,
    settled,
    shape_of,
)
from cpuctl.engine.capacity.remedy import Remedy, remedy_for
from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.cpu.topology import Masks
from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected, StartRefused, Undetermined, Verdict
from cpuctl.engine.start import start_node
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace


class Scatter(NamedTuple):
    """Of ``possible`` CPUs that could be together, ``reached`` are."""

    reached: int
    possible: int

    @property
    def percent(self) -> int:
        """The lost part in whole percent: 0 only if nothing is lost, 100 only if everything is."""
        if self.reached == self.possible:
            return 0
        lost = 100 * (self.possible - self.reached) // self.possible
        return max(lost, 1)


class Fragmentation(NamedTuple):
    """Fragmentation by topology level; ``uncore_cache`` is None if the caches are not recorded."""

    core: Scatter
    uncore_cache: Scatter | None
    numa_node: Scatter


def fragmentation_of(node: Node) -> Fragmentation | None:
    """Measure how scattered the free CPUs of a cleaned-up node are; None without a static CPU policy."""
    if node.policy is None:
        return None
    free, allocatable = free_cpus(node), node.policy.allocatable
    caches, caches_known = node.topology.uncore_caches, node.topology.caches_known
    return Fragmentation(
        core=_in_whole_cores(node.topology.cores, free, allocatable),
        uncore_cache=_in_one(caches, free, allocatable) if caches_known else None,
        numa_node=_in_one(node.topology.numa_nodes, free, allocatable),
    )


def _in_whole_cores(cores: Masks, free: int, allocatable: int) -> Scatter:
    whole = [mask for mask in cores.values() if not mask & ~allocatable]
    left = sum((mask & free).bit_count() for mask in whole)
    reached = sum(mask.bit_count() for mask in whole if not mask & ~free)
    sums = 1  # bit n: some cores have n CPUs together
    for mask in whole:
        sums |= sums << mask.bit_count()
    fitting = sums & ((1 << left + 1) - 1)
    return Scatter(reached, fitting.bit_length() - 1)


def _in_one(elements: Masks, free: int, allocatable: int) -> Scatter:
    def most(cpus: int) -> int:
        return max((cpus & mask).bit_count() for mask in elements.values())

    return Scatter(most(free), min(free.bit_count(), most(allocatable)))


class RefusedRequest(NamedTuple):
    """A request that is too large: its number of CPUs, and the verdict on it."""

    cpus: int
    verdict: Verdict


class Largest(NamedTuple):
    """The most CPUs that one container would get; ``stop`` refuses more, None if no more are free."""

    cpus: int
    stop: RefusedRequest | None = None


class Headroom(NamedTuple):
    """What is left in a NUMA node or an uncore cache: CPUs (masks), and the largest request inside it.

    Such a request is admitted, and gets all its CPUs here, when every free CPU elsewhere is taken.
    """

    number: int
    cpus: int
    free: int
    largest: int


def largest_request(node: Node) -> Largest:
    """Find the largest request that is admitted, and the verdict on the next larger sensible one.

    *node* has cleaned up (``settled``) and is not changed.
    """
    cpus = most_requested(node)
    more = cpus + request_step(node.policy)
    if more > free_cpus(node).bit_count():
        return Largest(cpus)
    return Largest(cpus, RefusedRequest(more, _verdict(node, more)))


def most_requested(node: Node, step: int = 1) -> int:
    """Return the most CPUs that one more container would be admitted with, exclusive with a static policy.

    Multiples of *step* are tried downwards from all free CPUs: on several NUMA nodes a request may fit
    even if a smaller one fails. *node* is as in ``largest_request``.
    """
    cpus = (free_cpus(node) if node.policy else node.topology.cpus).bit_count()
    while (cpus := cpus - cpus % step) > 0:
        verdict = _verdict(node, cpus)
        if isinstance(verdict, Admitted):
            return cpus
        cpus = _next(cpus, verdict)
    return 0


def _verdict(node: Node, cpus: int) -> Verdict:
    return node.copy().admit(exclusive_pod(node, cpus)).verdict


def _next(cpus: int, verdict: Verdict) -> int:
    """Skip requests that are sure to be refused: the verdict shows how much of a resource is left."""
    if isinstance(verdict, Rejected) and verdict.reason == "OutOfcpu":
        left = verdict.details["capacity"] - verdict.details["used"]
        return left // 1000
    if isinstance(verdict, Rejected) and verdict.reason.startswith("OutOf"):
        return 0
    return cpus - 1


def headroom_of(node: Node, elements: Masks) -> Iterator[Headroom]:
    """Yield the headroom of each element separately; *node* is as in ``largest_request``."""
    free = free_cpus(node)
    for number, cpus in elements.items():
        yield Headroom(number=number, cpus=cpus, free=free & cpus, largest=_inside(node, cpus))


def _inside(node: Node, cpus: CPUMask) -> int:
    alone = node.copy()
    assert alone.policy is not None
    alone.state.default &= cpus | alone.policy.reserved
    return most_requested(alone)


MAX_SHAPES = 32
"""Limit on the kinds of pods whose copies are counted."""

MAX_RUNS = 10_000
"""Limit on the admissions tried to find remedies; the kinds of refused pods share it equally."""


class Capacity(NamedTuple):
    """How many more copies of each kind of pod fit, the largest requests, and remedies for refused pods.

    ``largest`` is the largest request for exclusive CPUs by Topology Manager policy; it is empty without a
    static CPU policy, as are the headrooms. ``left_out`` is how many kinds of pods exceeded the limit.
    """

    copies: tuple[Copies, ...]
    left_out: int
    largest: Mapping[TopologyPolicy, Largest | NotStarted]
    numa_nodes: tuple[Headroom, ...]
    uncore_caches: tuple[Headroom, ...]
    fragmentation: Fragmentation | None
    remedies: tuple[Remedy, ...]


def capacity_of(
    node: Node,
    info: MachineInfo,
    kubelet: Kubelet,
    admissions: Sequence[Admission],
    progress: Progress = no_progress,
) -> Capacity:
    """Return the capacity of a node, which *kubelet* runs on the machine, after *admissions* were decided."""
    node = settled(node)
    kinds = equivalent(admission.pod for admission in admissions)
    exclusive, caches_known = node.policy is not None, node.topology.caches_known
    return Capacity(
        copies=tuple(more_copies(node, pods, progress) for pods in kinds[:MAX_SHAPES]),
        left_out=len(kinds[MAX_SHAPES:]),
        largest=dict(_largest(node, info, kubelet)) if exclusive else {},
        numa_nodes=tuple(headroom_of(node, node.topology.numa_nodes)) if exclusive else (),
        uncore_caches=tuple(headroom_of(node, node.topology.uncore_caches))
        if exclusive and caches_known
        else (),
        fragmentation=fragmentation_of(node),
        remedies=tuple(_remedies(node, admissions, progress)),
    )


def _largest(
    node: Node, info: MachineInfo, kubelet: Kubelet
) -> Iterator[tuple[TopologyPolicy, Largest | NotStarted]]:
    for policy in TOPOLOGY_POLICIES:
        other = under_policy(node, info, kubelet, policy)
        yield policy, largest_request(other) if isinstance(other, Node) else other


def _remedies(node: Node, admissions: Sequence[Admission], progress: Progress) -> Iterator[Remedy]:
    kinds = equivalent(each.pod for each in admissions if isinstance(each.verdict, Rejected))
    for pods in kinds:
        yield remedy_for(node, pods, MAX_RUNS // len(kinds), progress)


MAX_COPIES = 500
"""Limit on the copies tried of one pod; the kubelet's own limit on pods is nearly always reached first."""


class Copies(NamedTuple):
    """How many more of these equal pods fit; ``stop`` is the next one's verdict, None at the limit."""

    pods: tuple[StoredPod, ...]
    fits: int
    stop: Verdict | None


def equivalent(pods: Iterable[StoredPod]) -> list[tuple[StoredPod, ...]]:
    """Group pods that differ only in their names, in the order of each group's first pod."""
    shapes: dict[object, list[StoredPod]] = {}
    for pod in pods:
        shapes.setdefault(shape_of(pod), []).append(pod)
    return [tuple(group) for group in shapes.values()]


def more_copies(node: Node, pods: tuple[StoredPod, ...], progress: Progress) -> Copies:
    """Admit copies of *pods*, which are equal, until one does not run; *node* is not changed."""
    node = node.copy()
    fits = 0
    for copy in islice(copies_of(node, pods[0]), MAX_COPIES):
        progress("admitting copies", fits, 0)
        verdict = node.came_of(node.admit(copy))
        if not isinstance(verdict, Admitted):
            return Copies(pods, fits, verdict)
        fits += 1
    return Copies(pods, fits, None)


TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
TOPOLOGY_POLICIES: tuple[TopologyPolicy, ...] = ("none", *POLICIES)

NotStarted = StartRefused | KubeletFault | Undetermined


def under_policy(node: Node, info: MachineInfo, kubelet: Kubelet, policy: str) -> Node | NotStarted:
    """Return *node*, which *kubelet* runs, as under *policy*, or why the kubelet would not start."""
    if policy == kubelet.config.topology_manager_policy:
        return node
    config = replace(kubelet.config, topology_manager_policy=policy)
    started = start_node(info, replace(kubelet, config=config))
    if not isinstance(started, Node):
        return started
    other = node.copy()
    other.topology_manager = started.topology_manager
    return other
