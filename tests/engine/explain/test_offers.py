"""What a policy accepts of each provider's hints, and the amount requested."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.offers import LISTED_NODES, Offer, OfferStatus, round_of
from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Hint, HintList
from cpuctl.engine.hints.topology_manager import Answer, HintRound, Merged, TopologyManager
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.node import Node
from cpuctl.pods.model import Container
from tests.engine.explain.scenarios import GIB, TWO_NODES, named, reported, scenario, whole
from tests.support.changed import changed
from tests.support.pods import app
from tests.support.topologies import CoreAt, machine_info

POD = named("a", whole(2, "one", "2Gi", "example.com/card=3"), app("memory=3Gi", name="two"))
ONE, TWO = POD.containers
MERGED = Merged(Hint(NodeMask(1), preferred=True), admit=True)
LEFT, BOTH = Hint(NodeMask(0b01), preferred=True), Hint(NodeMask(0b11), preferred=False)
WIDE = Hint(NodeMask(0b11), preferred=True)


def node(policy: str = "restricted", nodes: int = 2) -> Node:
    """Set up a node whose Topology Manager knows this many NUMA nodes."""
    info = machine_info(CoreAt(cpus=(number,), numa_node=number) for number in range(nodes))
    manager = TopologyManager.of(info, policy, "container", closest=False)
    before = reported(scenario(TWO_NODES, named("b", whole(1)))).before
    return changed(before.copy(), topology_manager=manager)


def offers(answer: Answer, seen: Node, container: Container | None = ONE) -> list[Offer]:
    requested = HintRound(container=container, answers={"devices": answer}, merged=MERGED)
    return list(round_of(requested, POD, seen).offers)


def offer(hints: HintList | None, seen: Node, resource: str = "memory") -> Offer:
    (found,) = offers({resource: hints}, seen)
    assert (found.provider, found.resource) == ("devices", resource)
    return found


@pytest.mark.parametrize(
    ("answer", "status"), [(None, OfferStatus.NO_PREFERENCE), ({}, OfferStatus.NO_HINTS)]
)
def test_a_provider_without_any_list_is_one_offer(answer: Answer, status: OfferStatus) -> None:
    (found,) = offers(answer, node())
    assert found == Offer(provider="devices", resource="devices", status=status)
    assert (found.hints, found.usable, found.rule, found.request) == ((), frozenset(), None, None)


def test_every_resource_is_a_separate_offer() -> None:
    found = offers({"memory": [LEFT], "example.com/card": None}, node())
    assert found == [
        Offer(
            provider="devices",
            resource="memory",
            status=OfferStatus.USABLE,
            hints=(LEFT,),
            usable=frozenset({NodeMask(1)}),
            request=2 * GIB,
        ),
        Offer(provider="devices", resource="example.com/card", status=OfferStatus.NO_PREFERENCE),
    ]


@pytest.mark.parametrize(
    ("hints", "status", "usable", "alone"),
    [
        ([], OfferStatus.IMPOSSIBLE, [], []),
        ([DONT_CARE], OfferStatus.NO_PREFERENCE, [], []),
        ([IMPOSSIBLE], OfferStatus.UNUSABLE, [], []),
        ([BOTH], OfferStatus.UNUSABLE, [], []),
        ([BOTH, LEFT], OfferStatus.USABLE, [0b01], [0b01]),
        ([WIDE, LEFT], OfferStatus.USABLE, [0b01, 0b11], [0b01]),
    ],
)
def test_what_a_policy_accepts_of_a_list(
    hints: list[Hint], status: OfferStatus, usable: list[int], alone: list[int]
) -> None:
    """``single-numa-node`` accepts no hint of several nodes, preferred or not."""
    found, single = offer(hints, node()), offer(hints, node("single-numa-node"))
    assert (found.status, found.hints, sorted(found.usable or ())) == (status, tuple(hints), usable)
    assert (single.status, single.hints, sorted(single.usable or ())) == (status, tuple(hints), alone)


def test_a_wide_hint_alone_is_unusable_for_a_single_node() -> None:
    assert offer([WIDE], node("single-numa-node")).status is OfferStatus.UNUSABLE
    assert offer([WIDE], node()).status is OfferStatus.USABLE


def rule(free: list[int], request: int, width: int = 1) -> CPUHints:
    return CPUHints(
        free=dict(enumerate(free)),
        required=NodeMask(0),
        reusable=0,
        request=request,
        width=width,
        socket_rule=None,
    )


@pytest.mark.parametrize(
    ("policy", "free", "request_", "width", "status", "usable"),
    [
        ("restricted", [1, 4], 3, 1, OfferStatus.USABLE, ["1"]),
        ("restricted", [2, 2], 3, 1, OfferStatus.UNUSABLE, []),
        ("restricted", [2, 2], 3, 2, OfferStatus.USABLE, ["0-1"]),
        ("restricted", [2, 2], 5, 2, OfferStatus.IMPOSSIBLE, []),
        ("single-numa-node", [2, 2], 3, 2, OfferStatus.UNUSABLE, []),
        ("single-numa-node", [2, 2], 2, 1, OfferStatus.USABLE, ["0", "1"]),
    ],
)
def test_what_a_policy_accepts_of_a_rule(
    policy: str, free: list[int], request_: int, width: int, status: OfferStatus, usable: list[str]
) -> None:
    hints = rule(free, request_, width)
    found = offer(hints, node(policy), "cpu")
    assert (found.status, found.rule, found.request) == (status, hints, request_)
    assert found.hints == tuple(hints)
    assert sorted(str(CPUSet(nodes)) for nodes in found.usable or ()) == usable


@pytest.mark.parametrize(("nodes", "listed"), [(10, True), (11, False)])
def test_hints_of_very_many_nodes_are_not_listed(nodes: int, listed: bool) -> None:
    found = offer(rule([2] * nodes, 2), node("restricted", nodes))
    assert (found.hints is not None, found.usable is not None) == (listed, listed)
    assert found.status is OfferStatus.USABLE


@pytest.mark.parametrize(
    ("policy", "free", "request_", "status", "usable"),
    [
        ("restricted", {3: 2}, 2, OfferStatus.USABLE, None),
        ("restricted", {3: 2}, 3, OfferStatus.UNUSABLE, None),
        ("restricted", {3: 2}, 40, OfferStatus.IMPOSSIBLE, None),
        ("single-numa-node", {0: 2, 5: 2}, 2, OfferStatus.USABLE, ["0", "5"]),
        ("single-numa-node", {3: 2}, 3, OfferStatus.UNUSABLE, []),
    ],
)
def test_what_a_policy_accepts_if_hints_are_not_listed(
    policy: str, free: dict[int, int], request_: int, status: OfferStatus, usable: list[str] | None
) -> None:
    counts = {**dict.fromkeys(range(LISTED_NODES + 1), 1), **free}
    hints = rule(list(counts.values()), request_)
    found = offer(hints, node(policy, LISTED_NODES + 1))
    assert (found.status, found.hints) == (status, None)
    sets = None if found.usable is None else sorted(str(CPUSet(nodes)) for nodes in found.usable)
    assert sets == usable


def test_a_single_node_is_accepted_only_if_its_hint_is_preferred() -> None:
    """The preferred size may be more than one node, although one has enough."""
    nodes = LISTED_NODES + 1
    found = offer(rule([2] * nodes, 2, width=2), node("single-numa-node", nodes))
    assert (found.status, found.usable) == (OfferStatus.UNUSABLE, frozenset())


@pytest.mark.parametrize(
    ("resource", "container", "request_"),
    [
        ("memory", ONE, 2 * GIB),
        ("memory", TWO, 3 * GIB),
        ("memory", None, 5 * GIB),
        ("hugepages-2Mi", ONE, None),
        ("example.com/card", ONE, 3),
        ("example.com/card", TWO, None),
        ("example.com/card", None, 3),
    ],
)
def test_the_requested_amount(resource: str, container: Container | None, request_: int | None) -> None:
    (found,) = offers({resource: [LEFT]}, node(), container)
    assert found.request == request_
    assert offers({resource: None}, node(), container)[0].request is None


def test_requested_memory_is_unknown_if_it_is_not_a_whole_number() -> None:
    pod = named("a", whole(1, memory="1.5Gi"), static=True)
    requested = HintRound(container=pod.containers[0], answers={"cpu": {"memory": []}}, merged=MERGED)
    (found,) = round_of(requested, pod, node()).offers
    assert found.request is None


def test_a_round_is_named_after_its_container() -> None:
    rounds = [
        round_of(HintRound(container=each, answers={}, merged=MERGED), POD, node()) for each in (TWO, None)
    ]
    assert [(told_.name, told_.container, told_.merged) for told_ in rounds] == [
        ("two", TWO, MERGED),
        ("", None, MERGED),
    ]
