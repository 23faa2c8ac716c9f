"""Hypothetical pods for finding out what a node would still admit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.memory.state import nodes_of
from cpuctl.engine.node import Node
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity

# What running pods hold exclusively: CPUs, memory, devices.


Allocations = dict[tuple[str, str], int]
"""Amounts by container and resource: CPUs, bytes or devices."""


def known_uids(node: Node) -> set[str]:
    """Return the UIDs that a node knows."""
    return {*node.active, *node.cpu.state.assignments, *node.memory.state.blocks, *node.devices.state.held}


def held_cpus(node: Node, pod: StoredPod) -> int:
    """Return the exclusive CPUs (a mask) of a running pod."""
    held = 0
    for cpus in node.cpu.state.assignments.get(pod.uid, {}).values():
        held |= cpus
    return held


def allocations(node: Node, pod: StoredPod) -> Allocations:
    """Count what each container of a pod holds."""
    counts: Allocations = {}
    for container, cpus in node.cpu.state.assignments.get(pod.uid, {}).items():
        counts[container, "cpu"] = cpus.bit_count()
    for container, blocks in node.memory.state.blocks.get(pod.uid, {}).items():
        for block in blocks:
            counts[container, block.type] = counts.get((container, block.type), 0) + block.size
    for container, devices in node.devices.state.held.get(pod.uid, {}).items():
        for resource, held in devices.items():
            counts[container, resource] = held.bit_count()
    return counts


def as_much(now: Allocations, before: Allocations) -> bool:
    """Return whether a pod holds at least what it held before; the requests of some pods are unknown."""
    return all(now.get(key, 0) >= amount for key, amount in before.items())


def by_location(node: Node, pods: Sequence[StoredPod]) -> Iterator[list[StoredPod]]:
    """Yield the pods of each NUMA node, socket and the machine, sorted by what they hold: down, then up."""
    for nodes in _node_sets(node):
        amounts = {pod.uid: _held_in(node, pod, nodes) for pod in pods}
        inside = sorted((pod for pod in pods if any(amounts[pod.uid])), key=lambda pod: amounts[pod.uid])
        yield inside[::-1]
        yield inside


def _node_sets(node: Node) -> list[NodeMask]:
    """List sets of NUMA nodes: each alone, those in which a socket has CPUs, and all."""
    # A package of unknown number that is treated as a node (-1) is in no set.
    nodes = {number: cpus for number, cpus in node.topology.numa_nodes.items() if number >= 0}
    sockets = (
        CPUSet.of(number for number, cpus in nodes.items() if cpus & socket).mask
        for socket in node.topology.sockets.values()
    )
    masks = (*(1 << number for number in nodes), *sockets, CPUSet.of(nodes).mask)
    return list(dict.fromkeys(map(NodeMask, masks)))


def _held_in(node: Node, pod: StoredPod, nodes: NodeMask) -> tuple[int, int]:
    cpus = held_cpus(node, pod) & node.topology.in_numa_nodes(nodes)
    blocks = node.memory.state.blocks.get(pod.uid, {}).values()
    memory = sum(block.size for held in blocks for block in held if nodes_of(block) & nodes)
    return cpus.bit_count(), memory


_NAME = "probe"


Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback with what is being tried, how much is done, and the total (0 if unknown)."""


def settled(node: Node) -> Node:
    """Return a copy of a node that has taken back what pods that ended or were refused still hold."""
    copy = node.copy()
    copy.clean_up()
    return copy


def free_cpus(node: Node) -> CPUMask:
    """Return the CPUs (a mask) that can still become exclusive."""
    return node.state.default & ~node.policy.reserved if node.policy else NO_CPUS


def exclusive_pod(node: Node, cpus: int) -> StoredPod:
    """Make a Guaranteed pod of one container that requests whole CPUs and one byte of memory."""
    amounts = {"cpu": Quantity.from_value(cpus), "memory": Quantity.from_value(1)}
    container = Container(name=_NAME, resources=ResourceRequirements(requests=amounts, limits=amounts))
    pod = Pod(name=_NAME, uid=next(_unused_uids(node)), containers=(container,))
    return stored_pod(pod, PodRules(node=node.pod_rules))


def copies_of(node: Node, pod: StoredPod) -> Iterator[StoredPod]:
    """Yield an endless series of copies of a pod, with UIDs that the node does not know."""
    return (pod._replace(uid=uid) for uid in _unused_uids(node))


def _unused_uids(node: Node) -> Iterator[str]:
    known = known_uids(node)
    return (name for name in (f"{_NAME}-{number}" for number in count()) if name not in known)


def shape_of(pod: StoredPod) -> Hashable:
    """Return what decides how a node treats a pod: equal for pods that differ only in their names."""
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
    """Report nothing."""
