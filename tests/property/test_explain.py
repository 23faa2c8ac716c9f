"""Explanations of drawn stories: a rule for every refusal, suggestions that no shorter way contradicts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.searches.changes import Earlier, RequestChange
from cpuctl.engine.explain.story import Story, Telling
from cpuctl.engine.outcome import Admitted
from tests.engine.explain.stories import (
    EIGHT,
    TWO_NODES,
    found,
    memory_config,
    named,
    story,
    told,
    whole,
    with_memory,
)

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 10)), min_size=1, max_size=5)
POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])
OPTIONS = st.sampled_from([{}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"}])


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw a kubelet and one-container pods of some CPUs and Gi of memory."""
    config: dict[str, Any] = {
        "topology_manager_policy": draw(POLICIES),
        "topology_manager_scope": draw(st.sampled_from(["container", "pod"])),
        "cpu_manager_policy_options": draw(OPTIONS),
    }
    nodes = draw(st.sampled_from([1, 2]))
    if draw(st.booleans()):
        config |= memory_config(nodes)
    pods = [
        named(f"p{number}", whole(cpus, memory=f"{gib}Gi")) for number, (cpus, gib) in enumerate(draw(SIZES))
    ]
    machine = with_memory({1: EIGHT, 2: TWO_NODES}[nodes], 12)
    return story(machine, *pods, fit=draw(st.booleans()), **config)


def with_cpus(telling: Telling, count: int) -> bool:
    """Tell whether the pod would be admitted in its place with that many CPUs."""
    (container,) = telling.story.pod.containers
    memory = str(container.resources.requests["memory"])
    pod = named(telling.story.pod.name, whole(count, memory=memory))
    return isinstance(telling.before.copy().admit(pod).verdict, Admitted)


@given(stories())
def test_every_refusal_has_a_rule_and_no_suggestion_is_idle(one: Story) -> None:
    telling = told(one)
    explanation = explain(telling)
    admitted = isinstance(telling.admission.verdict, Admitted)
    assert (explanation.decision.rule is Rule.ADMITTED) == admitted
    assert explanation.decision.rule is not Rule.UNKNOWN
    assert bool(explanation.searches) == (not admitted)
    for search in explanation.searches:
        assert search.runs <= search.bound
        for suggestion in search.found:
            again = told(suggestion.change.applied(one))
            assert isinstance(again.admission.verdict, Admitted)
            others = {pod.uid for pod in one.pods} - again.story.removed - {one.pod.uid}
            assert {pod.uid for pod in suggestion.lost} == (telling.admitted & others) - again.admitted


@given(stories())
def test_no_larger_request_below_and_no_smaller_one_above_is_admitted(one: Story) -> None:
    telling = told(one)
    if isinstance(telling.admission.verdict, Admitted):
        return
    explanation = explain(telling)
    if explanation.decision.provider != "cpu":
        return
    before = one.pod.containers[0].resources.requests["cpu"].value
    changes = [suggestion.change for suggestion in found(explanation, "request").found]
    counts = [
        amount.after.value
        for change in changes
        if isinstance(change, RequestChange)
        for amount in change.amounts
        if amount.resource == "cpu" and len(change.amounts) == 1
    ]
    below, above = (
        [count for count in counts if count < before],
        [count for count in counts if count > before],
    )
    assert not any(with_cpus(telling, count) for count in range(max(below, default=0) + 1, before))
    assert not any(with_cpus(telling, count) for count in range(before + 1, min(above, default=16)))


@given(stories())
def test_coming_earlier_moves_one_pod_and_nothing_else(one: Story) -> None:
    for place in range(one.asked):
        moved = Earlier(place, one.pods[place : one.asked]).applied(one)
        assert moved.pod == one.pod
        assert [pod for pod in moved.pods if pod != one.pod] == [pod for pod in one.pods if pod != one.pod]


@given(stories())
def test_a_story_told_twice_is_the_same(one: Story) -> None:
    first, second = told(one), told(one._replace())
    assert [each.verdict for each in first.admissions] == [each.verdict for each in second.admissions]
    assert first.after.cpu.state == second.after.cpu.state
