"""Which container's request is changed, and which other request is the first that helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.requests import containers_to_change
from cpuctl.engine.explain.searches.trials import Choice, first_admitted
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Quantity
from tests.engine.explain.scenarios import EIGHT, TWO_NODES, divided, named, reported, scenario, whole
from tests.support.pods import app, init

DIVIDING: dict[str, Any] = {
    "topology_manager_policy": "restricted",
    "topology_manager_scope": "pod",
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
THREE = app("cpu=2", name="two"), app("cpu=4", name="four"), app("memory=1Gi", name="none")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    pod: StoredPod
    askers: list[str]
    container: str = ""
    resource: str = "cpu"
    divides: bool = False


CASES = [
    Case("the container that requests most", named("a", *THREE), ["four"]),
    Case("the rejected container", named("a", *THREE), ["two"], container="two"),
    Case("the rejected container, which requests none", named("a", *THREE), ["four"], container="none"),
    Case("no container requests it", named("a", *THREE), [], resource="hugepages-2Mi"),
    Case("nothing is requested", named("a", app("cpu=0")), []),
    Case("an init container", named("a", init("cpu=3"), app("cpu=2")), ["init"]),
    Case("the pod, too", divided("a", "cpu=8 memory=2Gi", *THREE), ["two", ""], "two", divides=True),
    Case("the pod alone", divided("a", "cpu=8 memory=2Gi", *THREE), [""], divides=True),
    Case("a pod without a share", divided("a", "memory=2Gi", *THREE), ["two"], "two", divides=True),
    Case("a share of nothing", divided("a", "cpu=0", *THREE), ["two"], "two", divides=True),
    Case("a pod that is not divided", divided("a", "cpu=8 memory=2Gi", *THREE), ["four"]),
    Case("a pod that has nothing to divide", named("a", *THREE), ["four"], divides=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_whose_request_is_changed(case: Case) -> None:
    replay = reported(scenario(TWO_NODES, case.pod, **(DIVIDING if case.divides else {})))
    decision = Decision(rule=Rule.UNKNOWN, why="", container=case.container)
    askers = containers_to_change(replay, decision, case.resource)
    assert [asker.name for asker in askers] == case.askers


def cpus(*counts: int, container: str = "main") -> list[Choice]:
    return [{(container, "cpu"): Quantity.from_value(count)} for count in counts]


def tried(replay: Replay, choices: list[Choice], runs: SearchBudget | None = None) -> list[dict[str, str]]:
    changes = first_admitted(replay, choices, runs or SearchBudget())
    return [{each.container: f"{each.before}->{each.after}" for each in change.amounts} for change in changes]


def test_the_first_that_is_admitted_ends_the_trials() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(9))))
    runs = SearchBudget()
    assert tried(replay, cpus(8, 7, 6), runs) == [{"main": "9->7"}]
    assert runs.made == 2


def test_trials_end_at_the_bound() -> None:
    runs = SearchBudget(bound=2)
    assert tried(reported(scenario(EIGHT, named("a", whole(20)))), cpus(10, 9, 8, 7), runs) == []
    assert (runs.made, runs.cut) == (2, True)


def test_unchanged_amounts_are_not_part_of_a_change() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(9), whole(1, "other"))))
    same: Choice = {("main", "cpu"): Quantity.from_value(5), ("other", "cpu"): Quantity.from_value(1)}
    assert tried(replay, [same]) == [{"main": "9->5"}]


def test_a_choice_that_changes_nothing_is_not_a_suggestion() -> None:
    """The pod is admitted as it is, with the same request as before."""
    replay = reported(scenario(EIGHT, named("a", whole(7))))
    assert tried(replay, cpus(7)) == []
    assert tried(replay, cpus(7, 6)) == [{"main": "7->6"}]


def test_a_change_of_the_pods_qos_class_is_not_a_suggestion() -> None:
    nothing: Choice = {("main", "memory"): Quantity()}
    replay = reported(scenario(EIGHT, named("a", whole(9))))
    assert tried(replay, [nothing, *cpus(6)]) == [{"main": "9->6"}]


def test_an_empty_name_means_the_pod_itself() -> None:
    pod = divided("a", "cpu=4 memory=8Gi", whole(2, "one"), whole(3, "two"))
    replay = reported(scenario(TWO_NODES, pod, **DIVIDING))
    assert tried(replay, cpus(5, container="")) == [{"": "4->5"}]


def test_trials_leave_the_node_as_it_was() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(2)), named("b", whole(9))))
    before = replay.before.state_file()
    assert tried(replay, cpus(5)) == [{"main": "9->5"}]
    assert replay.before.state_file() == before
