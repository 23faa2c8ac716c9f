"""What pods hold and where."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.engine.capacity.probe import allocations, by_location, held_cpus, known_uids
from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.machine.sources import read_machine
from tests.support.capacity_nodes import exclusive, kubelet, named, node_with, shared
from tests.support.topologies import mask


def memory(size: int, *nodes: int, kind: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=kind, size=size)


@pytest.fixture
def node() -> Node:
    """Make a node of two sockets of two NUMA nodes of four CPUs, on which pods hold CPUs and memory."""
    node = node_with(exclusive("active", 1))
    node.cpu.state.assignments = {
        "a": {"main": mask("1-2")},
        "b": {"main": mask("3"), "side": mask("4")},
        "c": {"main": mask("8-10")},
    }
    node.memory.state.blocks = {
        "d": {"main": (memory(5, 2), memory(1, 0, 1), memory(2, 2, kind="hugepages-2Mi"))},
        "e": {"main": (memory(6, 2), memory(3, 3))},
    }
    node.devices.state.held = {"f": {"main": {"example.com/card": 0b101}}}
    return node


def test_every_holder_is_found(node: Node) -> None:
    assert known_uids(node) == {"active", *"abcdef"}


def test_holdings_are_counted_by_container_and_resource(node: Node) -> None:
    node.memory.state.blocks["b"] = {"side": (memory(5, 2), memory(1, 0, 1))}
    node.devices.state.held["b"] = {"main": {"example.com/card": 0b101}}
    b = named("b")
    assert held_cpus(node, b) == mask("3-4")
    assert allocations(node, b) == {
        ("main", "cpu"): 1,
        ("side", "cpu"): 1,
        ("side", "memory"): 6,
        ("main", "example.com/card"): 2,
    }
    idle = shared("idle")
    assert (held_cpus(node, idle), allocations(node, idle)) == (0, {})


def test_pods_are_sorted_by_what_they_hold_in_a_place(node: Node) -> None:
    """CPUs count before memory, and huge pages as memory; pods that hold nothing there are left out."""
    pods = [named(name) for name in "abcde"]
    orders = ["".join(pod.name for pod in order) for order in by_location(node, pods)]
    assert list(zip(orders[::2], orders[1::2], strict=True)) == [
        ("abd", "dba"),  # NUMA node 0
        ("bd", "db"),
        ("cde", "edc"),
        ("e", "e"),
        ("bad", "dab"),  # a socket; the order of two pods that hold the same is not fixed
        ("ced", "dec"),
        ("cbaed", "deabc"),  # everything
    ]


def test_a_place_is_listed_once() -> None:
    """If the machine is one socket with one NUMA node, that is one place, not three."""
    node = start_node(read_machine("synthetic:4c").info, kubelet())
    assert isinstance(node, Node)
    node.admit(exclusive("a", 1))
    assert [[pod.name for pod in order] for order in by_location(node, [named("a")])] == [["a"], ["a"]]
