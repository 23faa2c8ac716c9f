"""Filter and score of the default scheduler, as far as a Node object and the requests of pods tell.

Filter: NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodeResourcesFit. Score, with the weights
of the default profile: NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation, TaintToleration,
NodeAffinity. Rule: ``pkg/scheduler/framework/plugins`` of 1.36.

Not looked at are other pods (affinity, topology spread, host ports), images, volumes and claims. A scheduler
that scores only some of the nodes, as it does from 100 nodes on, or draws lots among equal ones, may choose
another of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cpuctl.pods.model import Container, Pod
from cpuctl.pods.node_selection import ANY_NODE, NodeSelection
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.scheduler.model import UNSCHEDULABLE, Amounts, Load, NodeObject, amount_of

_KEEPING_OFF, _DISCOURAGING = ("NoSchedule", "NoExecute"), ("PreferNoSchedule",)
_BEST = 100
_PODS = "pods"
_FIRST = ("cpu", "memory", "ephemeral-storage")
_OF_NOTHING = {"cpu": Quantity.from_milli(100), "memory": Quantity.from_value(200 << 20)}
"""What scores count for a container that requests none (``pkg/scheduler/util/pod_resources.go``)."""
_LEAST_ALLOCATED, _BALANCED, _TAINTS, _AFFINITY = 1, 1, 3, 2
"""The weights of scores."""


class Wanted(NamedTuple):
    """What the scheduler looks at of a pod."""

    selection: NodeSelection
    load: Load
    node_name: str = ""

    @classmethod
    def of(cls, pod: Pod) -> Wanted:
        """Sum up a pod."""
        scored = _amounts(pod_requests(_with_something(pod)))
        load = Load(1, _amounts(pod_requests(pod)), scored.get("cpu", 0), scored.get("memory", 0))
        return cls(pod.node_selection or ANY_NODE, load, pod.node_name)


def _amounts(requests: Mapping[str, Quantity]) -> dict[str, int]:
    amounts = {name: amount_of(name, quantity) for name, quantity in requests.items()}
    return {name: amount for name, amount in amounts.items() if amount}


def _with_something(pod: Pod) -> Pod:
    def filled(container: Container) -> Container:
        requests = {**_OF_NOTHING, **container.resources.requests}
        return container._replace(resources=container.resources._replace(requests=requests))

    return pod._replace(
        containers=tuple(map(filled, pod.containers)), init_containers=tuple(map(filled, pod.init_containers))
    )


def filter_reasons(wanted: Wanted, node: NodeObject, load: Load) -> tuple[str, ...]:
    """Say in the scheduler's words why a node cannot take a pod; nothing where it can."""
    selection = wanted.selection
    if node.unschedulable and selection.untolerated([UNSCHEDULABLE], _KEEPING_OFF):
        return ("node(s) were unschedulable",)
    if wanted.node_name and wanted.node_name != node.name:
        return ("node(s) didn't match the requested node name",)
    if selection.untolerated(node.taints, _KEEPING_OFF):
        return ("node(s) had untolerated taint(s)",)
    if not selection.selects(node.name, node.labels):
        return ("node(s) didn't match Pod's node affinity/selector",)
    return tuple(_shortages(wanted.load.amounts, node.allocatable, load))


def _shortages(amounts: Amounts, allocatable: Amounts, load: Load) -> Iterable[str]:
    if load.pods + 1 > allocatable.get(_PODS, 0):
        yield "Too many pods"
    for name in (*_FIRST, *sorted(amounts.keys() - set(_FIRST))):
        amount = amounts.get(name, 0)
        if amount > 0 and amount > allocatable.get(name, 0) - load.amounts.get(name, 0):
            yield f"Insufficient {name}"


def no_node_message(reasons: Iterable[tuple[tuple[str, ...], int]], nodes: int) -> str:
    """Write the message of a pod that stays Pending; *reasons* come with the number of their nodes."""
    counts: Counter[str] = Counter()
    for texts, count in reasons:
        counts.update(dict.fromkeys(texts, count))
    told = ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))
    return f"0/{nodes} nodes are available: {told}." if told else f"0/{nodes} nodes are available."


class Candidate(NamedTuple):
    """A node that can take the pod, and what is bound to it."""

    node: NodeObject
    load: Load


def scores(wanted: Wanted, candidates: Sequence[Candidate]) -> list[int]:
    """Score nodes that have passed the filter, in their order; more is better."""
    selection = wanted.selection
    taints = [len(selection.untolerated(each.node.taints, _DISCOURAGING)) for each in candidates]
    affinity = [selection.preference(each.node.name, each.node.labels) for each in candidates]
    most_taints, most_affinity = max(taints, default=0), max(affinity, default=0)
    return [
        _LEAST_ALLOCATED * least_allocated(wanted.load, candidate)
        + _BALANCED * balanced_allocation(wanted.load, candidate)
        + _TAINTS * (_BEST - _normalized(untolerated, most_taints))
        + _AFFINITY * _normalized(preferred, most_affinity)
        for candidate, untolerated, preferred in zip(candidates, taints, affinity, strict=True)
    ]


def _normalized(score: int, most: int) -> int:
    return score * _BEST // most if most else 0


def least_allocated(pod: Load, candidate: Candidate) -> int:
    """Score the share of CPU and memory that stays free; a resource that the node lacks does not count."""
    allocatable, load = candidate.node.allocatable, candidate.load
    wanted = {"cpu": load.scored_cpu + pod.scored_cpu, "memory": load.scored_memory + pod.scored_memory}
    free = [
        max(capacity - requested, 0) * _BEST // capacity
        for name, requested in wanted.items()
        if (capacity := allocatable.get(name, 0))
    ]
    return sum(free) // len(free) if free else 0


def balanced_allocation(pod: Load, candidate: Candidate) -> int:
    """Score how much nearer a pod brings the shares of CPU and memory; 0 for one that requests none."""
    asked = {name: pod.amounts.get(name, 0) for name in ("cpu", "memory")}
    if not any(asked.values()):
        return 0
    allocatable, bound = candidate.node.allocatable, candidate.load.amounts
    before = _balance({name: bound.get(name, 0) for name in asked}, allocatable)
    after = _balance({name: bound.get(name, 0) + amount for name, amount in asked.items()}, allocatable)
    return _BEST // 2 + int((_BEST // 2 + after - before) / 2)


def _balance(amounts: Amounts, allocatable: Amounts) -> int:
    shares = [
        min(amount / capacity, 1.0)
        for name, amount in amounts.items()
        if (capacity := allocatable.get(name, 0))
    ]
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
    return int((1 - deviation) * _BEST)
