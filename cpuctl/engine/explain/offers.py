"""What each hint provider offered in a round of the Topology Manager, and what its policy accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Fit, Hint, HintList, HintRule
from cpuctl.engine.hints.topology_manager import Answer, HintRound, MergeResult, TopologyManager
from cpuctl.engine.masks import NODE_0, NodeMask
from cpuctl.engine.node import Node
from cpuctl.engine.pod_level import guaranteed_equivalent
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.engine.memory.tables import MemoryRequest

LISTED_NODES = 10
"""Hints on machines with more NUMA nodes than this are not listed: there are up to 2^nodes of them."""

SINGLE = "single-numa-node"


_NOTHING = Quantity()


class OfferStatus(StrEnum):
    """What a policy can do with an offer; a provider without hints counts as having no preference."""

    NO_PREFERENCE = "no preference"
    NO_HINTS = "no hints"
    IMPOSSIBLE = "impossible"
    UNUSABLE = "unusable"
    USABLE = "usable"


class Offer(Record):
    """The hints of one provider for one resource, and the ``rule`` that generates them, if there is one.

    ``hints`` is None if there are too many to list, and so is ``usable``: the preferred sets of NUMA nodes
    (masks), of one node if the policy requires that. ``request`` is the amount requested, in CPUs, bytes or
    devices, None if unknown.
    """

    provider: str
    resource: str
    status: OfferStatus
    hints: tuple[Hint, ...] | None = ()
    usable: frozenset[NodeMask] | None = frozenset()
    rule: HintRule | None = None
    request: int | None = None


class Round(Record):
    """One round: the offers for a container or (None) the pod, and the merged result."""

    container: Container | None
    offers: tuple[Offer, ...]
    merged: MergeResult

    @property
    def name(self) -> str:
        """The container's name, empty for the pod."""
        return self.container.name if self.container else ""


def round_of(hint_round: HintRound, pod: StoredPod, node: Node) -> Round:
    """Interpret one round of a trace as the Topology Manager of the node does."""
    offers = (
        replace(offer, request=_request(offer, pod, hint_round.container, node))
        for name, answer in hint_round.answers.items()
        for offer in _offers(name, answer, node.topology_manager)
    )
    return Round(container=hint_round.container, offers=tuple(offers), merged=hint_round.merged)


def _request(offer: Offer, pod: StoredPod, container: Container | None, node: Node) -> int | None:
    """Return the amount requested, if the provider has a preference and the amount is known."""
    if offer.status is OfferStatus.NO_PREFERENCE:
        return None

    from cpuctl.engine.cpu.hints import CPUHints
    from cpuctl.engine.memory.tables import is_memory

    if isinstance(offer.rule, CPUHints):
        return offer.rule.request
    if is_memory(offer.resource):
        return (memory_requested(node, pod, container) or {}).get(offer.resource)

    from cpuctl.pods.requests import pod_limits

    limits = pod_limits(pod, overhead=False) if container is None else container.resources.requests
    requested = limits.get(offer.resource)
    return requested.value if requested else None


def _offers(provider: str, answer: Answer, manager: TopologyManager) -> Iterator[Offer]:
    if not answer:
        status = OfferStatus.NO_PREFERENCE if answer is None else OfferStatus.NO_HINTS
        yield Offer(provider=provider, resource=provider, status=status)
    for resource, hints in (answer or {}).items():
        yield _offer(provider, resource, hints, manager)


def _offer(provider: str, resource: str, hints: HintList | None, manager: TopologyManager) -> Offer:
    if hints is None:
        return Offer(provider=provider, resource=resource, status=OfferStatus.NO_PREFERENCE)
    if isinstance(hints, Sequence):
        return _of_list(provider, resource, tuple(hints), manager)
    return _of_rule(provider, resource, hints, manager)


def _of_list(provider: str, resource: str, hints: tuple[Hint, ...], manager: TopologyManager) -> Offer:
    status = OfferStatus.UNUSABLE if hints else OfferStatus.IMPOSSIBLE
    usable = frozenset(_usable(hints, manager))
    if any(hint.nodes is None and hint.preferred for hint in hints):
        status = OfferStatus.NO_PREFERENCE
    elif usable:
        status = OfferStatus.USABLE
    return Offer(provider=provider, resource=resource, status=status, hints=hints, usable=usable)


def _of_rule(provider: str, resource: str, rule: HintRule, manager: TopologyManager) -> Offer:
    listed = None if manager.everything.bit_count() > LISTED_NODES else tuple(rule)
    usable: frozenset[NodeMask] | None = None
    if listed is not None:
        usable = frozenset(_usable(listed, manager))
    elif manager.policy == SINGLE:
        single = (NODE_0 << node for node in CPUSet(manager.everything))
        usable = frozenset(node for node in single if node in rule and rule.prefers(node))
    if not rule:
        status = OfferStatus.IMPOSSIBLE
    else:
        from cpuctl.engine.hints.merge import best_preferred

        some = bool(best_preferred([rule], Fit()) if usable is None else usable)
        status = OfferStatus.USABLE if some else OfferStatus.UNUSABLE
    return Offer(provider=provider, resource=resource, status=status, hints=listed, usable=usable, rule=rule)


def _usable(hints: Sequence[Hint], manager: TopologyManager) -> Iterator[NodeMask]:
    """Yield the preferred sets, of one node if the policy requires a single node."""
    for hint in hints:
        if (
            hint.preferred
            and hint.nodes is not None
            and (manager.policy != SINGLE or hint.nodes.bit_count() == 1)
        ):
            yield hint.nodes


def memory_requested(node: Node, pod: StoredPod, container: Container | None) -> MemoryRequest | None:
    """Return the request that the Memory Manager reads for a container, or (None) for the pod, in bytes.

    It is None if an amount is not written as a whole number. It is empty for a running container whose status
    has no amounts, if the kubelet reads them from there.
    """
    from cpuctl.engine.memory.pod_level import pod_level_request
    from cpuctl.engine.memory.tables import container_request, pod_request

    pod = node.pod_rules.managed(pod)
    if container is not None:
        container = next(each for each in pod.all_containers if each.name == container.name)
    divided = node.memory.rules.divides(pod)
    if container is None:
        return pod_level_request(pod) if divided else pod_request(pod)
    if divided and not guaranteed_equivalent(container):
        return {}
    return container_request(container)


def whole_cpus(requests: Mapping[str, Quantity]) -> int:
    """Return the number of CPUs requested, 0 if it is not a whole number."""
    request = requests.get("cpu", _NOTHING)
    return request.value if request.is_integral_cpu else 0
