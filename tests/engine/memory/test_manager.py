"""The Memory Manager's static policy: what is allocated where, and the kubelet's errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from cpuctl.engine.hints.hints import IMPOSSIBLE, Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.manager import StaticMemoryPolicy, allocate, choose_nodes
from cpuctl.engine.memory.manager_start import overdrawn, wrapped_amounts
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import KubeletFault, Rejected, Undetermined
from cpuctl.engine.placement import cpuset_mems
from cpuctl.pods.model import ContainerKind
from tests.support.memory import HUGE, memory_machine, small_pod

GI = 1 << 30
MI = 1 << 20
APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR
BOTH = 0b11


def two_nodes() -> MemoryManagerState:
    """Start with 10 GiB on each of two nodes, of which 1 GiB is reserved."""
    reserved = {node: {"memory": GI} for node in (0, 1)}
    return MemoryManagerState(fresh_tables(memory_machine([10 * GI, 10 * GI]), reserved))


def give(
    state: MemoryManagerState, uid: str, size: int, hint: Hint = IMPOSSIBLE
) -> Blocks | Rejected | KubeletFault:
    pod = small_pod(uid, APP)
    return allocate(state, pod, pod.containers[0], {"memory": size}, hint)


def on(nodes: int | None, *, preferred: bool = True) -> Hint:
    return Hint(None if nodes is None else NodeMask(nodes), preferred)


def reserved(state: MemoryManagerState, resource: str = "memory") -> list[int]:
    return [node.memory_map[resource].reserved // MI for node in state.tables.values()]


def groups(state: MemoryManagerState) -> list[tuple[tuple[int, ...], int]]:
    return [(node.cells, node.number_of_assignments) for node in state.tables.values()]


def test_huge_pages_reduce_allocatable_memory_but_not_its_total() -> None:
    machine = memory_machine([10 * GI], [512])
    tables = fresh_tables(machine, {0: {"memory": GI}})[0].memory_map
    assert (tables["memory"].total, tables["memory"].allocatable) == (10 * GI, 8 * GI)
    assert (tables[HUGE].total, tables[HUGE].allocatable) == (GI, GI)


def test_huge_pages_may_also_be_reserved() -> None:
    table = fresh_tables(memory_machine([GI], [4]), {0: {HUGE: 2 * MI}})[0].memory_map[HUGE]
    assert (table.total, table.system_reserved, table.allocatable, table.free) == (
        8 * MI,
        *[2 * MI],
        *[6 * MI] * 2,
    )


def test_a_page_size_without_pages_has_a_table() -> None:
    assert fresh_tables(memory_machine([GI], [0]), {})[0].memory_map[HUGE].total == 0


def test_a_request_larger_than_a_node_fills_the_lowest_and_creates_a_group() -> None:
    state = two_nodes()
    assert cpuset_mems(give(state, "p", 12 * GI)) == "0,1"  # type: ignore[arg-type]
    assert reserved(state) == [9216, 3072]
    assert groups(state) == [((0, 1), 1), ((0, 1), 1)]


def test_a_hint_can_force_one_node_out_of_its_group() -> None:
    """The hint of another manager may name one node of a group: this is not rejected."""
    state = two_nodes()
    give(state, "p", 12 * GI)
    give(state, "q", GI, on(0b10))
    assert reserved(state) == [9216, 4096]
    assert groups(state) == [((0, 1), 1), ((1,), 2)]


def test_a_node_of_a_group_may_be_filled_to_the_last_byte() -> None:
    """The memory is sufficient, so no better nodes are searched for: they would be rejected."""
    state = two_nodes()
    give(state, "p", 12 * GI)
    assert cpuset_mems(give(state, "q", 6 * GI, on(0b10))) == "1"  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Failure:
    name: str
    size: int
    error: str
    hint: Hint = IMPOSSIBLE
    before: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The size and nodes of other pods' memory, by UID."""


GROUP = {"wide": (12 * GI, BOTH)}
FAILURES = [
    Failure(
        "more than available",
        19 * GI,
        "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
    ),
    Failure(
        "a small request that only fits into a group is not preferred",
        GI,
        "failed to find the default preferred hint",
        on(None),
        GROUP,
    ),
    Failure(
        "the other node is used alone",
        10 * GI,
        "failed to find NUMA nodes to extend the current topology hint",
        on(0b01),
        {"small": (GI, 0b10)},
    ),
    Failure(
        "a node is too full, and the group with the other one is too wide to be preferred",
        7 * GI,
        "failed to find the extended preferred hint",
        on(0b01),
        {"wide": (10 * GI, BOTH)},
    ),
    Failure(
        "a group with a node that is used alone",
        GI,
        "preferred hint violates NUMA node allocation",
        on(BOTH, preferred=False),
        {"small": (GI, 0b01)},
    ),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.name)
def test_errors_of_the_kubelet(case: Failure) -> None:
    state = two_nodes()
    for uid, (size, nodes) in case.before.items():
        give(state, uid, size, on(nodes))
    before = state.copy()
    rejection = give(state, "p", case.size, case.hint)
    assert isinstance(rejection, Rejected), rejection
    assert rejection.reason == "UnexpectedAdmissionError"
    assert rejection.message == f"Allocate failed due to [memorymanager] {case.error}, which is unexpected"
    free = sum(node.memory_map["memory"].free for node in state.tables.values())
    assert rejection.details == {"requestedBytes": case.size, "freeBytes": free}
    assert state == before


