"""Filter and score of the scheduler plugin NodeResourceTopologyMatch.

Rule: ``pkg/noderesourcetopology`` of kubernetes-sigs/scheduler-plugins 903da7d. The plugin decides only by
the *available* resources in an object's zones of type Node. If it would crash, or return a score that the
scheduler refuses, the answer reports that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from math import comb
from statistics import variance
from typing import NamedTuple

from cpuctl.errors import InputError
from cpuctl.pods.model import ContainerKind, Pod, QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import NUMA_ZONE, NodeTopology, numa_id_of, topology_settings

NANO = 10**9
_BEST = 100
_FARTHEST = 255
"""The distance between zones without a given cost."""
_MOST_ZONES = 64
_MOST_COMBINED = 200_000
"""The maximum number of combinations of NUMA nodes tried; 16 nodes have at most 12,870 of one size."""
_ALWAYS_THERE = ("cpu", "memory", "pods", "ephemeral-storage")
_HOST_LEVEL = ("ephemeral-storage", "storage")

Nanos = Mapping[str, int]
"""Amounts by resource, in units of 10^-9, the finest resolution of quantities."""


class Strategy(StrEnum):
    """How the plugin scores nodes (``scoringStrategy.type``)."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    BALANCED_ALLOCATION = "BalancedAllocation"
    LEAST_NUMA_NODES = "LeastNUMANodes"


class Scoring(NamedTuple):
    """A strategy, and the weights of resources; the default weight is 1."""

    strategy: Strategy = Strategy.LEAST_ALLOCATED
    weights: tuple[tuple[str, int], ...] = ()

    def weight(self, name: str) -> int:
        """Return the weight of a resource; a weight below 1 is ignored."""
        return max(dict(self.weights).get(name, 1), 1)


class Part(NamedTuple):
    """One container: its kind, which determines messages, and its requests."""

    name: str
    kind: ContainerKind
    requests: Nanos


class TopologyRequest(NamedTuple):
    """The parts of a pod that the plugin uses; ``whole`` are its requests if the scope is the pod."""

    qos: QosClass
    parts: tuple[Part, ...]
    whole: Nanos

    @classmethod
    def of(cls, pod: Pod) -> TopologyRequest:
        """Return the request of a pod; pod-level resources only affect its class."""
        parts = tuple(
            Part(
                each.name, each.kind, {name: amount.nano for name, amount in each.resources.requests.items()}
            )
            for each in pod.all_containers
        )
        whole = _sum(part.requests for part in parts if part.kind is ContainerKind.APP)
        for part in parts:
            # Sidecars count like all init containers: the largest, not the sum.
            if part.kind is not ContainerKind.APP:
                for name, amount in part.requests.items():
                    whole[name] = max(amount, whole.get(name, 0))
        return cls(pod_qos(pod).qos_class, parts, _sum((whole, _nanos(pod.overhead))))

    @property
    def unseen(self) -> bool:
        """Whether the plugin always accepts it: it requests no resource that could be on a NUMA node."""
        named = (name for part in self.parts for name in part.requests)
        return self.qos is QosClass.BEST_EFFORT and all(map(_native, named))


class NumaZone(NamedTuple):
    """The resources available on one NUMA node; they change while containers are placed."""

    id: int
    available: dict[str, int]
    costs: Mapping[int, int]


class Unaligned(NamedTuple):
    """Why a node is filtered out: the plugin's message, and the container and resource that do not fit."""

    message: str
    container: str = ""
    resource: str = ""

    @property
    def crash(self) -> bool:
        """Whether the scheduler crashes instead: then no resource is missing."""
        return not self.resource


class TopologyScore(NamedTuple):
    """A score, 0 to 100; ``failure`` is what happens instead of scoring."""

    value: int
    failure: str = ""


class PluginCrashError(Exception):
    """The plugin would cause a Go panic, which ends the scheduler."""


def numa_zones(topology: NodeTopology) -> list[NumaZone]:
    """Return the NUMA nodes that the plugin sees; raise PluginCrashError for one with the id 64."""
    zones = []
    for zone in topology.zones:
        number = zone.numa_id if zone.type == NUMA_ZONE else None
        if number is None or number > _MOST_ZONES:
            continue
        if number == _MOST_ZONES:
            raise PluginCrashError(f"{zone.name}: index out of range [64] with length 64")
        costs = {other: cost for name, cost in zone.costs if (other := numa_id_of(name)) is not None}
        zones.append(NumaZone(number, {each.name: each.available.nano for each in zone.resources}, costs))
    # All zones of one id get the costs of the last one.
    last = {zone.id: zone.costs for zone in zones}
    return [zone._replace(costs=last[zone.id]) for zone in zones]


