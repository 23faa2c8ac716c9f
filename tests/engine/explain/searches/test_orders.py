"""Places in the order at which a pod would have been admitted."""

from __future__ import annotations

import pytest

from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, replay_scenario
from cpuctl.engine.explain.searches.changes import EarlierPosition
from cpuctl.engine.explain.searches.searches import earlier_positions
from cpuctl.records import replace
from tests.engine.explain.scenarios import EIGHT, named, scenario, told, whole

PODS = named("a", whole(2)), named("b", whole(4)), named("c", whole(4))


def remembering(one: Scenario, back: int) -> Replay:
    replay = replay_scenario(one, SearchBudget(), remembered=back)
    assert isinstance(replay, Replay)
    return replay


def test_every_place_is_tried_on_the_node_as_it_was_there() -> None:
    places = list(earlier_positions(told(scenario(EIGHT, *PODS)), SearchBudget()))
    assert places == [EarlierPosition(1, PODS[1:2]), EarlierPosition(0, PODS[:2])]


def test_nothing_is_tried_beyond_the_bound() -> None:
    runs = SearchBudget(bound=1)
    assert list(earlier_positions(told(scenario(EIGHT, *PODS)), runs)) == [EarlierPosition(1, PODS[1:2])]
    assert (runs.made, runs.cut) == (1, True)


@pytest.mark.parametrize(("back", "all_of_them"), [(2, False), (3, True)])
def test_places_that_are_not_remembered_are_left_out(back: int, all_of_them: bool) -> None:
    runs = SearchBudget()
    assert len(list(earlier_positions(remembering(scenario(EIGHT, *PODS), back), runs))) == back - 1
    assert (runs.left_out == "") == all_of_them


def test_a_restart_has_no_order_to_choose() -> None:
    again = replace(told(scenario(EIGHT, *PODS)), scenario=replace(scenario(EIGHT, *PODS), restarted=True))
    runs = SearchBudget()
    assert list(earlier_positions(again, runs)) == []
    assert (runs.made, runs.left_out) == (0, "")
