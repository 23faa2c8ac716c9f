"""When a node is checked: soon after a change, but in the long run with only a share of a CPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.watching.pace import BURST, NO_LATER, QUIET, Pace

SHARE = 0.02


def looked(pace: Pace, now: float, cost: float = 0.0) -> Pace:
    pace.looked(now, cost)
    return pace


def test_a_change_is_checked_once_changes_stop() -> None:
    pace = looked(Pace(300, SHARE), 100)
    assert pace.next_inspection() == 400
    pace.noticed(110)
    assert pace.next_inspection() == 110 + QUIET
    pace.noticed(110.4)
    assert pace.next_inspection() == 110.4 + QUIET
    pace.noticed(112.9)
    assert pace.next_inspection() == 110 + NO_LATER
    assert looked(pace, 113).next_inspection() == 413


def test_due_checks_have_a_minimum_interval() -> None:
    pace = looked(Pace(300, SHARE), 100)
    assert pace.next_inspection(due=107) == 107
    assert pace.next_inspection(due=50) == 100 + QUIET


@given(
    cost=st.floats(0.01, 5),
    gaps=st.lists(st.floats(0, 5), min_size=50, max_size=200),
)
def test_many_changes_take_only_a_share_of_a_cpu(cost: float, gaps: list[float]) -> None:
    pace, now = looked(Pace(300, SHARE), 0, cost), 0.0
    for looks, gap in enumerate(gaps, start=1):
        now += gap
        pace.noticed(now)
        moment = pace.next_inspection()
        now = max(now, moment)
        pace.looked(now, cost)
        # The budget for a burst, what was added since, and the check that overdraws it.
        assert looks * cost <= (BURST + 1) * cost + now * SHARE + 1e-6


def test_the_first_changes_of_a_quiet_node_are_checked_soon() -> None:
    pace, now = looked(Pace(300, SHARE), 0, 1.0), 0.0
    for _ in range(BURST - 1):
        now += 5
        pace.noticed(now)
        assert pace.next_inspection() == now + QUIET
        pace.looked(now + QUIET, 1.0)


def test_a_spent_budget_delays_the_next_check() -> None:
    pace = looked(Pace(300, SHARE), 0, 1.0)
    for _ in range(BURST):
        pace.looked(0, 1.0)
    pace.noticed(0)
    assert pace.next_inspection() == pytest.approx(1 / SHARE)


def test_expensive_samples_are_taken_less_often() -> None:
    pace = Pace(300, SHARE)
    assert pace.pause(2, 0.02) == 2
    assert pace.pause(2, 0.2) == pytest.approx(10)
