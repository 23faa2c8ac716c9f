"""What would change an answer: found by trial, replayed from the start, within a bound."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, replay_scenario
from cpuctl.engine.explain.searches.changes import EarlierPosition, Removal, RequestChange, SettingChange
from cpuctl.engine.explain.searches.searches import Search, earlier_positions, removals
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import QosClass, StoredPod
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    FOUR_NODES,
    RESTRICTED,
    TWO_NODES,
    divided,
    explained,
    found,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.pods import app

DIVIDING: dict[str, Any] = {
    "topology_manager_scope": "pod",
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
TEN = with_memory(TWO_NODES, 10)


def requests(search: Search) -> list[dict[str, str]]:
    """Return what each suggestion requests, by container."""
    changes = [suggestion.change for suggestion in search.found]
    assert all(isinstance(change, RequestChange) for change in changes)
    return [
        {each.container: str(each.after) for each in change.amounts}
        for change in changes
        if isinstance(change, RequestChange)
    ]


def settings(search: Search) -> set[str]:
    return {
        f"{change.option or change.setting}={change.after}"
        for change in (suggestion.change for suggestion in search.found)
        if isinstance(change, SettingChange)
    }


def removed(search: Search) -> list[list[str]]:
    changes = [suggestion.change for suggestion in search.found]
    return [[pod.name for pod in change.pods] for change in changes if isinstance(change, Removal)]


def test_only_a_higher_limit_makes_room_for_another_pod() -> None:
    """With full-pcpus-only the first pod is rejected, which makes room, too, but is no help."""
    pods = [named("odd", whole(3)), *(named(name, app("cpu=100m")) for name in "abc")]
    assert settings(found(explained(EIGHT, *pods, fit=True, max_pods=3), "setting")) == {"maxPods=4"}


def test_no_setting_is_tried_for_what_the_node_lacks() -> None:
    explanation = explained(EIGHT, named("a", whole(3)), named("b", app("cpu=6")), fit=True)
    assert explanation.decision.rule is Rule.NODE_FIT
    assert (found(explanation, "setting").runs, found(explanation, "setting").found) == (0, ())


def test_the_largest_request_that_is_admitted_now() -> None:
    explanation = explained(EIGHT, named("a", whole(3)), named("b", whole(6)))
    assert requests(found(explanation, "request")) == [{"main": "4"}]


def test_a_larger_request_can_be_admitted_though_a_smaller_one_is_not() -> None:
    """A request that needs two nodes even if they are empty may use two."""
    sizes = {"a": 3, "b": 4, "c": 5, "d": 3}
    before = reported(
        scenario(TWO_NODES, *(named(name, whole(cpus)) for name, cpus in sizes.items()), **RESTRICTED)
    )
    node = before.after
    node.remove("b")
    node.remove("c")
    requested = replace(
        before.scenario, start=lambda _kubelet: node.copy(), pods=(named("e", whole(6)),), position=0
    )
    explanation = explain(reported(requested))
    assert explanation.decision.rule == "widthFromCapacity"
    assert requests(found(explanation, "request")) == [{"main": "5"}, {"main": "9"}]


def test_requests_are_rounded_to_whole_cores() -> None:
    explanation = explained(EIGHT, named("a", whole(3)), **CORES)
    assert requests(found(explanation, "request")) == [{"main": "2"}, {"main": "4"}]


def test_all_containers_get_less_if_changing_one_is_not_enough() -> None:
    pod = named("a", whole(3, "one"), whole(1, "two"))
    explanation = explained(EIGHT, pod, **CORES)
    assert requests(found(explanation, "request")) == [{"one": "2", "two": "2"}, {"one": "4", "two": "2"}]


def test_cpus_and_memory_shrink_together_if_neither_is_enough() -> None:
    pod = named("a", whole(32, memory="64Gi"))
    explanation = explained(TEN, pod, **RESTRICTED, **memory_config())
    (change,) = [suggestion.change for suggestion in found(explanation, "request").found]
    assert isinstance(change, RequestChange)
    assert {each.resource: str(each.after) for each in change.amounts} == {"cpu": "8", "memory": "9Gi"}


def test_less_memory_that_fits_is_what_a_set_of_nodes_has() -> None:
    pods = named("a", whole(1, memory="2Gi")), named("b", whole(1, memory="12Gi"))
    explanation = explained(TEN, *pods, **memory_config())
    assert requests(found(explanation, "request")) == [{"main": "9Gi"}]


def test_a_quantity_is_rewritten() -> None:
    explanation = explained(TEN, named("a", whole(1, memory="1.5Gi"), static=True), **memory_config())
    assert requests(found(explanation, "request"))[0] == {"main": "1536Mi"}


def test_a_divided_pod_requests_more_at_pod_level() -> None:
    """Nothing is left for its shared container until the pod has one more CPU."""
    shared = app("cpu=1 memory=1Gi", name="shared")
    config = {**RESTRICTED, **DIVIDING}
    explanation = explained(TWO_NODES, divided("a", "cpu=2 memory=2Gi", whole(2), shared), **config)
    assert explanation.decision.rule == "emptyPool"
    assert requests(found(explanation, "request")) == [{"": "3"}]


def test_a_container_of_a_divided_pod_requests_less_or_the_pod_requests_more() -> None:
    pod = divided("a", "cpu=4 memory=8Gi", whole(2, "one"), whole(3, "two"))
    explanation = explained(TWO_NODES, pod, **RESTRICTED, **DIVIDING)
    assert requests(found(explanation, "request")) == [{"two": "2"}, {"": "5"}]


def test_a_smaller_request_keeps_the_qos_class() -> None:
    """Without memory the pod would be Burstable and be admitted with shared CPUs."""
    explanation = explained(EIGHT, named("a", whole(5, memory="4Mi"), whole(5, "two", "4Mi")), **RESTRICTED)
    for suggestion in found(explanation, "request").found:
        assert suggestion.replayed.admission.qos.qos_class is QosClass.GUARANTEED


def test_a_node_that_is_too_small_admits_less() -> None:
    pods = named("a", whole(2)), named("b", app("cpu=7500m", "cpu=7500m"))
    explanation = explained(EIGHT, *pods, fit=True)
    assert requests(found(explanation, "request")) == [{"main": "5"}]
    assert removed(found(explanation, "removal")) == []


def test_settings_that_a_kubelet_rejects_are_never_suggested() -> None:
    explanation = explained(EIGHT, named("a", whole(3)), **CORES)
    search = found(explanation, "setting")
    assert settings(search) == {"full-pcpus-only=false"}
    assert search.complete


def test_another_policy_and_what_it_allocates() -> None:
    explanation = explained(TWO_NODES, named("a", whole(9)), topology_manager_policy="single-numa-node")
    search = found(explanation, "setting")
    assert settings(search) == {
        f"topologyManagerPolicy={other}" for other in ("restricted", "best-effort", "none")
    }
    assert {suggestion.replayed.admission.placements[0].cpus.bit_count() for suggestion in search.found} == {
        9
    }


def test_another_scope() -> None:
    pod = named("a", whole(5, "one"), whole(5, "two"))
    config: dict[str, Any] = {
        "topology_manager_policy": "single-numa-node",
        "topology_manager_scope": "pod",
    }
    assert "topologyManagerScope=container" in settings(found(explained(TWO_NODES, pod, **config), "setting"))


def test_the_smallest_pods_whose_removal_is_enough_come_first() -> None:
    pods = named("large", whole(4)), named("small", whole(2)), named("asked", whole(2))
    explanation = explained(EIGHT, *pods)
    assert removed(found(explanation, "removal")) == [["small"], ["large"]]


def test_two_pods_are_removed_if_one_is_not_enough() -> None:
    pods = (*(named(name, whole(2)) for name in "abc"), named("asked", whole(4)))
    search = found(explained(EIGHT, *pods), "removal")
    assert removed(search) == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_a_removal_frees_exactly_what_the_pod_held() -> None:
    """Removing a pod differs from never having admitted it: later pods keep the CPUs they have."""
    explanation = explained(
        TWO_NODES, *(named(name, whole(4)) for name in "abc"), named("d", whole(5)), **RESTRICTED
    )
    for suggestion in found(explanation, "removal").found:
        (gone,) = suggestion.replayed.scenario.removed
        node = suggestion.replayed.before
        kept = {uid for uid in node.cpu.state.assignments if uid != gone}
        assert kept == {"a", "b", "c"} - {gone}


def test_no_pod_whose_removal_is_enough() -> None:
    search = found(explained(EIGHT, named("a", whole(2)), named("b", whole(8))), "removal")
    assert (search.found, search.complete) == ((), True)


def test_an_earlier_place_names_the_pods_that_are_then_rejected() -> None:
    pods = named("a", whole(2)), named("b", whole(4)), named("c", whole(4))
    search = found(explained(EIGHT, *pods), "order")
    (suggestion,) = search.found
    assert suggestion.change == EarlierPosition(1, (pods[1],))
    assert [pod.name for pod in suggestion.lost] == ["b"]


def test_a_place_at_which_no_other_pod_is_rejected_is_preferred() -> None:
    """Right before c it takes what c needs; before b all pods fit."""
    sizes = {"a": 1, "b": 3, "c": 4, "d": 6}
    pods = [named(name, whole(cpus)) for name, cpus in sizes.items()]
    (suggestion,) = found(explained(TWO_NODES, *pods, **RESTRICTED), "order").found
    assert suggestion.change == EarlierPosition(1, (pods[1], pods[2]))
    assert suggestion.lost == ()


def test_very_early_places_are_not_tried() -> None:
    """A copy of the node is kept for every place, so not for all of them."""
    pods = [named(f"p{number}", app("cpu=1m")) for number in range(300)]
    requested = named("asked", whole(9))
    runs, fewer = SearchBudget(), SearchBudget()
    assert list(earlier_positions(reported(scenario(EIGHT, *pods, requested)), runs)) == []
    assert (runs.made, runs.left_out) == (255, "positions more than 255 pods earlier")
    assert list(earlier_positions(reported(scenario(EIGHT, *pods[:255], requested)), fewer)) == []
    assert (fewer.made, fewer.left_out) == (255, "")


def test_every_suggestion_is_a_full_run_that_admits() -> None:
    pods = named("a", whole(4)), named("b", whole(4)), named("c", whole(6))
    explanation = explained(TWO_NODES, *pods, **RESTRICTED)
    suggestions = [suggestion for search in explanation.searches for suggestion in search.found]
    assert {suggestion.change.kind for suggestion in suggestions} >= {"request", "setting", "removal"}
    for suggestion in suggestions:
        assert isinstance(reported(suggestion.replayed.scenario).admission.verdict, Admitted)


def test_a_search_that_reaches_its_bound_is_marked_as_cut() -> None:
    replay = reported(
        scenario(EIGHT, *(named(name, whole(1)) for name in "abcdef"), named("asked", whole(7)))
    )
    runs = SearchBudget(bound=3)
    assert list(removals(replay, runs)) == []
    assert (runs.made, runs.cut) == (3, True)


def test_of_very_many_pods_only_the_largest_are_paired() -> None:
    pods = [named(f"p{number}", whole(1)) for number in range(50)]
    runs = SearchBudget()
    assert list(removals(reported(scenario(FOUR_NODES, *pods, named("asked", whole(40)))), runs)) == []
    assert (runs.cut, runs.left_out) == (False, "pairs with pods other than the 40 largest")
    assert runs.made == 50 + 40 * 39 // 2


def test_every_run_of_the_engine_is_reported() -> None:
    ticks: list[None] = []
    replay = reported(scenario(EIGHT, named("a", whole(3)), named("b", whole(6))))
    explanation = explain(replay, lambda: ticks.append(None))
    assert len(ticks) == sum(search.runs for search in explanation.searches)


def test_trials_do_not_change_the_replay() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(3)), named("b", whole(6))))
    before = [str(CPUSet(node.cpu.state.default)) for node in (*replay.nodes_before, replay.after)]
    explain(replay)
    assert [str(CPUSet(node.cpu.state.default)) for node in (*replay.nodes_before, replay.after)] == before


def running(*pods: StoredPod, **config: Any) -> Any:
    """Restart a kubelet that has admitted pods; its state stays the same."""
    first = reported(scenario(EIGHT, *pods, **config))

    def restarted(_kubelet: Any) -> Any:
        node = first.after.copy()
        node.resume(pods)
        return node

    return replace(first.scenario, start=restarted, restarted=True)


def test_a_restart_can_reject_running_pods() -> None:
    """The kubelet counts whole cores before it checks what the container has."""
    explanation = explain(reported(running(named("a", whole(2)), named("b", whole(4)), **CORES)))
    assert explanation.decision.rule == "freeCores"
    assert "kubernetes/kubernetes#129078" in {defect.reference for defect in explanation.defects}
    assert removed(found(explanation, "removal")) == []
    assert found(explanation, "request").runs == found(explanation, "order").runs == 0


@pytest.mark.parametrize("restarted", [False, True])
def test_a_pod_removed_before_a_restart_does_not_come_back(restarted: bool) -> None:
    pods = named("a", whole(2)), named("b", whole(2))
    again = running(*pods) if restarted else scenario(EIGHT, *pods)
    replayed = reported(replace(again, removed=frozenset({"a"})))
    assert replayed.admission.pod.name == "b"
    assert "a" not in replayed.after.cpu.state.assignments


PODS = named("a", whole(2)), named("b", whole(4)), named("c", whole(4))


def remembering(one: Scenario, back: int) -> Replay:
    replay = replay_scenario(one, SearchBudget(), remembered=back)
    assert isinstance(replay, Replay)
    return replay


def test_every_place_is_tried_on_the_node_as_it_was_then() -> None:
    places = list(earlier_positions(reported(scenario(EIGHT, *PODS)), SearchBudget()))
    assert places == [EarlierPosition(1, PODS[1:2]), EarlierPosition(0, PODS[:2])]


def test_nothing_is_tried_beyond_the_bound() -> None:
    runs = SearchBudget(bound=1)
    assert list(earlier_positions(reported(scenario(EIGHT, *PODS)), runs)) == [EarlierPosition(1, PODS[1:2])]
    assert (runs.made, runs.cut) == (1, True)


@pytest.mark.parametrize(("back", "all_of_them"), [(2, False), (3, True)])
def test_places_without_a_kept_node_are_left_out(back: int, all_of_them: bool) -> None:
    runs = SearchBudget()
    assert len(list(earlier_positions(remembering(scenario(EIGHT, *PODS), back), runs))) == back - 1
    assert (runs.left_out == "") == all_of_them


def test_a_restart_has_no_order_to_choose() -> None:
    again = replace(
        reported(scenario(EIGHT, *PODS)), scenario=replace(scenario(EIGHT, *PODS), restarted=True)
    )
    runs = SearchBudget()
    assert list(earlier_positions(again, runs)) == []
    assert (runs.made, runs.left_out) == (0, "")
