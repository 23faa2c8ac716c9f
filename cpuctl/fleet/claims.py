"""Resource claims on a fleet: which nodes the scheduler's plugin accepts, and which node has which claim.

Rule: kubernetes ``pkg/scheduler/framework/plugins/dynamicresources`` in 1.36. Claims belong to the cluster:
one that has been allocated on a node keeps all pods that name it on that node.
"""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.documents.cursor import Cursor
from cpuctl.dra.allocation import Unsatisfied
from cpuctl.dra.driver import DRIVER
from cpuctl.dra.node import Key, NodeClaims
from cpuctl.dra.reading import decode_claim_objects, node_names
from cpuctl.engine.outcome import Pending
from cpuctl.inputs.sources import Sources
from cpuctl.operations.claims import claims_of_kubelet
from cpuctl.phrases import few
from cpuctl.scheduler.decisions import bound_load, shortages
from cpuctl.scheduler.model import Load, NodeObject

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Pod
    from cpuctl.pods.reading.manifests import DRAObject

_CANNOT, _ELSEWHERE = "cannot allocate all claims", "resourceclaim not available on the node"
_HOSTNAME = "--hostname-override"
_PREFERS_SINCE = 35
"""The first minor whose scheduler scores nodes by the alternatives that claims get there."""
_MOST_ALTERNATIVES = 8
"""The most alternatives of one request (resource/v1, FirstAvailableDeviceRequestMaxSize)."""
_MOST_LISTED = 5
_Pool: TypeAlias = tuple[str, str]


class ServedClaims(NamedTuple):
    """What an admitted pod gets for its claims: CPUs by the pod's claim names, None if they are unknown.

    ``problem`` is why the pod does not start.
    """

    cpus: dict[str, str | None]
    problem: str = ""


class ClaimFit(NamedTuple):
    """The scheduler's verdict on a pod's claims on a node: why it cannot place the pod, or the node's score.

    ``load`` is the pod's load including its claims, None if they do not count. ``preference`` is higher for
    earlier alternatives.
    """

    reasons: tuple[str, ...] = ()
    load: Load | None = None
    preference: int = 0


