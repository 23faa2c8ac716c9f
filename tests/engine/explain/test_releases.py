"""Which releases an explanation names: those that decide otherwise, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.known_defects import MOST_PODS, release_notes
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.records import replace
from tests.engine.explain.scenarios import scenario, told
from tests.support.pods import app, pod

MACHINE = read_machine("synthetic:1s1n16c2t,l3=4,near").info
UNCORE: dict[str, Any] = {
    "reserved_system_cpus": "0-1",
    "cpu_manager_policy_options": {"prefer-align-cpus-by-uncorecache": "true"},
    "feature_gates": {"CPUManagerPolicyAlphaOptions": True, "CPUManagerPolicyBetaOptions": True},
}


def notes(version: str, cpus: int, before: int = 0) -> list[str]:
    amounts = f"cpu={cpus} memory=1Gi"
    pods = [pod(app("cpu=100m"))._replace(uid=f"b{number}") for number in range(before)]
    one = scenario(MACHINE, *pods, pod(app(amounts, amounts))._replace(uid="a"), **UNCORE)
    kubelet = replace(one.kubelet, version=KubeletVersion.parse(version))
    return [note.text for note in release_notes(told(replace(one, kubelet=kubelet)))]


SPREADS = "prefer-align-cpus-by-uncorecache spreads an odd number of CPUs over several caches"
TAKES = "prefer-align-cpus-by-uncorecache takes an odd number of CPUs from one cache"


@pytest.mark.parametrize(
    ("version", "cpus", "want"),
    [
        ("1.33.4", 7, [f"from 1.34, 1.33.7 on, {TAKES}"]),
        ("1.32", 7, [f"from 1.34, 1.33.7 on, {TAKES}; no known patch of 1.32 does"]),
        (
            "1.33.13",
            7,
            [f"since 1.34, 1.33.7; before, {SPREADS}"],
        ),
        ("1.33.4", 6, []),
    ],
)
def test_differences_that_decide_are_named(version: str, cpus: int, want: list[str]) -> None:
    assert notes(version, cpus) == want


def test_long_stories_are_not_told_again() -> None:
    assert notes("1.33.4", 7, before=MOST_PODS - 1)
    assert notes("1.33.4", 7, before=MOST_PODS) == []
