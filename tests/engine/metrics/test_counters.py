"""What each manager counts, tested separately."""

from __future__ import annotations

from collections import Counter

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.metrics import CPUMetrics
from cpuctl.engine.masks import NO_CPUS
from cpuctl.engine.memory.provider import MemoryMetrics
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from tests.support.changed import changed
from tests.support.topologies import mask, regular

THREE_CACHES = regular(cores=6, cores_per_cache=2)


@pytest.mark.parametrize(("cpus", "aligned"), [("2", 1), ("2-3", 1), ("1-2", 0), ("1,3,5", 0)])
def test_cpus_of_one_cache_are_aligned(cpus: str, aligned: int) -> None:
    reserved = CPUReservation(1, CPUSet.parse("0"))
    policy = StaticPolicy.construct(THREE_CACHES, CPUPolicyOptions(), reserved, behaviours(36))
    metrics = CPUMetrics.at_start(policy, policy.fresh_state())
    metrics.pod_picked(policy, mask(cpus), NO_CPUS)
    assert metrics.aligned == {"uncore_cache": aligned, "physical_cpu": 0}


def test_a_pod_whose_memory_is_rejected_counts_only_as_an_error() -> None:
    metrics = MemoryMetrics()
    metrics.pod([True, True, False], failed=True)
    assert metrics == changed(MemoryMetrics(), pinning_errors=1, errors=Counter(pod=1))


def test_containers_with_their_own_memory_and_those_that_share_count_separately() -> None:
    metrics = MemoryMetrics()
    metrics.pod([True, True, False], failed=False)
    assert metrics == changed(
        MemoryMetrics(),
        pinning_requests=2,
        allocations=Counter(pod=3),
        assignments=Counter(pod_exclusive=2, pod_shared=1),
    )
