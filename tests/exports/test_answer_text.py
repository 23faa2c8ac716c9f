"""Sentences about a node that several layouts share."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.exports.answer_text import starts_first
from cpuctl.option_names import EMPTY_STATE


@pytest.mark.parametrize(
    ("source", "first"),
    [
        (None, True),
        (EMPTY_STATE, True),
        (f"{EMPTY_STATE}, because there is no /var/lib/kubelet/cpu_manager_state", True),
        (f"no cpu_manager_state in node7: {EMPTY_STATE}", True),
        ("/var/lib/kubelet/cpu_manager_state", False),
    ],
)
def test_a_kubelet_without_state_files_has_not_started_yet(source: str | None, *, first: bool) -> None:
    sources = {} if source is None else {"state": {"value": source, "from": "given"}}
    running = {"runningPods": {"value": "pods.json", "from": "given"}}
    answers: list[Any] = [
        {"sources": sources},
        {"sources": sources, "state": {}},
        {"sources": sources | running},
    ]
    assert [*map(starts_first, answers)] == [first, False, False]
