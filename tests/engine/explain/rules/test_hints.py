"""Why the hints of a round merge into none that is preferred: whose offer decided, and the explanation."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.devices.allocation import DeviceHints
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.offers import Offer, OfferStatus, Round
from cpuctl.engine.explain.rules import hint_decision
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NODE_0, CPUMask, NodeMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.pods.model import Container
from tests.engine.explain.scenarios import FOUR_NODES, divided, named, reported, scenario, whole
from tests.support.pods import app

POD = named("a", whole(2))
(MAIN,) = POD.containers
NO = Merged(Hint(NodeMask(0b11), preferred=False), admit=False)
SINGLE = "single-numa-node"


def seen(policy: str = "restricted", **more: Any) -> Node:
    return reported(scenario(FOUR_NODES, named("b", whole(1)), topology_manager_policy=policy, **more)).before


def offer(
    provider: str, status: OfferStatus, usable: frozenset[NodeMask] = frozenset(), **more: Any
) -> Offer:
    return Offer(provider=provider, resource=provider, status=status, usable=usable, **more)


def decision(*offers: Offer, merged: Merged | KubeletFault = NO, node: Node | None = None) -> Decision | None:
    told_ = Round(container=MAIN, offers=offers, merged=merged)
    return hint_decision(told_, node or seen(), POD)


def test_a_preferred_hint_leaves_nothing_to_explain() -> None:
    bad = offer("cpu", OfferStatus.IMPOSSIBLE)
    assert decision(bad, merged=Merged(Hint(NodeMask(1), preferred=True), admit=True)) is None
    assert decision(bad, merged=KubeletFault(kind=FaultKind.CRASH, where="here", why="so")) is None
    assert decision(bad) is not None


def test_an_impossible_offer_decides_before_an_unusable_one() -> None:
    first, second = offer("memory", OfferStatus.UNUSABLE), offer("example.com/card", OfferStatus.IMPOSSIBLE)
    found = decision(first, second)
    assert found is not None
    assert (found.provider, found.container) == ("example.com/card", "main")
    found = decision(offer("devices", OfferStatus.USABLE), first, offer("cpu", OfferStatus.UNUSABLE))
    assert found is not None
    assert found.provider == "memory"


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        (
            "cpu",
            "it already holds a different number of exclusive CPUs than it requests now: no hint can fit",
        ),
        (
            "example.com/card",
            "the example.com/card it already holds is on NUMA nodes that do not fit",
        ),
    ],
)
def test_a_list_without_a_rule_comes_from_what_the_container_holds(provider: str, why: str) -> None:
    assert decision(offer(provider, OfferStatus.IMPOSSIBLE)) == Decision(
        rule=Rule.OTHER_ASSIGNMENT, why=why, container="main", provider=provider
    )


@pytest.mark.parametrize(("holds", "rule"), [(False, Rule.EMPTY_POOL), (True, Rule.OTHER_ASSIGNMENT)])
def test_a_new_divided_pod_has_nothing_left_for_its_pool(holds: bool, rule: Rule) -> None:
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    node = seen(topology_manager_scope="pod", feature_gates=gates)
    shared: Container = app("cpu=1 memory=1Gi", name="shared")
    pod = divided("a", "cpu=2 memory=2Gi", whole(2), shared)
    if holds:
        node.cpu.state.assignments["a"] = {"main": CPUMask(0b110)}
    found = hint_decision(
        Round(container=None, offers=(offer("memory", OfferStatus.IMPOSSIBLE),), merged=NO), node, pod
    )
    assert found is not None
    assert (found.rule, found.container, found.provider) == (rule, "", "memory")
    if not holds:
        assert found.why == (
            "the containers with their own memory requests use all memory of the pod: "
            "nothing is left for the others"
        )


def cards(free: dict[int, int], everywhere: int, request: int) -> DeviceHints:
    """Make hints for devices, with the same number next to each of four nodes."""
    nodes = {NODE_0 << node: everywhere for node in range(4)}
    return DeviceHints.generate(
        NodeMask(0b1111), nodes, {NODE_0 << node: count for node, count in free.items()}, {}, request
    )


WIDE = "would have enough example.com/card when empty, so only sets of that size are preferred"
ALONE = "single-numa-node accepts only hints of one NUMA node, and no node has"
IMPOSSIBLE = "it requests more example.com/card than is free on the node"


@pytest.mark.parametrize(
    ("policy", "hints", "rule", "why"),
    [
        ("restricted", cards({0: 1}, 4, 2), Rule.NOT_ENOUGH, IMPOSSIBLE),
        (SINGLE, cards({0: 4, 1: 4}, 4, 5), Rule.LARGER_THAN_A_NODE, f"{ALONE} that much example.com/card"),
        (SINGLE, cards({0: 1, 1: 1}, 4, 2), Rule.NO_SINGLE_NODE, f"{ALONE} enough example.com/card free"),
        (
            "restricted",
            cards({0: 2, 1: 2, 2: 2}, 4, 5),
            Rule.WIDTH_FROM_CAPACITY,
            f"2 NUMA nodes {WIDE}; now 3 NUMA nodes are needed",
        ),
        (
            "restricted",
            cards({0: 1, 1: 1}, 4, 2),
            Rule.WIDTH_FROM_CAPACITY,
            f"1 NUMA node {WIDE}; now 2 NUMA nodes are needed",
        ),
    ],
)
def test_why_no_hint_for_devices_is_accepted(policy: str, hints: DeviceHints, rule: Rule, why: str) -> None:
    status = OfferStatus.UNUSABLE if hints.narrowest else OfferStatus.IMPOSSIBLE
    found = decision(offer("example.com/card", status, rule=hints), node=seen(policy))
    assert found == Decision(rule=rule, why=why, container="main", provider="example.com/card")


@pytest.mark.parametrize(
    ("admit", "hints"), [(False, "hints that the policy accepts"), (True, "preferred hints")]
)
def test_providers_that_want_different_nodes_disagree(admit: bool, hints: str) -> None:
    """Small sets come before large ones, then low nodes; providers without a preference are left out.

    A policy that admits the pod all the same, best-effort, accepts all hints.
    """
    found = decision(
        offer("cpu", OfferStatus.USABLE, frozenset(map(NodeMask, (0b11, 0b10000, 0b1)))),
        offer("devices", OfferStatus.NO_PREFERENCE),
        offer("memory", OfferStatus.USABLE, frozenset({NodeMask(0b1111)})),
        merged=Merged(NO.hint, admit=admit),
    )
    assert found == Decision(
        rule=Rule.MASK_INEQUALITY,
        why=f"every provider has {hints}, but these have no set of NUMA nodes in "
        "common: cpu NUMA node 0 or NUMA node 4 or NUMA nodes 0-1; memory NUMA nodes 0-3",
        container="main",
    )
