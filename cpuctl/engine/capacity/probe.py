"""Pods that nobody has asked for: they find out what a node would still take."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import count
from typing import TypeAlias

from cpuctl.engine.capacity.allocations import known_uids
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.engine.node import Node
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity

_NAME = "probe"


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called often, with what is being tried and how much of how much is done (0 of 0: not known)."""


def settled(node: Node) -> Node:
    """Return a copy of a node that has taken back what pods hold that are gone or were refused."""
    copy = node.copy()
    copy.clean_up()
    return copy


def free_cpus(node: Node) -> CPUMask:
    """Return the CPUs (a mask) that can still become exclusive."""
    return node.state.default & ~node.policy.reserved if node.policy else NO_CPUS


def request_step(node: Node) -> int:
    """Determine in which steps requests for exclusive CPUs can grow: whole cores where the policy wants them.

    The node has the static policy.
    """
    assert node.policy is not None
    return max(node.topology.cpus_per_core, 1) if node.policy.options.full_pcpus_only else 1


def exclusive_pod(node: Node, cpus: int) -> StoredPod:
    """Make a Guaranteed pod of one container that asks for whole CPUs, and for a byte of memory."""
    amounts = {"cpu": Quantity.from_value(cpus), "memory": Quantity.from_value(1)}
    container = Container(name=_NAME, resources=ResourceRequirements(requests=amounts, limits=amounts))
    pod = Pod(name=_NAME, uid=next(_unused_uids(node)), containers=(container,))
    return stored_pod(pod, PodRules(node=node.pod_rules))


def copies_of(node: Node, pod: StoredPod) -> Iterator[StoredPod]:
    """Yield copies of a pod that the node does not know, without end."""
    return (pod._replace(uid=uid) for uid in _unused_uids(node))


def _unused_uids(node: Node) -> Iterator[str]:
    known = known_uids(node)
    return (name for name in (f"{_NAME}-{number}" for number in count()) if name not in known)


def shape_of(pod: StoredPod) -> Hashable:
    """Return what decides how a node treats a pod: equal for pods that differ in their names only."""
    return (
        pod.qos_class,
        _amounts(pod.overhead),
        None if pod.resources is None else _requirements(pod.resources),
        tuple((each.kind, _requirements(each.resources)) for each in pod.all_containers),
        (pod.namespace, pod.resource_claims) if pod.resource_claims else None,
    )


def _requirements(resources: ResourceRequirements) -> Hashable:
    return _amounts(resources.requests), _amounts(resources.limits), resources.claims


def _amounts(amounts: Mapping[str, Quantity]) -> Hashable:
    return frozenset(amounts.items())


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Report to nobody."""
