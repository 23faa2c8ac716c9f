"""Of two findings with one cause, that of the state files is shown, unless it is less severe."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.exports.same_cause import findings_of_audit

FILE = "cpu_manager_state"


@pytest.mark.parametrize(
    ("audited", "verified", "shown"),
    [
        ("error", ["error"], False),
        ("warning", ["error"], False),
        ("error", ["warning"], True),
        ("error", ["warning", "error"], True),
        ("error", [], True),
    ],
)
def test_a_finding_is_never_replaced_by_a_less_severe_one(
    audited: str, verified: list[str], shown: object
) -> None:
    twice = {"code": "held-twice", "severity": audited, "subject": "shop/db", "uid": "1"}
    audit: Any = {"findings": [twice]}
    state: Any = {
        "findings": [
            {"code": code, "severity": severity, "file": FILE, "podUID": "1"}
            for code, severity in zip(("held-twice", "held-and-shared"), verified, strict=False)
        ]
    }
    assert findings_of_audit(audit, state) == ([twice] if shown else [])
