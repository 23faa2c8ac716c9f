"""Memory Manager lookups of missing entries, which crash the kubelet."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.hints import IMPOSSIBLE, Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.manager import allocate, find_hints
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.pods.model import ContainerKind
from tests.support.memory import HUGE, memory_machine, small_pod

GI = 1 << 30
APP = ContainerKind.APP
NO_PAGES = "Memory Manager, looking up hugepages-2Mi of NUMA node 1, which has no such huge pages"


def without_pages_on_node_1() -> MemoryManagerState:
    nodes = (
        InfoNode(id=0, cores=(), memory_bytes=4 * GI, hugepages={2048: 4}),
        InfoNode(id=1, cores=(), memory_bytes=4 * GI),
    )
    return MemoryManagerState(fresh_tables(MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1), {}))


def nodes_of_ids(*numbers: int) -> MemoryManagerState:
    nodes = tuple(InfoNode(id=number, cores=(), memory_bytes=4 * GI) for number in numbers)
    return MemoryManagerState(fresh_tables(MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1), {}))


@pytest.mark.parametrize(
    ("state", "where"),
    [
        (without_pages_on_node_1(), NO_PAGES),
        (
            nodes_of_ids(0, 64),
            "Memory Manager, making a mask with NUMA node 64, although masks only hold 0 to 63",
        ),
        (
            nodes_of_ids(-1),
            "Memory Manager, making a mask with NUMA node -1, although masks only hold 0 to 63",
        ),
    ],
    ids=["a node without such pages", "an id beyond masks", "a package of unknown number"],
)
def test_hints_that_crash_the_kubelet(state: MemoryManagerState, where: str) -> None:
    found = find_hints(state, "p", {"memory": 1, HUGE: 1})
    assert isinstance(found, KubeletFault)
    assert found.kind is FaultKind.CRASH
    assert found.where == where
    assert found.why == "runtime error: invalid memory address or nil pointer dereference"


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        (1, Hint(NodeMask(0b10), preferred=True)),
        (1, IMPOSSIBLE),
        (5 * GI, Hint(NodeMask(0b01), preferred=True)),
    ],
    ids=["in the hint", "by default", "outside the hint"],
)
def test_allocation_on_a_node_without_such_pages_also_crashes(size: int, hint: Hint) -> None:
    """Hints are not always generated first: a pod that already has memory uses its existing nodes."""
    pod = small_pod("p", APP)
    fault = allocate(without_pages_on_node_1(), pod, pod.containers[0], {"memory": size, HUGE: 1}, hint)
    assert isinstance(fault, KubeletFault)
    assert fault.where == NO_PAGES


def test_huge_pages_without_memory_crash_if_nodes_are_chosen_by_default() -> None:
    """Only a pod whose status says Guaranteed can request this."""
    state = MemoryManagerState(fresh_tables(memory_machine([GI], [4]), {}))
    pod = small_pod("p", APP)
    fault = allocate(state, pod, pod.containers[0], {HUGE: 1}, IMPOSSIBLE)
    assert isinstance(fault, KubeletFault)
    requested = "choosing NUMA nodes for a container that requests huge pages, but no memory"
    assert fault.where == f"Memory Manager, {requested}"
