"""The scheduler's view of nodes: their objects in the API server, and the pods bound to them."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log
from types import MappingProxyType
from typing import NamedTuple

from cpuctl.pods.manifest import manifest_of, owner_of
from cpuctl.pods.model import Pod
from cpuctl.pods.node_selection import Taint
from cpuctl.quantity import Quantity

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that represents ``spec.unschedulable``, which ``kubectl cordon`` sets."""

Amounts = Mapping[str, int]
"""Amounts by resource: CPU in milli-CPUs, all others in bytes or whole units."""


class NodeObject(NamedTuple):
    """A Node in the API server; the ``allocatable`` amounts include ``pods``."""

    name: str
    allocatable: Amounts
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    kubelet_version: str = ""


class Load(NamedTuple):
    """The total requests of the pods bound to a node.

    ``scored_cpu`` and ``scored_memory`` include defaults for containers without requests, as in scores.
    """

    pods: int = 0
    amounts: Amounts = MappingProxyType({})
    scored_cpu: int = 0
    scored_memory: int = 0

    def plus(self, other: "Load") -> "Load":
        """Add more pods."""
        amounts = dict(self.amounts)
        for name, amount in other.amounts.items():
            amounts[name] = amounts.get(name, 0) + amount
        return Load(
            self.pods + other.pods,
            amounts,
            self.scored_cpu + other.scored_cpu,
            self.scored_memory + other.scored_memory,
        )


def amount_of(name: str, quantity: Quantity) -> int:
    """Return an amount in the scheduler's unit."""
    return quantity.milli_value if name == "cpu" else quantity.value


# The default spreading of a controller's replicas over nodes and zones, if pods have no own constraints.
#
# Rule: ``PodTopologySpread`` with its default constraints (at most 3 more on a node than on another, at most
# 5 more in a zone, both only preferred), ``pkg/scheduler/framework/plugins/podtopologyspread`` of 1.36.
# Siblings are the pods of one ReplicaSet, ReplicationController or StatefulSet: a Service that selects one of
# them is assumed to select all of them and no others. Services that select pods without such a controller,
# and constraints of pods themselves, are ignored.

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_NAMED_SKEW, _ZONE_SKEW = 3, 5
_BEST = 100
_SPREAD = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Controllers whose selectors the scheduler looks up; a Deployment's pods are those of its ReplicaSet."""

Siblings = tuple[str, str]
"""The common key of one controller's replicas: the namespace, and kind and name of the controller."""


def siblings_of(pod: Pod) -> Siblings | None:
    """Return the key of a pod's controller; None if the scheduler does not spread the pod by default."""
    owner = owner_of(pod) or ""
    if owner.partition("/")[0] not in _SPREAD:
        return None
    written = manifest_of(pod)
    own = written is not None and written.spec.get("topologySpreadConstraints")
    return None if own else (pod.namespace, owner)


class Domain(NamedTuple):
    """A number of nodes in a zone by their labels, each with the same number of siblings of a pod.

    ``named`` shows whether they have a hostname label: without it, siblings there do not count.
    """

    nodes: int
    siblings: int
    zone: str | None = None
    named: bool = True


def spread_scores(candidates: Sequence[Domain], others: Iterable[Domain]) -> list[int]:
    """Score nodes that passed the filter, up to 100; *others* count only for their zones."""
    zones = dict.fromkeys((each.zone or "" for each in candidates), 0)
    for each in (*candidates, *others):
        if (zone := each.zone or "") in zones:
            zones[zone] += each.siblings * each.nodes
    by_name, by_zone = log(sum(each.nodes for each in candidates) + 2), log(len(zones) + 2)

    def count_in(place: Domain) -> int:
        score = 0.0
        if place.named:
            score += place.siblings * by_name + (_NAMED_SKEW - 1)
        if place.zone is not None:
            score += zones[place.zone] * by_zone + (_ZONE_SKEW - 1)
        return floor(score + 0.5)

    counts = list(map(count_in, candidates))
    most, least = max(counts, default=0), min(counts, default=0)
    return [_BEST * (most + least - each) // most if most else _BEST for each in counts]
