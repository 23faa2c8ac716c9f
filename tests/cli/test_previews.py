"""Where the previews of KEP-5554 and KEP-6122 leave questions open, the answer says so."""

from __future__ import annotations

from typing import Any

import yaml

from tests.cli.conftest import ROOT, Cpuctl

SCENARIO_2 = "fixtures/timelines/scenario-2.yaml"
FINAL = (
    "according to KEP-5554 this is final, although CPUs 9,19 of default/one/app become free when their "
    "delay has expired (KEP-6122): request the resize again then"
)
OVER = "the delay restarts with any resize of the pod"


def replayed(cpuctl: Cpuctl, *more: dict[str, Any]) -> str:
    timeline = yaml.safe_load((ROOT / SCENARIO_2).read_text())
    events = [event for event in timeline["events"] if "resize" in event or "admit" in event]
    timeline["events"] = sorted(
        [*({k: v for k, v in event.items() if k not in ("expect", "note")} for event in events), *more],
        key=lambda event: _milliseconds(event["at"]),
    )
    result = cpuctl("replay", "-", "-q", stdin=yaml.safe_dump(timeline).encode(), columns=400)
    assert result.code == 0, result.err
    return result.out


def _milliseconds(text: str) -> float:
    return float(text[:-2]) if text.endswith("ms") else float(text[:-1]) * 1000


def test_a_final_rejection_names_the_cpus_that_become_free(cpuctl: Cpuctl) -> None:
    assert " ".join(replayed(cpuctl).split()).count(FINAL) == 1


def test_a_final_rejection_with_no_cpus_to_be_released_names_none(cpuctl: Cpuctl) -> None:
    """Before pod one shrinks, no CPUs are held back."""
    early = {"at": "1500ms", "resize": {"pod": "two", "cpu": 6}}
    out = " ".join(replayed(cpuctl, early).split())
    assert (out.count("resize is infeasible"), out.count(FINAL)) == (2, 1)


def test_a_resize_of_memory_alone_restarts_the_delay_and_says_so(cpuctl: Cpuctl) -> None:
    assert OVER not in replayed(cpuctl)
    out = replayed(cpuctl, {"at": "4s", "resize": {"pod": "one", "memory": "2Gi"}})
    assert f"4s one app will release CPUs 9,19 after 5s and keep CPUs 1,11; {OVER}" in " ".join(out.split())
