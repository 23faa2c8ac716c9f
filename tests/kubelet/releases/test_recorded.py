"""Exactly what was recorded on a release is reported as verified on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.releases.recorded import RECORDED, Topic, not_verified, topics_of_decisions, unrecorded
from cpuctl.kubelet.version import NEWEST, OLDEST
from docs.generate.releases import recorded_answers

ROOT = Path(__file__).parents[3]
RECORDINGS: Mapping[Topic, frozenset[str]] = {
    "admission": frozenset({"admission"}),
    "exclusive CPUs": frozenset({"assignment"}),
    "topology hints": frozenset({"hints"}),
    "memory on NUMA nodes": frozenset({"memory"}),
    "pod-level resources": frozenset({"podlevel"}),
    "QoS classes and OOM scores": frozenset({"qos"}),
    "cgroup values": frozenset({"cgroupvalues"}),
    "in-place resizes": frozenset({"resize"}),
    "state files": frozenset({"checkpoint"}),
    "the configuration": frozenset({"config", "validation"}),
    "pod validation": frozenset({"lint"}),
}


@pytest.fixture(scope="module")
def recorded() -> Mapping[tuple[str, int], int]:
    return recorded_answers(ROOT)


@pytest.mark.parametrize("topic", RECORDED)
def test_the_table_is_that_of_the_recordings(topic: Topic, recorded: Mapping[tuple[str, int], int]) -> None:
    found = [
        minor
        for minor in range(OLDEST, NEWEST + 1)
        if all(recorded.get((name, minor)) for name in RECORDINGS[topic])
    ]
    assert list(RECORDED[topic]) == found


def test_1_36_is_verified_in_all_topics() -> None:
    assert unrecorded(36, RECORDED) == []


def test_unverified_topics_name_their_basis() -> None:
    requested: list[Topic] = ["admission", "in-place resizes"]
    assert unrecorded(29, requested) == ["in-place resizes"]
    assert not_verified(29, ["in-place resizes"]) == "on 1.29: in-place resizes (from its source code)"
    assert not_verified(38, requested) == (
        "on 1.38: admission, in-place resizes (assumed to be as in 1.36, except for known differences)"
    )


def test_a_decision_is_about_the_managers_that_are_on() -> None:
    plain = topics_of_decisions(KubeletConfiguration(), pod_level=False)
    assert plain == ["admission"]
    config = KubeletConfiguration(
        cpu_manager_policy="static", memory_manager_policy="Static", topology_manager_policy="restricted"
    )
    assert topics_of_decisions(config, pod_level=True) == [
        *("admission", "exclusive CPUs", "topology hints", "memory on NUMA nodes", "pod-level resources")
    ]