def filter_topology(
    request: TopologyRequest, topology: NodeTopology | None, node_resources: Collection[str]
) -> Unaligned | None:
    """Return why the plugin filters out a node; None if it accepts the node.

    *node_resources* are the names of the Node's allocatable resources. Raise PluginCrashError if the plugin
    crashes.
    """
    if request.unseen or topology is None:
        return None
    settings = topology_settings(topology)
    if settings.policy != "single-numa-node":
        return None
    zones = numa_zones(topology)
    known = {name for name in node_resources if _counted(name)}.union(_ALWAYS_THERE)
    if settings.scope == "pod":
        _, missing = _fitting_zone(request.whole, request.qos, zones, known)
        return Unaligned("cannot align pod", resource=missing) if missing else None
    for part in request.parts:
        number, missing = _fitting_zone(part.requests, request.qos, zones, known)
        if missing:
            kind = "" if part.kind is ContainerKind.APP else f"{part.kind} "
            return Unaligned(f"cannot align {kind}container", part.name, missing)
        if part.kind is ContainerKind.APP:
            _take(part.requests, request.qos, [zone for zone in zones if zone.id == number])
    return None


def _fitting_zone(
    requests: Nanos, qos: QosClass, zones: Sequence[NumaZone], known: Collection[str]
) -> tuple[int, str]:
    """Return the lowest suitable NUMA node, and the resource that rules out the last one, if any."""
    suiting = (1 << _MOST_ZONES) - 1
    for name, amount in sorted(requests.items()):
        if not amount:
            continue
        if name not in known:
            return -1, name
        listing = [zone for zone in zones if name in zone.available]
        if not listing and (name in _HOST_LEVEL or not _native(name)):
            continue
        suiting &= sum({1 << zone.id for zone in listing if _suits(qos, name, amount, zone.available[name])})
        if not suiting:
            return -1, name
    return (suiting & -suiting).bit_length() - 1, ""


def _suits(qos: QosClass, name: str, amount: int, available: int) -> bool:
    return (qos is not QosClass.GUARANTEED and _affine(name)) or available >= amount


def _take(requests: Nanos, qos: QosClass, zones: Iterable[NumaZone]) -> None:
    for zone in zones:
        for name, amount in requests.items():
            if name in zone.available and (qos is QosClass.GUARANTEED or not _affine(name)):
                zone.available[name] -= amount


def score_topology(
    request: TopologyRequest, topology: NodeTopology | None, scoring: Scoring
) -> TopologyScore:
    """Score a node; the score is not normalized afterwards."""
    if request.qos is not QosClass.GUARANTEED:
        return TopologyScore(_BEST)
    if topology is None:
        return TopologyScore(0)
    try:
        return _score(request, topology, scoring)
    except PluginCrashError as crash:
        return TopologyScore(0, f"the scheduler crashes: {crash}")


