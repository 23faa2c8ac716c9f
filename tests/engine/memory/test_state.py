"""The Memory Manager's state: which memory is held, lent, and returned."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.manager import allocate
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.pods.model import ContainerKind
from tests.support.memory import fresh_state, memory_machine, small_pod, take

APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR
POD = small_pod("p", INIT, APP, APP)


def two_nodes() -> MemoryManagerState:
    return fresh_state(memory_machine([9, 9]))


def give(state: MemoryManagerState, number: int, size: int) -> None:
    allocate(state, POD, POD.all_containers[number], {"memory": size}, Hint(NodeMask(1), preferred=True))


def lending() -> MemoryManagerState:
    state = two_nodes()
    give(state, 0, 5)
    state.blocks["whole"] = {"c0": (), "c1": ()}
    state.pod_blocks["whole"] = (MemoryBlock(numa_affinity=(1,), type="memory", size=0),)
    return state


def test_a_copy_is_complete_and_independent() -> None:
    state = lending()
    copy = state.copy()
    assert copy == state
    give(copy, 1, 2)
    copy.blocks["whole"].clear()
    copy.pod_blocks.clear()
    assert copy.reusable == {(1, "memory"): 3}
    assert state == lending()


@pytest.mark.parametrize(
    ("kinds", "sizes", "left"),
    [
        ([INIT], [5], {(1, "memory"): 5}),
        ([INIT, APP], [5, 4], {(1, "memory"): 1}),
        ([INIT, APP], [5, 5], {}),
        ([INIT, APP], [5, 6], {}),
        ([INIT], [0], {}),
        ([APP], [0], {}),
    ],
    ids=["all", "the rest", "nothing", "less than nothing", "zero bytes", "of an app container"],
)
def test_what_may_be_reused(
    kinds: Sequence[ContainerKind], sizes: Sequence[int], left: dict[tuple[int, str], int]
) -> None:
    state, pod = two_nodes(), small_pod("p", *kinds)
    for container, size in zip(pod.all_containers, sizes, strict=True):
        allocate(state, pod, container, {"memory": size}, Hint(NodeMask(1), preferred=True))
    assert dict(state.reusable_for("p")) == left


def test_containers_that_still_run_keep_their_memory() -> None:
    state = two_nodes()
    for number in range(3):
        give(state, number, 2)
    take(state, "q", 0b10, memory=3)
    state.keep_only({"p": {"c2"}, "q": {"c0", "unknown"}})
    assert {uid: set(held) for uid, held in state.blocks.items()} == {"p": {"c2"}, "q": {"c0"}}
    assert [node.memory_map["memory"].reserved for node in state.tables.values()] == [2, 3]


def test_memory_of_the_lowest_node_is_not_returned_twice() -> None:
    state = two_nodes()
    take(state, "one", 0b11, memory=12)
    take(state, "two", 0b11, memory=3)
    state.remove_container("one", "c0")
    assert [node.memory_map["memory"].reserved for node in state.tables.values()] == [0, 3]


def test_pod_entries_are_written_only_if_the_gate_is_on() -> None:
    state = lending()
    assert dict(state.as_file().pod_entries) == {}
    assert state.as_file(pod_level=True).pod_entries == state.pod_blocks


def test_an_unknown_container_changes_nothing() -> None:
    state = lending()
    state.remove_container("p", "unknown")
    state.remove_container("unknown", "c0")
    assert state == lending()
