"""Planning on a live machine: the answer agrees with the kernel's facts about the CPUs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from tests.guest.conftest import Observed

pytestmark = pytest.mark.guest

RESERVED = CPUSet.parse("0-1")
"""As in kubelet.yaml."""


@pytest.fixture
def plan(observed: Observed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(observed.text("plan.json"))
    return document


def test_a_pod_gets_whole_online_cores_that_are_not_reserved(
    observed: Observed, plan: dict[str, Any]
) -> None:
    """A kubelet rounds CPUs per core down: if one CPU is offline, each of the others counts as a core."""
    (pod,) = plan["pods"]
    assert pod["outcome"] == "Admitted"
    (container,) = pod["containers"]
    cpus = CPUSet.parse(container["cpus"])
    assert len(cpus) == 2
    assert cpus.isdisjoint(RESERVED)
    assert len({observed.lscpu()[cpu]["core"] for cpu in cpus}) <= 2 // plan["node"]["cpusPerCore"]


def test_the_plan_counts_online_cpus(observed: Observed, plan: dict[str, Any]) -> None:
    running = CPUSet.of(observed.lscpu())
    cores = {row["core"] for row in observed.lscpu().values()}
    assert plan["node"]["cpus"] == len(running)
    assert plan["node"]["cpusPerCore"] == len(running) // len(cores)
    assert CPUSet.parse(plan["node"]["allocatableCPUs"]) == running - RESERVED