def _score(request: TopologyRequest, topology: NodeTopology, scoring: Scoring) -> TopologyScore:
    settings = topology_settings(topology)
    by_pod = settings.scope == "pod"
    requests = [request.whole] if by_pod else [part.requests for part in request.parts]
    if scoring.strategy is Strategy.LEAST_NUMA_NODES:
        score = _least_numa_nodes(requests, numa_zones(topology), settings.most_numa_nodes)
        if score < 0:
            # A pod needs more NUMA nodes than the object allows: 8 by default.
            return TopologyScore(0, f"the scheduler rejects the score: {score} is less than 0")
        return TopologyScore(score)
    if settings.policy != "single-numa-node":
        return TopologyScore(0)
    zones = numa_zones(topology)
    if any(zone.id >= len(zones) for zone in zones):
        raise PluginCrashError(f"index out of range: NUMA node {max(zone.id for zone in zones)}")
    scores = [_worst_zone(each, zones, scoring) for each in requests]
    if None in scores:
        return TopologyScore(
            0, "the scheduler rejects the score: the variance of one resource is not a number"
        )
    return TopologyScore(sum(each or 0 for each in scores) // len(scores))


def _worst_zone(requests: Nanos, zones: Sequence[NumaZone], scoring: Scoring) -> int | None:
    """Return the lowest nonzero score of a zone, or 0; None if a score is not a number."""
    lowest = 0
    for zone in zones:
        if scoring.strategy is Strategy.BALANCED_ALLOCATION:
            score = _balanced(requests, zone.available)
            if score is None:
                return None
        else:
            score = _weighted(requests, zone.available, scoring)
        if not lowest or 0 < score < lowest:
            lowest = score
    return lowest


def _weighted(requests: Nanos, available: Nanos, scoring: Scoring) -> int:
    total = weights = 0
    for name, amount in requests.items():
        space = available.get(name, 0)
        share = 0
        if space and amount <= space:
            taken = _value(amount)
            counted = taken if scoring.strategy is Strategy.MOST_ALLOCATED else _value(space) - taken
            share = counted * _BEST // _value(space)
        total += share * scoring.weight(name)
        weights += scoring.weight(name)
    if not weights:
        raise PluginCrashError("integer divide by zero: a container requests nothing")
    return total // weights


def _balanced(requests: Nanos, available: Nanos) -> int | None:
    shares = []
    for name, amount in requests.items():
        space = _value(available.get(name, 0))
        share = _value(amount) / space if space else 1.0
        if share > 1:
            return 0
        shares.append(share)
    return int((1 - variance(shares)) * _BEST) if len(shares) > 1 else None


def _value(nanos: int) -> int:
    """Round up to whole units, like the plugin."""
    return -(-nanos // NANO)


def _least_numa_nodes(requests: Iterable[Nanos], zones: Sequence[NumaZone], most: int) -> int:
    count, nearest = 0, True
    for each in requests:
        if not any(name in zone.available for name in each for zone in zones):
            continue
        found = fewest_zones(each, zones)
        if found is None:
            return 0
        nearest &= found.nearest
        count = max(count, len(found.ids))
        _take_in_order(each, zones, found.ids)
    return least_numa_score(count, most, nearest=nearest) if count else _BEST


def least_numa_score(count: int, most: int, *, nearest: bool) -> int:
    """Score the number of NUMA nodes needed, and whether no combination of that size is closer together."""
    unit = _BEST // most
    return _BEST - count * unit + (unit // 2 if nearest else 0)


class FewestZones(NamedTuple):
    """The fewest NUMA nodes that fit a request, and whether no combination of that size is closer."""

    ids: tuple[int, ...]
    nearest: bool


def fewest_zones(requests: Nanos, zones: Sequence[NumaZone]) -> FewestZones | None:
    """Return the fewest NUMA nodes that together fit a request, the closest of these; None if none do."""
    members = [at for at, zone in enumerate(zones) if all(name in zone.available for name in requests)]
    for count in range(_lower_bound(requests, [zones[at] for at in members]), len(members) + 1):
        _refuse_too_many(len(zones), count)
        fits = [
            chosen
            for chosen in combinations(members, count)
            if all(
                sum(zones[at].available[name] for at in chosen) >= amount for name, amount in requests.items()
            )
        ]
        if not fits:
            continue
        nearest = shortest_distance(zones, combinations(range(len(zones)), count), count)
        # The first of the closest ones is used, even if given distances exceed the farthest.
        best = min(fits, key=lambda chosen: _distance(zones, chosen))
        distance = _distance(zones, best)
        if distance >= (_FARTHEST + 1) * count**2:
            continue
        ids = tuple(sorted({zones[at].id for at in best}))
        return FewestZones(ids, distance == nearest)
    return None


def _refuse_too_many(zones: int, count: int) -> None:
    """Raise InputError if the plugin itself would take minutes: no node has this many NUMA nodes."""
    if (number := comb(zones, count)) > _MOST_COMBINED:
        what = f"{number:,} combinations of {count} out of {zones} NUMA nodes"
        raise InputError(
            f"{Strategy.LEAST_NUMA_NODES} would try {what}",
            where="NodeResourceTopology",
            hint="choose another strategy",
        )


def _lower_bound(requests: Nanos, zones: Sequence[NumaZone]) -> int:
    """Return a lower bound of zones that fit the request; more than exist if all together do not."""
    bound = 1
    for name, amount in requests.items():
        held, count = 0, 0
        for available in sorted((zone.available[name] for zone in zones), reverse=True):
            if held >= amount:
                break
            held, count = held + available, count + 1
        bound = max(bound, count if held >= amount else len(zones) + 1)
    return bound


def shortest_distance(zones: Sequence[NumaZone], chosen: Iterable[Sequence[int]], count: int) -> int:
    """Return the smallest sum of costs among choices of *count* zones, at most that of farthest distances."""
    return min(_FARTHEST * count**2, *(_distance(zones, each) for each in chosen))


def _distance(zones: Sequence[NumaZone], chosen: Sequence[int]) -> int:
    return sum(zones[one].costs.get(zones[other].id, _FARTHEST) for one in chosen for other in chosen)


def _take_in_order(requests: Nanos, zones: Sequence[NumaZone], ids: Iterable[int]) -> None:
    """Take from one zone after another; the plugin uses an id as an index of its list."""
    for name, amount in requests.items():
        left = amount
        for number in ids:
            if not left:
                break
            if number >= len(zones):
                raise PluginCrashError(f"index out of range [{number}] with length {len(zones)}")
            available = zones[number].available
            if name in available:
                taken = min(left, available[name])
                available[name] -= taken
                left -= taken


def _nanos(amounts: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: amount.nano for name, amount in amounts.items()}


def _sum(amounts: Iterable[Nanos]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total


def _native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _affine(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _counted(name: str) -> bool:
    """Return whether a scheduler counts a Node's resource in addition to those that it always knows."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))
