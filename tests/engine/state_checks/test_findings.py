"""How many findings of one kind are told."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace, limited
from cpuctl.records import replace

ONE = StateFinding(Severity.WARNING, "held-twice", StatePlace("a"), "text", fix="fix it")
REST = StateFinding(Severity.WARNING, "held-twice", StatePlace("a"), "")


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (50, []),
        (51, [replace(REST, message="1 more of the same kind")]),
        (199, [replace(REST, message="149 more of the same kind")]),
    ],
)
def test_one_kind_does_not_bury_the_others(count: int, rest: list[StateFinding]) -> None:
    """Findings are alike where file, code and severity are the same."""
    others = [replace(ONE, severity=Severity.ERROR), ONE.at(StatePlace("b")), replace(ONE, code="other")]
    assert [*limited([*[ONE] * count, *others])] == [*[ONE] * 50, *others, *rest]


def test_findings_stay_in_their_order() -> None:
    mixed = [replace(ONE, code=str(number % 3), message=str(number)) for number in range(12)]
    assert [*limited(mixed)] == mixed
