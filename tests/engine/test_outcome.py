"""Outcomes of unlike kinds are unlike, whatever they hold, and none passes for plain data."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from cpuctl.engine.outcome import (
    Admitted,
    AllocationError,
    FaultKind,
    Forbidden,
    KubeletFault,
    Picked,
    Rejected,
    StartRefused,
    Undetermined,
)

OUTCOMES = (
    Admitted(),
    AllocationError("x"),
    Forbidden(("x",)),
    KubeletFault(FaultKind.CRASH, "x", "x"),
    Picked(0),
    Rejected("x", "x"),
    StartRefused("x", "x"),
    Undetermined("x"),
)


def test_outcomes_of_unlike_kinds_are_never_equal() -> None:
    assert [pair for pair in combinations(OUTCOMES, 2) if pair[0] == pair[1]] == []
    assert len({type(each) for each in OUTCOMES}) == len(OUTCOMES)


@pytest.mark.parametrize(
    "outcome",
    [each for each in OUTCOMES if not isinstance(each, Picked)],
    ids=lambda each: type(each).__name__,
)
def test_no_verdict_is_written_as_a_list(outcome: object) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(outcome)
