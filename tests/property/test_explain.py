"""Explanations of drawn scenarios: a rule for every rejection, and suggestions confirmed by direct trials."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.scenario import Replay, Scenario
from cpuctl.engine.explain.searches.changes import EarlierPosition, RequestChange
from cpuctl.engine.outcome import Admitted
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    EIGHT,
    TWO_NODES,
    found,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 10)), min_size=1, max_size=5)
POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])
OPTIONS = st.sampled_from([{}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"}])


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
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
    return scenario(machine, *pods, fit=draw(st.booleans()), **config)


def with_cpus(replay: Replay, count: int) -> bool:
    """Return whether the pod would be admitted at its position with that many CPUs."""
    (container,) = replay.scenario.pod.containers
    memory = str(container.resources.requests["memory"])
    pod = named(replay.scenario.pod.name, whole(count, memory=memory))
    return isinstance(replay.before.copy().admit(pod).verdict, Admitted)


@given(scenarios())
def test_every_rejection_has_a_rule_and_no_suggestion_is_idle(one: Scenario) -> None:
    replay = reported(one)
    explanation = explain(replay)
    admitted = isinstance(replay.admission.verdict, Admitted)
    assert (explanation.decision.rule is Rule.ADMITTED) == admitted
    assert explanation.decision.rule is not Rule.UNKNOWN
    assert bool(explanation.searches) == (not admitted or bool(explanation.unaligned))
    for search in explanation.searches:
        assert search.runs <= search.bound
        for suggestion in search.found:
            again = reported(suggestion.change.applied(one))
            assert isinstance(again.admission.verdict, Admitted)
            assert not explanation.unaligned or not explain(again).unaligned
            others = {pod.uid for pod in one.pods} - again.scenario.removed - {one.pod.uid}
            assert {pod.uid for pod in suggestion.lost} == (replay.admitted & others) - again.admitted


@given(scenarios())
def test_no_larger_request_below_and_no_smaller_one_above_is_admitted(one: Scenario) -> None:
    replay = reported(one)
    if isinstance(replay.admission.verdict, Admitted):
        return
    explanation = explain(replay)
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
    assert not any(with_cpus(replay, count) for count in range(max(below, default=0) + 1, before))
    assert not any(with_cpus(replay, count) for count in range(before + 1, min(above, default=16)))


@given(scenarios())
def test_an_earlier_position_moves_one_pod_and_nothing_else(one: Scenario) -> None:
    for place in range(one.position):
        moved = EarlierPosition(place, one.pods[place : one.position]).applied(one)
        assert moved.pod == one.pod
        assert [pod for pod in moved.pods if pod != one.pod] == [pod for pod in one.pods if pod != one.pod]


@given(scenarios())
def test_a_scenario_replayed_twice_is_the_same(one: Scenario) -> None:
    first, second = reported(one), reported(replace(one))
    assert [each.verdict for each in first.admissions] == [each.verdict for each in second.admissions]
    assert first.after.cpu.state == second.after.cpu.state
