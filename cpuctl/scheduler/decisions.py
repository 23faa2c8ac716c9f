"""Filter and score of the default scheduler, as far as they depend on Node objects and requests of pods.

Filter: NodeUnschedulable, TaintToleration, NodeAffinity, NodeResourcesFit. Score, with the weights
of the default profile: NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation, TaintToleration,
NodeAffinity, PodTopologySpread (``model.py``), DynamicResources (the claims' results on a node are computed
by the program that serves them). Rule: ``pkg/scheduler/framework/plugins`` of 1.36.

Affinity to other pods, spread constraints of pods themselves, host ports, images and volumes are ignored.
A scheduler that scores only some of the nodes, as it does from 100 nodes on, or chooses randomly among equal
ones, may choose another node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.pods.node_selection import ANY_NODE, NodeSelection, Toleration
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.running import ReportedResources
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from cpuctl.scheduler.model import UNSCHEDULABLE, Amounts, Load, NodeObject, amount_of

_EVERYWHERE = (
    Toleration("node.kubernetes.io/not-ready", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/unreachable", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/disk-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/memory-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/pid-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule"),
)
_ON_HOST_NETWORK = Toleration("node.kubernetes.io/network-unavailable", "Exists", effect="NoSchedule")
_OTHER_NODES = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
_KEEPING_OFF, _DISCOURAGING = ("NoSchedule", "NoExecute"), ("PreferNoSchedule",)
_BEST = 100
_PODS = "pods"
_FIRST = ("cpu", "memory", "ephemeral-storage")
_OF_NOTHING = {"cpu": Quantity.from_milli(100), "memory": Quantity.from_value(200 << 20)}
"""The requests assumed in scores for a container without any (``pkg/scheduler/util/pod_resources.go``)."""
_LEAST_ALLOCATED, _BALANCED, _TAINTS, _AFFINITY, _SPREAD, _CLAIMS = 1, 1, 3, 2, 2, 2
"""The weights of scores."""


class PodNeeds(NamedTuple):
    """The parts of a pod that the scheduler uses."""

    selection: NodeSelection
    load: Load

    @classmethod
    def of(cls, pod: Pod) -> PodNeeds:
        """Return the needs of a new pod, without its claims, whose amounts are known only per node."""
        return cls(pod.node_selection or ANY_NODE, _load(pod._replace(counted_claims=())))


def bound_load(pod: Pod) -> Load:
    """Return the load of a bound pod: during a resize, the maximum of desired, allocated and actual."""
    return _load(_in_force(pod))


def _load(pod: Pod) -> Load:
    scored = _amounts(pod_requests(_with_something(pod)))
    return Load(1, _amounts(pod_requests(pod)), scored.get("cpu", 0), scored.get("memory", 0))


def _in_force(pod: Pod) -> Pod:
    """Rule: ``determineEffectiveRequests`` in ``k8s.io/component-helpers/resource/helpers.go``."""
    resize = pod.resize
    if resize is None:
        return pod
    statuses = {each.name: each.resources for each in pod.statuses if not each.ephemeral}

    def effective(own: ResourceRequirements, reported: ReportedResources) -> ResourceRequirements:
        if reported.requests is None:
            return own
        sides = (reported.requests, reported.granted or {}, {} if resize.infeasible else own.requests)
        most: dict[str, Quantity] = {}
        for name, amount in (item for side in sides for item in side.items()):
            most[name] = max(most.get(name, amount), amount)
        return replace(own, requests=most)

    def container(each: Container) -> Container:
        if each.kind is ContainerKind.INIT or each.name not in statuses:
            return each
        return replace(each, resources=effective(each.resources, statuses[each.name]))

    return pod._replace(
        containers=tuple(map(container, pod.containers)),
        init_containers=tuple(map(container, pod.init_containers)),
        resources=pod.resources and effective(pod.resources, resize.pod_level),
    )


def _amounts(requests: Mapping[str, Quantity]) -> dict[str, int]:
    amounts = {name: amount_of(name, quantity) for name, quantity in requests.items()}
    return {name: amount for name, amount in amounts.items() if amount}


def _with_something(pod: Pod) -> Pod:
    def filled(container: Container) -> Container:
        requests = {**_OF_NOTHING, **container.resources.requests}
        return replace(container, resources=replace(container.resources, requests=requests))

    return pod._replace(
        containers=tuple(map(filled, pod.containers)), init_containers=tuple(map(filled, pod.init_containers))
    )


def filter_reasons(needs: PodNeeds, node: NodeObject, load: Load) -> tuple[str, ...]:
    """Return in the scheduler's words why a pod cannot run on a node; empty if it can."""
    selection = needs.selection
    if (names := selection.names) is not None and node.name not in names:
        return (_OTHER_NODES,)  # excluded before all other filters
    if node.unschedulable and selection.untolerated([UNSCHEDULABLE], _KEEPING_OFF):
        return ("node(s) were unschedulable",)
    if selection.untolerated(node.taints, _KEEPING_OFF):
        return ("node(s) had untolerated taint(s)",)
    if not selection.selects(node.name, node.labels):
        return ("node(s) didn't match Pod's node affinity/selector",)
    return tuple(shortages(needs.load.amounts, node.allocatable, load))


