"""What a Memory Manager counts on unused NUMA nodes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine.memory.tables import NodeAmounts, container_request, memory_account, pod_request
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.pods.model import Container
from cpuctl.quantity import Quantity
from tests.support.memory import HUGE, memory_machine
from tests.support.pod_level import containers, made_of
from tests.support.pods import app, init, pod, sidecar

GIB = 1 << 30
TWO = memory_machine([10 * GIB, 4 * GIB], pages=[512, 0])


def reserved(node: int, amount: str) -> ReservedMemory:
    return ReservedMemory(numa_node=node, limits={"memory": Quantity.parse(amount)})


def test_huge_pages_reduce_what_pods_get_but_not_the_total() -> None:
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


def test_reserving_more_than_available_wraps_around_and_is_reported() -> None:
    memory = next(line for line in memory_account(TWO, [reserved(1, "5Gi")]) if line.reserved)
    assert (memory.overdrawn, memory.allocatable) == (GIB, (1 << 64) - GIB)


def test_huge_pages_and_a_reservation_may_together_exceed_a_node() -> None:
    memory = next(iter(memory_account(TWO, [reserved(0, "10Gi")])))
    assert (memory.reserved, memory.huge_pages, memory.overdrawn) == (10 * GIB, GIB, GIB)


def test_reserving_all_of_a_node_is_allowed() -> None:
    memory = next(iter(memory_account(TWO, [reserved(0, "4Gi"), reserved(0, "5Gi")])))
    assert (memory.reserved, memory.allocatable, memory.overdrawn) == (9 * GIB, 0, 0)


def test_missing_nodes_are_skipped() -> None:
    assert list(memory_account(TWO, [reserved(7, "1Gi")])) == list(memory_account(TWO, []))


GI = 1 << 30
MI = 1 << 20


@pytest.mark.parametrize(
    ("words", "gibibytes"),
    [
        ("1 2", 3),
        ("i5 i3 1", 5),
        ("i3 i5 1", 5),
        ("i3 4", 4),
        ("s2 i4 3", 6),
        ("i4 s2 3", 5),
        ("s2 i1 3", 5),
        ("s1 s2 i4 3", 7),
        ("i0 0", 0),
        ("s0 i0 0", 0),
        ("0", 0),
    ],
)
def test_init_containers_run_before_and_sidecars_alongside(words: str, gibibytes: int) -> None:
    assert pod_request(made_of(*containers(words))) == {"memory": gibibytes * GI}


APP = app("cpu=1 memory=1Gi hugepages-2Mi=4Mi")


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ((APP,), {"memory": GI, "hugepages-2Mi": 4 * MI}),
        ((init("memory=2Gi"), APP), {"memory": 2 * GI, "hugepages-2Mi": 4 * MI}),
        ((init("hugepages-2Mi=8Mi memory=0"), APP), {"memory": GI, "hugepages-2Mi": 8 * MI}),
        (
            (sidecar("memory=1Gi"), init("hugepages-2Mi=6Mi"), APP),
            {"memory": 2 * GI, "hugepages-2Mi": 6 * MI},
        ),
        ((init("hugepages-1Gi=1Gi"), APP), {"memory": GI, "hugepages-2Mi": 4 * MI}),
    ],
    ids=[
        "both",
        "memory first",
        "pages first",
        "in addition to other memory",
        "not requested by an app container",
    ],
)
def test_every_resource_is_counted_separately(
    parts: tuple[Container, ...], wanted: Mapping[str, int]
) -> None:
    assert pod_request(made_of(*parts)) == wanted


@pytest.mark.parametrize("amount", ["1.5", "1000m"])
def test_an_amount_that_is_not_a_whole_number_is_not_a_request(amount: str) -> None:
    """Only static pods can have such amounts."""
    static = pod(app(f"memory={amount}"), static=True)
    assert (container_request(static.containers[0]), pod_request(static)) == (None, None)
