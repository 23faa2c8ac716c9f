"""What an explanation shows of a decision: offers, the share of each pod in a node, known oddities."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.explanation import Explanation
from cpuctl.engine.explain.offers import LISTED_NODES, Offer, OfferStatus
from tests.engine.explain.scenarios import (
    EIGHT,
    GIB,
    RESTRICTED,
    SINGLE,
    TWO_NODES,
    explained,
    memory_config,
    named,
    whole,
    with_memory,
)
from tests.support.pods import app
from tests.support.topologies import CoreAt, machine_info

TEN = with_memory(TWO_NODES, 10)
MANY_NODES = machine_info(CoreAt(cpus=(node,), numa_node=node) for node in range(LISTED_NODES + 1))
MANY: dict[str, Any] = {"topology_manager_policy_options": {"max-allowable-numa-nodes": "16"}}


def offers(explanation: Explanation) -> dict[str, Offer]:
    (reported,) = explanation.rounds
    return {offer.provider: offer for offer in reported.offers}


def sets(masks: frozenset[int] | None) -> list[str] | None:
    return None if masks is None else sorted(str(CPUSet(mask)) for mask in masks)


def test_offers_show_hints_and_what_the_policy_accepts() -> None:
    explanation = explained(TWO_NODES, named("a", whole(4)), named("b", whole(6)), **RESTRICTED)
    offer = offers(explanation)["cpu"]
    assert offer.hints is not None
    assert [(hint.nodes, hint.preferred) for hint in offer.hints] == [(0b10, True), (0b11, False)]
    assert (offer.request, offer.status, sets(offer.usable)) == (6, OfferStatus.USABLE, ["1"])
    assert offers(explanation)["memory"].status is OfferStatus.NO_PREFERENCE


def test_single_numa_node_accepts_no_wide_hint() -> None:
    offer = offers(explained(TWO_NODES, named("a", whole(9)), **SINGLE))["cpu"]
    assert (offer.status, offer.usable) == (OfferStatus.UNUSABLE, frozenset())
    assert sets(offers(explained(TWO_NODES, named("a", whole(9)), **RESTRICTED))["cpu"].usable) == ["0-1"]


def test_memory_without_any_hint_has_no_influence() -> None:
    pods = named("a", whole(1)), named("b", whole(1, memory="12Gi"))
    explanation = explained(TEN, *pods, **RESTRICTED, **memory_config())
    offer = offers(explanation)["memory"]
    assert (offer.status, offer.request) == (OfferStatus.NO_HINTS, 12 * GIB)
    assert any("does not influence" in defect.text for defect in explanation.defects)


@pytest.mark.parametrize(("config", "usable"), [(RESTRICTED, None), (SINGLE, frozenset())])
def test_hints_of_many_nodes_are_not_listed(config: dict[str, Any], usable: frozenset[int] | None) -> None:
    reserved: dict[str, Any] = {"reserved_system_cpus": "0"}
    explanation = explained(MANY_NODES, named("a", whole(2)), **config, **MANY, **reserved)
    offer = offers(explanation)["cpu"]
    assert (offer.hints, offer.usable) == (None, usable)
    assert offer.status is (OfferStatus.USABLE if usable is None else OfferStatus.UNUSABLE)


def test_every_cpu_of_a_node_is_in_exactly_one_share() -> None:
    pods = named("a", whole(3)), named("b", whole(2, "one"), whole(20, "two"))
    explanation = explained(TWO_NODES, *pods, reserved_system_cpus="0-1")
    for share in explanation.shares:
        parts = (share.reserved, share.own, share.held, share.free)
        assert sum(parts) == share.cpus
        assert sum(part.bit_count() for part in parts) == share.cpus.bit_count()
    totals = [sum(mask.bit_count() for mask in masks) for masks in _columns(explanation)]
    assert totals == [2, 2, 3, 9]


def _columns(explanation: Explanation) -> list[list[int]]:
    shares = explanation.shares
    return [[getattr(share, part) for share in shares] for part in ("reserved", "own", "held", "free")]


def test_an_admitted_pod_is_shown_the_node_that_it_found() -> None:
    """What an ended pod held counts as free: it is cleaned up when the next pod is admitted."""
    explanation = explained(EIGHT, named("a", whole(2), whole(9, "no")), named("b", whole(2)))
    (share,) = explanation.shares
    assert (str(CPUSet(share.free)), share.held, share.own) == ("1-7", 0, 0)
    assert explanation.holders == ()


def test_holders_are_named_with_what_they_hold() -> None:
    pods = named("a", whole(2, memory="3Gi")), named("b", app("cpu=1")), named("c", whole(20))
    (holder,) = explained(TEN, *pods, **memory_config()).holders
    assert (holder.name, str(CPUSet(holder.cpus)), holder.running) == ("default/a", "1,9", True)
    assert holder.memory == {("memory", 1): 3 * GIB}


def test_without_the_static_policy_there_is_nothing_to_show() -> None:
    explanation = explained(EIGHT, named("a", whole(2)), cpu_manager_policy="none", reserved_system_cpus="")
    assert (explanation.shares, explanation.holders, explanation.rounds) == ((), (), ())
