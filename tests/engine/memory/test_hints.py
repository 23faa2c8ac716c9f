"""Memory hints in edge cases that random examples rarely cover, compared with trying every set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import allocate, find_hints
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.pods.model import ContainerKind
from cpuctl.records import replace
from tests.support.memory import HUGE, PAGE, fresh_state, memory_machine, small_pod, take
from tests.support.naive_memory import naive_best, naive_hints

APP, INIT = ContainerKind.APP, ContainerKind.INIT


def with_pages() -> MemoryManagerState:
    """Start with 9 bytes and 2 huge pages on each of two nodes."""
    return fresh_state(memory_machine([9 + 2 * PAGE] * 2, [2, 2]))


def lend(state: MemoryManagerState, size: int, nodes: int) -> None:
    """Let an init container of the pod ``asking`` take memory and end, so that the pod may reuse it."""
    pod = small_pod("asking", INIT, APP)
    allocate(state, pod, pod.init_containers[0], {"memory": size}, Hint(NodeMask(nodes), preferred=True))


def lent_and_back() -> MemoryManagerState:
    state = with_pages()
    lend(state, 5, 0b01)
    state.remove_container("asking", "c0")
    return state


def used() -> MemoryManagerState:
    state = with_pages()
    take(state, "other", 0b01, memory=4)
    return state


def returned_by_another_node() -> MemoryManagerState:
    """Blocks return memory to their lowest nodes first: no pod uses node 1, but 2 bytes of it are missing."""
    state = fresh_state(memory_machine([9, 9]))
    take(state, "one", 0b11, memory=12)
    take(state, "two", 0b11, memory=3)
    state.remove_container("one", "c0")
    take(state, "three", 0b01, memory=2)
    lend(state, 4, 0b10)
    state.remove_container("two", "c0")
    state.remove_container("asking", "c0")
    return state


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    state: Callable[[], MemoryManagerState]
    request: Mapping[str, int]
    wanted: list[int]
    """The sets that are hints."""


CASES = [
    Case("both nodes for two resources", with_pages, {"memory": 12, HUGE: PAGE}, [0b11]),
    Case("more than a node has, with reusable memory", lent_and_back, {"memory": 10, HUGE: PAGE}, [0b11]),
    Case("one byte more than is free of a used node", used, {"memory": 6}, [0b10]),
    Case("all that is free of a used node", used, {"memory": 5}, [0b01, 0b10]),
    Case("reusable memory on an unused node", returned_by_another_node, {"memory": 8}, [0b01, 0b10]),
    Case("more than available", with_pages, {"memory": 19}, []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hints_at_an_edge(case: Case) -> None:
    state = case.state()
    reusable = state.reusable_for("asking")
    rule = MemoryHints.generate(state.tables, case.request, reusable)
    assert [hint.nodes for hint in rule] == case.wanted
    assert list(rule) == naive_hints(state.tables, case.request, reusable)
    assert rule.best() == naive_best(list(rule))
    assert rule.narrowest == min((nodes.bit_count() for nodes in case.wanted), default=0)


def far_nodes(*numbers: int) -> MemoryManagerState:
    nodes = tuple(InfoNode(id=number, cores=(), memory_bytes=9) for number in numbers)
    return MemoryManagerState(fresh_tables(MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1), {}))


def test_the_highest_node_that_fits_into_a_mask_is_a_hint() -> None:
    hints = find_hints(far_nodes(63), "p", {"memory": 9})
    assert isinstance(hints, MemoryHints)
    assert list(hints) == [Hint(NodeMask(1 << 63), preferred=True)]


def test_a_machine_without_numa_nodes_has_no_hints() -> None:
    assert find_hints(far_nodes(), "p", {"memory": 1}) is None


def test_a_container_that_requests_no_memory_has_no_hints() -> None:
    assert find_hints(with_pages(), "p", {}) is None


def test_a_single_node_of_a_group_is_not_a_hint_even_with_reusable_memory() -> None:
    tables = dict(fresh_state(memory_machine([9, 9])).tables)
    tables = {number: replace(node, number_of_assignments=1, cells=(0, 1)) for number, node in tables.items()}
    hints = MemoryHints.generate(tables, {"memory": 5}, {(NodeMask(0b01), "memory"): 5})
    assert [hint.nodes for hint in hints] == [0b11]