def shortages(amounts: Amounts, allocatable: Amounts, load: Load) -> Iterable[str]:
    """Yield in the scheduler's words what a node lacks for one more pod with these amounts."""
    if load.pods + 1 > allocatable.get(_PODS, 0):
        yield "Too many pods"
    for name in (*_FIRST, *sorted(amounts.keys() - set(_FIRST))):
        amount = amounts.get(name, 0)
        if amount > 0 and amount > allocatable.get(name, 0) - load.amounts.get(name, 0):
            yield f"Insufficient {name}"


def no_node_message(reasons: Iterable[tuple[tuple[str, ...], int]], nodes: int) -> str:
    """Return the message of a pod that stays Pending; *reasons* are given with the number of their nodes."""
    counts: Counter[str] = Counter()
    for texts, count in reasons:
        counts.update(dict.fromkeys(texts, count))
    listed = ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))
    return f"0/{nodes} nodes are available: {listed}." if listed else f"0/{nodes} nodes are available."


def daemon_selection(selection: NodeSelection | None, *, host_network: bool) -> NodeSelection:
    """Add to a pod's selection the tolerations of every pod of a DaemonSet.

    Rule: ``AddOrUpdateDaemonPodTolerations`` in ``pkg/controller/daemon/util`` of 1.36.
    """
    own = selection or ANY_NODE
    more = (*_EVERYWHERE, _ON_HOST_NETWORK) if host_network else _EVERYWHERE
    return own._replace(tolerations=(*own.tolerations, *more))


def gets_daemon_pod(selection: NodeSelection, node: NodeObject) -> bool:
    """Return whether a DaemonSet creates a pod for a node; the scheduler decides whether it fits.

    Rule: ``NodeShouldRunDaemonPod`` in ``pkg/controller/daemon`` of 1.36.
    """
    selected = selection.selects(node.name, node.labels)
    return selected and not selection.untolerated(node.taints, _KEEPING_OFF)


def daemon_pod_message(reasons: tuple[str, ...], nodes: int) -> str:
    """Return the message of a DaemonSet's pod that stays Pending: it is created for one specific node."""
    others = [((_OTHER_NODES,), nodes - 1)] if nodes > 1 else []
    return no_node_message([(reasons, 1), *others], nodes)


class Candidate(NamedTuple):
    """A node that can run the pod, and the load bound to it."""

    node: NodeObject
    load: Load


class Score(NamedTuple):
    """The score of a node alone; its counts are normalized by the maximum of all candidates."""

    resources: int
    untolerated: int
    preferred: int

    @classmethod
    def of(cls, needs: PodNeeds, candidate: Candidate) -> Score:
        """Score one node that has passed the filter."""
        selection, node = needs.selection, candidate.node
        return cls(
            _LEAST_ALLOCATED * least_allocated(needs.load, candidate)
            + _BALANCED * balanced_allocation(needs.load, candidate),
            len(selection.untolerated(node.taints, _DISCOURAGING)),
            selection.preference(node.name, node.labels),
        )


def totals(
    scores: Sequence[Score], spread: Iterable[int] | None = None, claims: Sequence[int] = ()
) -> list[int]:
    """Return the total scores of all nodes that have passed the filter, in order; more is better.

    *spread* scores how well each node spreads siblings of the pod, if there are any, *claims* how much it is
    preferred for the devices that the pod's claims get there.
    """
    most_taints = max((each.untolerated for each in scores), default=0)
    most_preferred = max((each.preferred for each in scores), default=0)
    most_claimed = max(claims, default=0)
    return [
        each.resources
        + _TAINTS * (_BEST - _normalized(each.untolerated, most_taints))
        + _AFFINITY * _normalized(each.preferred, most_preferred)
        + _SPREAD * apart
        + _CLAIMS * _normalized(claimed, most_claimed)
        for each, apart, claimed in zip(scores, spread or repeat(0), claims or repeat(0), strict=False)
    ]


def _normalized(score: int, most: int) -> int:
    return score * _BEST // most if most else 0


def least_allocated(pod: Load, candidate: Candidate) -> int:
    """Score the share of CPU and memory that remains free; resources that the node lacks do not count."""
    allocatable, load = candidate.node.allocatable, candidate.load
    sums = {"cpu": load.scored_cpu + pod.scored_cpu, "memory": load.scored_memory + pod.scored_memory}
    free = [
        max(capacity - requested, 0) * _BEST // capacity
        for name, requested in sums.items()
        if (capacity := allocatable.get(name, 0))
    ]
    return sum(free) // len(free) if free else 0


def balanced_allocation(pod: Load, candidate: Candidate) -> int:
    """Score how much a pod improves the balance of CPU and memory; 0 for one that requests neither."""
    requested = {name: pod.amounts.get(name, 0) for name in ("cpu", "memory")}
    if not any(requested.values()):
        return 0
    allocatable, bound = candidate.node.allocatable, candidate.load.amounts
    before = _balance({name: bound.get(name, 0) for name in requested}, allocatable)
    after = _balance({name: bound.get(name, 0) + amount for name, amount in requested.items()}, allocatable)
    return _BEST // 2 + int((_BEST // 2 + after - before) / 2)


def _balance(amounts: Amounts, allocatable: Amounts) -> int:
    shares = [
        min(amount / capacity, 1.0)
        for name, amount in amounts.items()
        if (capacity := allocatable.get(name, 0))
    ]
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - deviation) * _BEST)
