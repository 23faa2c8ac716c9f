"""Every rule that can decide: a story that ends by it, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.node import Node
from cpuctl.engine.start import Kubelet
from tests.engine.explain.rules.cases import BEST_EFFORT, CASES, RESTRICTED, SINGLE, Case
from tests.engine.explain.stories import (
    TWO_NODES,
    explained,
    named,
    story,
    told,
    whole,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rule_that_decided(case: Case) -> None:
    decision = explained(case.info, *case.pods, fit=case.fit, **case.config).decision
    assert decision.rule is case.rule
    assert decision.why == case.why
    assert (decision.container, decision.provider) == (case.container, case.provider)


def test_every_rule_that_a_story_can_end_by_has_one() -> None:
    elsewhere = {Rule.UNKNOWN, Rule.HUGE_PAGES_ALONE, Rule.OTHER_ASSIGNMENT, Rule.UNHEALTHY_DEVICES}
    assert {case.rule for case in CASES} == set(Rule) - elsewhere


def test_the_pod_as_a_whole_is_refused_in_pod_scope() -> None:
    config = SINGLE | {"topology_manager_scope": "pod"}
    explanation = explained(TWO_NODES, named("a", whole(5, "one"), whole(5, "two")), **config)
    assert (explanation.decision.rule, explanation.decision.container) == (Rule.LARGER_THAN_A_NODE, "")
    assert [told.name for told in explanation.rounds] == [""]


def test_an_admitted_pod_that_is_not_aligned_says_why() -> None:
    pods = named("a", whole(4)), named("b", whole(4)), named("c", whole(6))
    explanation = explained(TWO_NODES, *pods, **BEST_EFFORT)
    assert explanation.decision.rule is Rule.ADMITTED
    (unmet,) = explanation.unaligned
    assert (unmet.rule, unmet.container) == (Rule.WIDTH_FROM_CAPACITY, "main")
    assert unmet.why.endswith("what is free now takes 2, and best-effort takes it all the same")
    assert explained(TWO_NODES, pods[0], **BEST_EFFORT).unaligned == ()


def test_an_assignment_of_another_size_makes_hints_impossible() -> None:
    before = story(TWO_NODES, named("a", whole(2)), **RESTRICTED)
    node = told(before).after

    def found_by_the_kubelet(_kubelet: Kubelet) -> Node:
        return node.copy()

    grown = replace(before, start=found_by_the_kubelet, pods=(named("a", whole(4)),))
    assert explain(told(grown)).decision.rule is Rule.OTHER_ASSIGNMENT
