"""How long each search goes on, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.explanation import Explanation, explain
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    FOUR_NODES,
    explained,
    found,
    named,
    reported,
    scenario,
    whole,
)
from tests.support.pods import app


@pytest.fixture(scope="module")
def restarted() -> Explanation:
    """A kubelet that restarts with sixty pods rejects the last one because no whole core is free."""
    pods = *(named(f"p{number}", app("cpu=1m")) for number in range(59)), named("asked", whole(4))
    first = reported(scenario(EIGHT, *pods, **CORES))

    def start(_kubelet: Any) -> Any:
        return first.after.copy()

    return explain(reported(replace(first.scenario, start=start, restarted=True)))


def test_every_kind_of_change_has_its_bound(restarted: Explanation) -> None:
    bounds = {str(search.kind): search.bound for search in restarted.searches}
    assert bounds == {"request": 2000, "setting": 4000, "removal": 3000, "order": 2000}


def test_a_search_that_ends_before_its_bound_is_incomplete(restarted: Explanation) -> None:
    """After a restart, every change takes a full run of all sixty pods, or of one less."""
    search = found(restarted, "removal")
    assert (search.found, search.runs, search.complete) == ((), 50 * 59, False)
    assert found(restarted, "setting").complete


def test_five_removals_are_sought_and_three_kept() -> None:
    """Each is tried on the node as it is, then replayed from the start."""
    pods = [named(f"p{number}", whole(1)) for number in range(7)]
    search = found(explained(EIGHT, *pods, named("asked", whole(1))), "removal")
    assert (len(search.found), search.runs, search.complete) == (3, 5 * (1 + 8), True)


def test_three_places_are_sought_and_the_cheapest_is_kept() -> None:
    pods = [named(f"p{number}", whole(1)) for number in range(7)]
    search = found(explained(EIGHT, *pods, named("asked", whole(1))), "order")
    assert (len(search.found), search.runs) == (1, 3 * (1 + 8))


def test_all_settings_are_sought() -> None:
    explanation = explained(FOUR_NODES, named("asked", whole(17)), topology_manager_policy="single-numa-node")
    assert len(found(explanation, "setting").found) == 3
