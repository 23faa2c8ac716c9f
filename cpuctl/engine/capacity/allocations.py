"""What running pods hold that others cannot have: exclusive CPUs, memory, devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.state import nodes_of
from cpuctl.engine.node import Node
from cpuctl.pods.model import StoredPod

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
