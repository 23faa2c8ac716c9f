"""When a node is looked at: soon after a change, in the long run never for more than a share of a CPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.watching.pace import BURST, NO_LATER, QUIET, Pace

SHARE = 0.02


def looked(pace: Pace, now: float, cost: float = 0.0) -> Pace:
    pace.looked(now, cost)
    return pace


def test_a_change_is_looked_at_when_it_is_quiet_again() -> None:
    pace = looked(Pace(300, SHARE), 100)
    assert pace.next_inspection() == 400
    pace.noticed(110)
    assert pace.next_inspection() == 110 + QUIET
    pace.noticed(110.4)
    assert pace.next_inspection() == 110.4 + QUIET
    pace.noticed(112.9)
    assert pace.next_inspection() == 110 + NO_LATER
    assert looked(pace, 113).next_inspection() == 413


def test_what_is_due_is_looked_at_but_not_all_the_time() -> None:
    pace = looked(Pace(300, SHARE), 100)
    assert pace.next_inspection(due=107) == 107
    assert pace.next_inspection(due=50) == 100 + QUIET


@given(
    cost=st.floats(0.01, 5),
    gaps=st.lists(st.floats(0, 5), min_size=50, max_size=200),
)
def test_a_storm_of_changes_takes_a_share_of_a_cpu(cost: float, gaps: list[float]) -> None:
    pace, now = looked(Pace(300, SHARE), 0, cost), 0.0
    for looks, gap in enumerate(gaps, start=1):
        now += gap
        pace.noticed(now)
        moment = pace.next_inspection()
        now = max(now, moment)
        pace.looked(now, cost)
        # What was there for a burst, what has come since, and the look that overdraws it.
        assert looks * cost <= (BURST + 1) * cost + now * SHARE + 1e-6


def test_the_first_changes_of_a_quiet_node_are_looked_at_at_once() -> None:
    pace, now = looked(Pace(300, SHARE), 0, 1.0), 0.0
    for _ in range(BURST - 1):
        now += 5
        pace.noticed(now)
        assert pace.next_inspection() == now + QUIET
        pace.looked(now + QUIET, 1.0)


def test_who_has_spent_all_waits_until_it_is_earned() -> None:
    pace = looked(Pace(300, SHARE), 0, 1.0)
    for _ in range(BURST):
        pace.looked(0, 1.0)
    pace.noticed(0)
    assert pace.next_inspection() == pytest.approx(1 / SHARE)


def test_samples_that_cost_much_are_taken_less_often() -> None:
    pace = Pace(300, SHARE)
    assert pace.pause(2, 0.02) == 2
    assert pace.pause(2, 0.2) == pytest.approx(10)