class FleetClaims:
    """The objects that affect the claims of a fleet's pods, and which claims a plan has allocated."""

    def __init__(self, dra: Sequence[DRAObject], arguments: str) -> None:
        self._objects = decode_claim_objects(dra)
        self._dra = [(each, _pool(each)) for each in dra]
        self._pools: dict[str, set[_Pool]] = {}
        for each, pool in self._dra:
            if pool is not None:
                self._pools.setdefault(_slice_node(each), set()).add(pool)
        self._arguments = arguments
        self._named = node_names(dra)
        # Node selectors may distinguish any node from any other.
        self._by_name = any(_selects_nodes(each) for each in dra)
        self._allocated: set[Key] = set()
        self._found: dict[str, list[str]] = {}
        self._why: dict[str, str] = {}

    def key(self, node: str) -> Hashable:
        """Return a key that distinguishes nodes whose claims or slices differ."""
        return node if self._by_name or node in self._named else ""

    def serve(self, names: Sequence[str], planning: Planning, node: Node) -> None:
        """Serve claims on a node whose kubelet has started, and which stands for those with *names*.

        Raise InputError for an invalid claim, class or slice.
        """
        own, kubelet, name = Sources(), planning.kubelet, names[0]
        config = kubelet.config if planning.sources.names_kubelet else None
        flags = f"{self._arguments} {_HOSTNAME} {shlex.quote(name)}".strip()
        running = planning.initial.running
        claims = claims_of_kubelet(
            flags, self._of_node(name), planning.source, (config, kubelet.gates), own, running=running
        )
        claims.know_drivers(pool[0] for pools in self._pools.values() for pool in pools)
        node.claims = claims
        for text in own.warnings:
            self._found.setdefault(text, []).extend(names)

    def _of_node(self, name: str) -> list[DRAObject]:
        """Leave out slices of pools that have none for this node: a fleet has many."""
        pools = {None, *self._pools.get("", ()), *self._pools.get(name, ())}
        return [each for each, pool in self._dra if pool in pools]

    def shape(self, pod: Pod) -> Hashable:
        """Return everything apart from the node that affects a pod's claims."""
        if not pod.resource_claims:
            return None
        named = [each.claim for each in pod.resource_claims if each.claim]
        there = tuple((pod.namespace, name) in self._allocated for name in named)
        own = (
            pod.uid if any((pod.uid, each.name) in self._objects.made for each in pod.resource_claims) else ""
        )
        return pod.namespace, pod.resource_claims, there, own

    def fit(self, pod: Pod, kubelet: Node, node: NodeObject, load: Load) -> ClaimFit:
        """Return the scheduler's verdict on a pod's claims on a node with a *load*.

        A node for which this is unknown passes: its answer is then unknown.
        """
        claims = _served(kubelet).copy()
        keys = {(pod.namespace, each.claim) for each in pod.resource_claims if each.claim}
        if any(key in self._allocated and key not in claims.held for key in keys):
            return ClaimFit((_ELSEWHERE,))
        known = [self._objects.claims.get(key) for key in keys - claims.held.keys()]
        found = claims.allocate(pod)
        if isinstance(found, Pending):
            if any(each is not None and each.results for each in known):
                return ClaimFit((_ELSEWHERE,))
            why = claims.pods[pod.uid].why
            stated = why.scheduler if isinstance(why, Unsatisfied) else ""
            return ClaimFit((stated or _CANNOT,))
        preference = _preference(claims, pod) if claims.rules.minor >= _PREFERS_SINCE else 0
        counted = claims.counted(pod)
        if not counted.counted_claims:
            return ClaimFit(preference=preference)
        whole = bound_load(counted)
        return ClaimFit(tuple(shortages(whole.amounts, node.allocatable, load)), whole, preference)

    def explain(self, pod: Pod, node: Node, name: str) -> None:
        """Remember, with numbers, why a pending pod gets no claims on a node."""
        found = _served(node).copy().allocate(pod) if len(self._why) < _MOST_LISTED else None
        if isinstance(found, Pending):
            self._why[pod.full_name] = f"{name}: {found.message}"

    def bind(self, pod: Pod) -> None:
        """Remember that a pod's claims are allocated now."""
        self._allocated |= {(pod.namespace, each.claim) for each in pod.resource_claims if each.claim}

    def doubts(self) -> Iterator[str]:
        """Yield warnings about nodes, and why pods get no claims on the first of them."""
        for text, names in list(self._found.items())[:_MOST_LISTED]:
            yield f"{few(names)}: {text}"
        yield from (f"{pod} on {why}" for pod, why in self._why.items())


def _preference(claims: NodeClaims, pod: Pod) -> int:
    """Sum up the scheduler's score for the alternatives that a pod's claims get (``computeScore``)."""
    total = 0
    for each in claims.pods[pod.uid].distinct if pod.uid in claims.pods else ():
        granted = {grant.request for grant in each.grants}
        for request in claims.held[each.key].claim.requests:
            for number, alternative in enumerate(request.alternatives):
                if f"{request.name}/{alternative.name}" in granted:
                    total += _MOST_ALTERNATIVES - number
    return total


def served(node: Node, pod: Pod) -> ServedClaims | None:
    """Return what a pod gets for its claims on a node; None if it has no claims."""
    known = node.claims.pods.get(pod.uid) if isinstance(node.claims, NodeClaims) else None
    if known is None or not known.claims:
        return None
    cpus = {
        each.name: None if known.unknown else str(each.cpus)
        for each in known.claims
        if any(grant.device.driver == DRIVER for grant in each.grants)
    }
    return ServedClaims(cpus, known.problem)


def _served(node: Node) -> NodeClaims:
    assert isinstance(node.claims, NodeClaims), "they are served where a pod has any"
    return node.claims


def _pool(each: DRAObject) -> _Pool | None:
    """Return the driver and pool of a slice; None for other objects."""
    if each.kind != "ResourceSlice":
        return None
    spec = each.at.required("spec")
    return spec.required("driver").text(), spec.required("pool").required("name").text()


def _slice_node(each: DRAObject) -> str:
    """Return the node that a slice is for; empty if it is for several."""
    return each.at.required("spec").optional("nodeName", Cursor.text, "")


def _selects_nodes(each: DRAObject) -> bool:
    if each.kind != "ResourceSlice":
        return False
    spec = each.at.required("spec")
    return spec.get("nodeSelector") is not None or spec.get("perDeviceNodeSelection") is not None
