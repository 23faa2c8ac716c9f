"""Memory hints by rule are the same as those found by trying every set of NUMA nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.hints.hints import IMPOSSIBLE, Fit, Hint, HintList
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import allocate
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.pods.model import ContainerKind
from tests.property.test_hint_merge import EVERYTHING, NODES, closer, cpu_rules, explicit, lists, matrices
from tests.support.memory import HUGE, PAGE, fresh_state, memory_machine, small_pod
from tests.support.naive_memory import naive_best, naive_hints
from tests.support.naive_merge import naive_merge, narrower

AMOUNTS = st.integers(0, 12)
KINDS = st.lists(st.sampled_from(list(ContainerKind)), min_size=1, max_size=3)


@dataclass(frozen=True)
class Question:
    """A request and its node."""

    state: MemoryManagerState
    request: Mapping[str, int]

    @property
    def rule(self) -> MemoryHints:
        return MemoryHints.generate(self.state.tables, self.request, self.state.reusable_for("asking"))

    @property
    def listed(self) -> list[Hint]:
        return naive_hints(self.state.tables, self.request, self.state.reusable_for("asking"))


@st.composite
def requests(draw: st.DrawFn) -> dict[str, int]:
    """Draw a request for memory, huge pages or both."""
    memory, pages = draw(AMOUNTS), draw(AMOUNTS)
    chosen = draw(st.sampled_from([("memory",), ("memory", HUGE), (HUGE,)]))
    return {name: amount for name, amount in (("memory", memory), (HUGE, pages * PAGE)) if name in chosen}


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Draw a machine of four NUMA nodes on which pods have been placed and removed at random."""
    pages = draw(st.lists(st.integers(0, 4), min_size=NODES, max_size=NODES))
    free = draw(st.lists(st.integers(0, 8), min_size=NODES, max_size=NODES))
    # Huge pages beyond a node's memory make its free memory wrap around.
    short = draw(st.none() | st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES)) or [0] * NODES
    sizes = [
        max(amount + count * PAGE - less, 0) for amount, count, less in zip(free, pages, short, strict=True)
    ]
    state = fresh_state(memory_machine(sizes, pages))
    for uid in draw(st.lists(st.sampled_from(["one", "two", "three", "asking"]), max_size=5)):
        pod = small_pod(uid, *draw(KINDS))
        for container in pod.all_containers:
            nodes = draw(st.none() | st.integers(1, EVERYTHING).map(NodeMask))
            allocate(state, pod, container, draw(requests()), Hint(nodes, preferred=draw(st.booleans())))
        if draw(st.booleans()):
            state.remove_container(uid, draw(st.sampled_from(pod.all_containers)).name)
    return Question(state, draw(requests()))


@given(questions())
def test_the_rule_has_the_hints_of_the_list_in_its_order(question: Question) -> None:
    assert list(question.rule) == question.listed


@given(questions())
def test_a_rule_knows_its_hints(question: Question) -> None:
    rule, listed = question.rule, {hint.nodes: hint.preferred for hint in question.listed}
    for nodes in map(NodeMask, range(EVERYTHING + 1)):
        assert (nodes in rule) == (nodes in listed)
        assert nodes not in listed or rule.prefers(nodes) == listed[nodes]
    assert rule.narrowest == min((nodes.bit_count() for nodes in listed if nodes), default=0)
    assert bool(rule) == bool(listed)


@given(questions(), st.integers(0, EVERYTHING))
def test_the_best_hint_is_found(question: Question, containing: int) -> None:
    wide = [hint for hint in question.listed if not containing & ~(hint.nodes or 0)]
    assert question.rule.best(NodeMask(containing)) == naive_best(wide)


@given(st.lists(questions(), min_size=1, max_size=2), st.none() | cpu_rules(), lists, st.none() | matrices)
def test_rules_merge_as_their_lists_would(
    requested: list[Question], cpu: HintList | None, others: list[list[Hint]], matrix: list[list[int]] | None
) -> None:
    """As in the kubelet, there is a list for every resource of a request."""
    rules: list[HintList] = [question.rule for question in requested for _ in question.request]
    rules += [] if cpu is None else [cpu]
    filled = [rule if list(rule) else [IMPOSSIBLE] for rule in rules]
    fit = Fit(distances=dict(enumerate(matrix or ())))
    better = closer(matrix) if matrix else narrower
    naive = naive_merge([*map(explicit, filled), *others[:2]], EVERYTHING, better)
    assert merge([*filled, *others[:2]], NodeMask(EVERYTHING), fit) == naive
