"""What a Memory Manager counts on NUMA nodes that nobody uses yet."""

from __future__ import annotations

from cpuctl.engine.memory.tables import NodeAmounts, memory_account
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.quantity import Quantity
from tests.support.memory import HUGE, memory_machine

GIB = 1 << 30
TWO = memory_machine([10 * GIB, 4 * GIB], pages=[512, 0])


def reserved(node: int, amount: str) -> ReservedMemory:
    return ReservedMemory(numa_node=node, limits={"memory": Quantity.parse(amount)})


def test_huge_pages_are_taken_off_what_pods_get_and_not_off_the_total() -> None:
    assert list(memory_account(TWO, [reserved(0, "1Gi")])) == [
        NodeAmounts(
            numa_node=0,
            resource="memory",
            total=10 * GIB,
            reserved=GIB,
            huge_pages=GIB,
            allocatable=8 * GIB,
        ),
        NodeAmounts(numa_node=0, resource=HUGE, total=GIB, reserved=0, huge_pages=0, allocatable=GIB),
        NodeAmounts(
            numa_node=1, resource="memory", total=4 * GIB, reserved=0, huge_pages=0, allocatable=4 * GIB
        ),
        NodeAmounts(numa_node=1, resource=HUGE, total=0, reserved=0, huge_pages=0, allocatable=0),
    ]


def test_more_than_there_is_wraps_around_and_is_told() -> None:
    memory = next(line for line in memory_account(TWO, [reserved(1, "5Gi")]) if line.reserved)
    assert (memory.overdrawn, memory.allocatable) == (GIB, (1 << 64) - GIB)


def test_huge_pages_and_a_reservation_may_be_too_much_together() -> None:
    memory = next(iter(memory_account(TWO, [reserved(0, "10Gi")])))
    assert (memory.reserved, memory.huge_pages, memory.overdrawn) == (10 * GIB, GIB, GIB)


def test_all_of_a_node_is_not_too_much() -> None:
    memory = next(iter(memory_account(TWO, [reserved(0, "4Gi"), reserved(0, "5Gi")])))
    assert (memory.reserved, memory.allocatable, memory.overdrawn) == (9 * GIB, 0, 0)


def test_nodes_that_are_not_there_are_passed_over() -> None:
    assert list(memory_account(TWO, [reserved(7, "1Gi")])) == list(memory_account(TWO, []))
