"""The scheduler plugin NodeResourceTopologyMatch in a plan for a fleet, and where it and kubelets differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.errors import UsageError
from cpuctl.fleet.topology_check import differences
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import topology_settings
from cpuctl.scheduler.topology_match import (
    NANO,
    PluginCrashError,
    Scoring,
    Strategy,
    TopologyRequest,
    Unaligned,
    filter_topology,
)

if TYPE_CHECKING:
    from cpuctl.engine.outcome import Verdict
    from cpuctl.scheduler.node_topology import NodeTopology, ZoneResource

OPTION = "--scheduler-plugin"
NAME = "noderesourcetopologymatch"
_FORM = f"{NAME}[,strategy=NAME][,RESOURCE=WEIGHT...][,cache=reserve]"
_WEIGHT = re.compile("[0-9]{1,9}")
_LOWEST = (
    "the plugin takes the lowest NUMA node with enough resources for each container in turn, but the kubelet "
    "merges the hints of its managers"
)


class PluginOptions(NamedTuple):
    """The plugin's configuration; ``reserves``: whether its cache is on (``cacheResyncPeriodSeconds``)."""

    scoring: Scoring = Scoring()
    reserves: bool = False

    @classmethod
    def parse(cls, text: str) -> PluginOptions:
        """Read ``noderesourcetopologymatch,strategy=MostAllocated,cpu=3,cache=reserve``.

        Raise UsageError for anything else.
        """
        name, *rest = text.split(",")
        if name.lower() != NAME:
            raise UsageError(f"expected {_FORM}, found {text!r}", where=OPTION)
        strategy, reserves, weights = Strategy.LEAST_ALLOCATED, False, []
        strategies = {each.lower(): each for each in Strategy}
        for part in rest:
            key, _, value = part.partition("=")
            if key == "strategy" and value.lower() in strategies:
                strategy = strategies[value.lower()]
            elif key == "cache" and value in ("reserve", "none"):
                reserves = value == "reserve"
            elif key not in ("", "strategy", "cache") and _WEIGHT.fullmatch(value):
                weights.append((key, int(value)))
            else:
                hint = f"strategies: {', '.join(Strategy)}; a weight is a whole number of up to 9 digits"
                raise UsageError(f"expected {_FORM}, found {part!r}", where=OPTION, hint=hint)
        return cls(Scoring(strategy, tuple(weights)), reserves)


class Topologies(NamedTuple):
    """What the plugin uses: its configuration, and objects by name, None if none are given.

    Without objects, it uses what an exporter would publish about the node.
    """

    options: PluginOptions
    published: Mapping[str, NodeTopology] | None = None


class WronglyFiltered(NamedTuple):
    """Nodes that the plugin filters out, but whose kubelets would admit the pod: number, the first, why."""

    number: int
    nodes: tuple[str, ...]
    why: str


class PluginView(NamedTuple):
    """The plugin's view of a pod: nodes that it filters out, and where it and kubelets differ."""

    filtered: tuple[tuple[Unaligned, int], ...] = ()
    wrongly_filtered: WronglyFiltered | None = None
    wrongly_passed: str = ""

    @property
    def crash(self) -> str:
        """How the filter crashes the scheduler, on any node; empty if it does not."""
        return next((refusal.message for refusal, _ in self.filtered if refusal.crash), "")


def plugin_refusal(
    request: TopologyRequest, topology: NodeTopology | None, node_resources: Collection[str]
) -> Unaligned | None:
    """Apply the plugin's filter; a crash of the scheduler rejects all nodes."""
    try:
        return filter_topology(request, topology, node_resources)
    except PluginCrashError as crash:
        return Unaligned(f"the scheduler crashes: {crash}")


def with_reserved(topology: NodeTopology, request: TopologyRequest) -> NodeTopology:
    """Subtract a pod's requests from every zone, as the reserve cache does (``cache/store.go``)."""
    return topology._replace(
        zones=tuple(
            zone._replace(
                resources=tuple(
                    each._replace(available=_less(each.available, request.whole.get(each.name, 0)))
                    for each in zone.resources
                )
            )
            for zone in topology.zones
        )
    )


def _less(available: Quantity, nanos: int) -> Quantity:
    return Quantity(max(available.nano - nanos, 0), -9) if nanos else available


def why_filtered(
    refusal: Unaligned,
    request: TopologyRequest,
    topology: NodeTopology,
    now: NodeTopology | None,
    *,
    reserves: bool,
) -> str:
    """Return why the plugin filters out a node whose kubelet would admit the pod.

    *topology* is what the plugin uses, *now* what an exporter would publish about the node.
    """
    if refusal.crash:
        return "the plugin cannot handle NUMA node 64"
    name = refusal.resource
    listing = _listing(topology, name)
    as_published = now is None or not _listing(now, name)
    if name == "memory" and not listing and as_published:
        return (
            "no zone lists memory because the kubelet's Memory Manager has policy None, and the plugin then "
            "rejects every pod that requests memory"
        )
    if name == "cpu" and not listing and as_published:
        return "no zone lists cpu because the kubelet's CPU Manager has policy none"
    if name and not listing and as_published:
        return f"no zone lists {name}"
    if now is not None and topology_settings(now).policy != topology_settings(topology).policy:
        published = topology_settings(topology).policy
        return f"the object says {published}, but the kubelet uses {topology_settings(now).policy}"
    if now is not None and topology.zones != now.zones:
        if reserves:
            return "the reserve cache has subtracted what pods request from every zone, not only from theirs"
        return f"the object does not match the node: {_first_difference(topology, now)}"
    if name == "cpu" and not any(each.allocatable.sign for each in listing):
        return "every zone has 0 CPUs because the kubelet's CPU Manager has policy none"
    requested = request.whole if not refusal.container else _of(refusal.container, request)
    if name == "cpu" and any(part.requests.get("cpu", 0) % NANO for part in request.parts):
        amount = Quantity(requested.get(name, 0), -9)
        return (
            f"the plugin looks for {amount.canonical()} CPUs on one NUMA node, but the kubelet does not "
            "align fractional CPUs"
        )
    return _LOWEST


def _listing(topology: NodeTopology, name: str) -> list[ZoneResource]:
    return [each for zone in topology.zones for each in zone.resources if each.name == name]


def _of(container: str, request: TopologyRequest) -> dict[str, int]:
    return next((dict(part.requests) for part in request.parts if part.name == container), {})


def why_passed(
    verdict: Verdict, request: TopologyRequest, topology: NodeTopology | None, now: NodeTopology | None
) -> str:
    """Return why the plugin passes a pod that the kubelet rejects; empty if it is not a rejection."""
    if not isinstance(verdict, Rejected):
        return ""
    if topology is None:
        return "the node has no NodeResourceTopology: the plugin lets every pod pass"
    if verdict.reason is RejectionReason.SMT_ALIGNMENT:
        return "zones show how many CPUs are free, but not which cores"
    if verdict.reason is not RejectionReason.TOPOLOGY_AFFINITY:
        return "zones describe only NUMA nodes"
    if now is not None and topology.zones != now.zones:
        return f"the object does not match the node: {_first_difference(topology, now)}"
    policy = topology_settings(topology).policy
    if policy != "single-numa-node":
        return f"the plugin filters only for single-numa-node, but the object has policy {policy}"
    if request.unseen:
        return "the plugin ignores BestEffort pods without devices"
    return _LOWEST


def _first_difference(topology: NodeTopology, now: NodeTopology) -> str:
    return str(next(differences(topology, now), "its zones are not those of the node"))