def test_a_request_without_memory_is_reported_as_zero() -> None:
    """Only the hint of another manager leads to this."""
    state = MemoryManagerState(fresh_tables(memory_machine([GI, GI], [4, 4]), {}))
    give(state, "small", MI, on(0b01))
    pod = small_pod("p", APP)
    rejection = allocate(state, pod, pod.containers[0], {HUGE: 2 * MI}, on(BOTH))
    assert isinstance(rejection, Rejected)
    assert rejection.details["requestedBytes"] == 0
    nothing = allocate(state, pod, pod.containers[0], {}, IMPOSSIBLE)
    assert isinstance(nothing, Rejected)
    assert nothing.details == {}


def test_a_hint_that_is_too_narrow_is_extended() -> None:
    state = two_nodes()
    assert cpuset_mems(give(state, "p", 12 * GI, on(0b10))) == "0,1"  # type: ignore[arg-type]


def test_the_rejection_of_a_pod_names_no_container() -> None:
    rejection = choose_nodes(two_nodes(), "p", {"memory": 19 * GI}, IMPOSSIBLE)
    assert isinstance(rejection, Rejected)
    assert rejection.container == ""


def test_an_amount_that_is_not_a_whole_number_is_rejected() -> None:
    pod = small_pod("p", APP)
    rejection = allocate(two_nodes(), pod, pod.containers[0], None, on(1))
    assert isinstance(rejection, Rejected)
    assert "[memorymanager] failed to represent quantity as int64" in rejection.message


def test_later_containers_reuse_the_memory_of_init_containers() -> None:
    """The recorded blocks add up to the reserved memory, not to what each container needs."""
    state = MemoryManagerState(fresh_tables(memory_machine([10 * GI], [512]), {}))
    pod = small_pod("p", INIT, APP, APP)
    requests = [{"memory": 4 * GI}, {"memory": 3 * GI, HUGE: 4 * MI}, {"memory": 2 * GI}]
    seen = []
    for container, request in zip(pod.all_containers, requests, strict=True):
        allocate(state, pod, container, request, on(1))
        seen.append((reserved(state)[0], groups(state)[0][1], state.blocks["p"]["c0"][0].size // GI))
    assert seen == [(4096, 1, 4), (4096, 3, 1), (5120, 4, 0)]


@pytest.mark.parametrize(
    ("kinds", "sizes", "taken"),
    [
        ([INIT, INIT, APP], [2, 3, 3], [2, 3, 3]),
        ([INIT, SIDECAR, APP], [3, 2, 2], [3, 3, 4]),
        ([SIDECAR, INIT, APP], [2, 3, 2], [2, 5, 5]),
    ],
    ids=["the largest init container counts", "a sidecar keeps what it takes", "sidecars lend nothing"],
)
def test_which_containers_lend_memory(kinds: list[ContainerKind], sizes: list[int], taken: list[int]) -> None:
    state, pod = two_nodes(), small_pod("p", *kinds)
    seen = []
    for container, size in zip(pod.all_containers, sizes, strict=True):
        allocate(state, pod, container, {"memory": size * GI}, on(1))
        seen.append(reserved(state)[0] // 1024)
    assert seen == taken


def test_memory_is_only_reused_on_the_same_nodes() -> None:
    state, pod = two_nodes(), small_pod("p", INIT, APP)
    for container, nodes in zip(pod.all_containers, (0b01, 0b10), strict=True):
        allocate(state, pod, container, {"memory": GI}, on(nodes))
    assert reserved(state) == [1024, 1024]


def test_another_pod_ends_the_lending() -> None:
    state, pod = two_nodes(), small_pod("p", INIT, APP)
    allocate(state, pod, pod.all_containers[0], {"memory": GI}, on(1))
    give(state, "q", GI, on(1))
    allocate(state, pod, pod.all_containers[1], {"memory": GI}, on(1))
    assert reserved(state) == [3072, 0]


def test_a_container_keeps_the_memory_that_it_has() -> None:
    state = two_nodes()
    had = give(state, "p", GI, on(0b10))
    assert give(state, "p", 5 * GI, on(0b01)) == had
    assert reserved(state) == [0, 1024]


def test_a_starting_container_ends_the_ordinary_init_containers_before_it() -> None:
    state, pod = two_nodes(), small_pod("p", INIT, SIDECAR, INIT, APP)
    for container in pod.all_containers:
        allocate(state, pod, container, {"memory": GI}, on(1))
    state.start_container(pod, "c2")
    assert set(state.blocks["p"]) == {"c1", "c2", "c3"}
    state.start_container(pod, "c3")
    assert set(state.blocks["p"]) == {"c1", "c3"}


def test_an_unused_node_leaves_its_group() -> None:
    state = two_nodes()
    give(state, "p", 12 * GI)
    state.keep_only({})
    assert state.tables == two_nodes().tables


def with_reserved(amount: int) -> StaticMemoryPolicy:
    """Reserve memory of node 1, which has 9 bytes."""
    return StaticMemoryPolicy(tables=fresh_tables(memory_machine([9, 9]), {1: {"memory": amount}}))


@pytest.mark.parametrize("policy", [None, with_reserved(0), with_reserved(9)], ids=["none", "nothing", "all"])
def test_all_memory_of_a_node_may_be_reserved(policy: StaticMemoryPolicy | None) -> None:
    assert overdrawn(policy) is None


def test_reserving_too_much_is_computed_except_on_many_nodes() -> None:
    assert overdrawn(with_reserved(10)) is None
    assert list(wrapped_amounts(with_reserved(10).tables)) == ["memory of NUMA node 1"]
    many = StaticMemoryPolicy(tables=fresh_tables(memory_machine([9] * 15), {1: {"memory": 10}}))
    assert overdrawn(many) == Undetermined(
        "reservedMemory and huge pages take more memory of NUMA node 1 than it has, and the "
        "kubelet continues with wrapped numbers: these are not computed for more than 14 NUMA "
        "nodes"
    )
