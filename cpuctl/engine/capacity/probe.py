"""Pods made up to find out what a node would still admit."""

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

# What running pods hold that others cannot have: exclusive CPUs, memory, devices.


Allocations = dict[tuple[str, str], int]
"""Amounts by container and resource: CPUs, bytes or devices."""


def known_uids(node: Node) -> set[str]:
    """Name the UIDs that a node has heard of."""
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
    """Return whether a pod holds what it held before: not of all pods it is known what they ask for."""
    return all(now.get(key, 0) >= amount for key, amount in before.items())


def by_location(node: Node, pods: Sequence[StoredPod]) -> Iterator[list[StoredPod]]:
    """Yield the pods of every NUMA node, socket and all by what they hold there: most first, then least."""
    for nodes in _node_sets(node):
        amounts = {pod.uid: _held_in(node, pod, nodes) for pod in pods}
        inside = sorted((pod for pod in pods if any(amounts[pod.uid])), key=lambda pod: amounts[pod.uid])
        yield inside[::-1]
        yield inside


def _node_sets(node: Node) -> list[NodeMask]:
    """List sets of NUMA nodes: each alone, those that a socket has CPUs of, all."""
    # A package of unknown number that is taken for a node (-1) is in no set.
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
    """Determine in which steps requests for exclusive CPUs can grow: whole cores if the policy wants them.

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
    """Report nothing."""
