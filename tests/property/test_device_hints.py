"""Devices counted by the NUMA nodes next to them behave the same as individual devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.devices.allocation import DeviceHints, choose
from cpuctl.engine.devices.state import DevicePool
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import IMPOSSIBLE, Fit, Hint, HintList, HintRule
from cpuctl.engine.hints.merge import Intersections, merge
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.hints.topology_manager import Merged, TopologyManager
from cpuctl.engine.masks import NodeMask
from tests.property.test_hint_merge import NODES, closer, cpu_rules, lists, matrices
from tests.support import naive_devices
from tests.support.naive_cuts import naive_cuts
from tests.support.naive_devices import Device
from tests.support.naive_merge import naive_merge, narrower

EVERYTHING = (1 << NODES) - 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """Devices of one resource, and a request for some."""

    devices: tuple[Device, ...]
    available: tuple[Device, ...]
    reusable: tuple[Device, ...]
    request: int

    @property
    def hints(self) -> DeviceHints:
        everywhere, free, reusable = map(by_nodes, (self.devices, self.available, self.reusable))
        return DeviceHints.generate(NodeMask(EVERYTHING), everywhere, free, reusable, self.request)

    @property
    def pool(self) -> DevicePool:
        """The devices as bits, in their order."""
        found: dict[NodeMask, int] = {}
        for index, device in enumerate(self.devices):
            nodes = NodeMask(device.nodes)
            found[nodes] = found.get(nodes, 0) | 1 << index
        return DevicePool(by_nodes=found, healthy=bits(self, self.devices))


def by_nodes(devices: Collection[Device]) -> dict[NodeMask, int]:
    return dict(Counter(NodeMask(device.nodes) for device in devices))


def bits(drawn: Drawn, devices: Collection[Device]) -> int:
    return CPUSet.of(drawn.devices.index(device) for device in devices).mask


@st.composite
def requests(draw: st.DrawFn) -> Drawn:
    """Draw devices next to one node, several, none, or one that the machine does not have."""
    near = st.sampled_from([0, 1, 2, 4, 8, 3, 12, 15, 1 << NODES])
    all_nodes = draw(st.lists(near, max_size=6))
    devices = tuple(Device(f"d{index}", nodes) for index, nodes in enumerate(all_nodes))
    state = st.sampled_from(["free", "in use", "reusable"])
    states = draw(st.lists(state, min_size=len(devices), max_size=len(devices)))
    parts = {
        word: tuple(device for device, each in zip(devices, states, strict=True) if each == word)
        for word in ("free", "reusable")
    }
    return Drawn(devices, parts["free"], parts["reusable"], draw(st.integers(0, len(devices) + 1)))


def listed(hints: HintList) -> Sequence[Hint]:
    return list(hints) or [IMPOSSIBLE]


@given(requests())
def test_hints_are_those_of_individual_devices(drawn: Drawn) -> None:
    rule = drawn.hints
    tried = naive_devices.hints(range(NODES), drawn.devices, drawn.available, drawn.reusable, drawn.request)
    assert list(rule) == tried
    assert rule.narrowest == min((hint.nodes.bit_count() for hint in tried if hint.nodes), default=0)
    assert bool(rule) == bool(tried)
    assert [nodes for nodes in range(EVERYTHING + 1) if NodeMask(nodes) in rule] == sorted(
        hint.nodes or 0 for hint in tried
    )


@given(requests(), st.none() | st.integers(0, EVERYTHING))
def test_a_choice_is_one_that_a_kubelet_may_make(drawn: Drawn, affinity: NodeMask | None) -> None:
    chosen = choose(
        drawn.pool,
        drawn.request,
        free=bits(drawn, drawn.available),
        reusable=bits(drawn, drawn.reusable),
        affinity=affinity,
    )
    useful = affinity if any(device.nodes for device in drawn.devices) else None
    tried = naive_devices.choices(drawn.available, drawn.reusable, drawn.request, useful)
    assert (chosen is not None) is bool(tried)
    if chosen is not None:
        names = frozenset(drawn.devices[index].name for index in CPUSet(chosen.devices))
        assert names in tried
        places = {
            tuple(sorted(by_nodes([device for device in drawn.devices if device.name in each]).items()))
            for each in tried
        }
        assert chosen.by_chance or len(places) == 1


@given(requests(), st.none() | cpu_rules(), lists, st.none() | matrices)
def test_rules_merge_as_their_lists_would(
    drawn: Drawn, cpus: CPUHints | None, others: list[list[Hint]], matrix: list[list[int]] | None
) -> None:
    rules: list[HintRule] = [drawn.hints] if cpus is None else [drawn.hints, cpus]
    usable: list[HintList] = [rule if rule.narrowest else [IMPOSSIBLE] for rule in rules]
    fit = Fit(distances=dict(enumerate(matrix or ())))
    better = closer(matrix) if matrix else narrower
    assert merge([*usable, *others], NodeMask(EVERYTHING), fit) == naive_merge(
        [*map(listed, rules), *others], EVERYTHING, better
    )


@given(requests(), requests(), st.none() | matrices)
def test_two_resources_merge_as_their_lists_would(
    one: Drawn, other: Drawn, matrix: list[list[int]] | None
) -> None:
    rules = [one.hints, other.hints]
    usable: list[HintList] = [rule if rule.narrowest else [IMPOSSIBLE] for rule in rules]
    fit = Fit(distances=dict(enumerate(matrix or ())))
    better = closer(matrix) if matrix else narrower
    assert merge(usable, NodeMask(EVERYTHING), fit) == naive_merge([*map(listed, rules)], EVERYTHING, better)


@given(requests(), requests())
def test_a_single_node_is_found_as_in_the_lists(one: Drawn, other: Drawn) -> None:
    manager = TopologyManager(
        policy="single-numa-node", scope="container", everything=NodeMask(EVERYTHING), fit=Fit()
    )
    rules = [one.hints, other.hints]
    merged = manager.merge([{"a": rules[0], "b": rules[1]}])
    assert merged == manager.merge([{"a": list(rules[0]), "b": list(rules[1])}])
    assert isinstance(merged, Merged)


def coverages(nodes: int) -> st.SearchStrategy[Coverage]:
    """Draw what a request may require of sets of these nodes."""
    return st.builds(
        Coverage.of,
        st.just(nodes),
        st.dictionaries(st.integers(0, 63), st.integers(0, 4), max_size=5),
        st.lists(st.integers(0, 63), max_size=2),
        st.integers(-1, 9),
    )


any_coverage = st.integers(1, 63).flatmap(coverages)
one_request = st.integers(1, 63).flatmap(lambda nodes: st.lists(coverages(nodes), min_size=1, max_size=2))


@given(st.lists(any_coverage, min_size=1, max_size=3), st.integers(0, 6))
def test_common_sets_are_those_that_satisfy_all(requested: list[Coverage], size: int) -> None:
    serving = [
        nodes
        for nodes in range(64)
        if nodes.bit_count() == size
        and all(not nodes & ~each.nodes and NodeMask(nodes) in each for each in requested)
    ]
    assert best_sets(CommonSets.common(requested, size), Fit()) == serving[:1]


@given(
    st.lists(one_request, min_size=1, max_size=3),
    st.integers(0, 63),
    st.integers(0, 6),
)
def test_cuts_are_what_sets_have_in_common(requested: list[list[Coverage]], inside: int, size: int) -> None:
    cuts = sorted(nodes for nodes in naive_cuts(requested, inside) if nodes.bit_count() == size)
    assert best_sets(Intersections.of(requested, NodeMask(inside), size), Fit()) == cuts[:1]
