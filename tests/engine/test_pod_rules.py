"""Rules of pods by release and gates; they agree with the list of differences."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_rules import cgroup_settings, differences_in_force, node_rules, server_rules
from cpuctl.kubelet.behaviours import behaviours
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.feature_gates import FeatureGates
from cpuctl.kubelet.version import NEWEST, OLDEST

MINORS = range(OLDEST, NEWEST + 1)
OFF = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}


@pytest.mark.parametrize("minor", MINORS)
def test_rules_agree_with_the_differences(minor: int) -> None:
    gates, release = FeatureGates.for_minor(minor), behaviours(minor)
    server, node = server_rules(gates), node_rules(gates)
    assert server.pod_level == node.pod_level == release.enables_pod_level_resources
    assert server.hugepages == release.pod_level_hugepages
    assert server.defaults_pod_level_last == release.defaults_pod_level_last
    assert server.pod_level_limits == release.defaults_pod_level_limits
    assert node.empty_counts == (not release.empty_pod_level_resources_do_not_count)
    assert not node.managers
    settings = cgroup_settings(KubeletConfiguration(), gates)
    assert settings.lifts_quota == release.lifts_quota_of_exclusive_cpus
    assert (settings.throttling_factor is None) == release.memory_throttling_is_opt_in


def test_gates_decide() -> None:
    off = FeatureGates.for_minor(36).with_overrides(OFF)
    assert not server_rules(off).pod_level
    assert not node_rules(off).pod_level
    alpha = FeatureGates.for_minor(32).with_overrides({"PodLevelResources": True})
    assert node_rules(alpha).pod_level


def test_settings_follow_the_configuration() -> None:
    config = KubeletConfiguration(
        cpu_cfs_quota=False,
        cpu_cfs_quota_period=10_000_000,
        pod_pids_limit=100,
        memory_throttling_factor=0.5,
        memory_reservation_policy="TieredReservation",
    )
    gates = FeatureGates.for_minor(36).with_overrides({"MemoryQoS": True})
    settings = cgroup_settings(config, gates, allocatable_memory=5, page_sizes=(2,))
    assert (settings.cfs_quota, settings.period, settings.pids_limit) == (False, 10_000, 100)
    assert (settings.memory_qos, settings.throttling_factor, settings.tiered) == (True, 0.5, True)
    assert (settings.allocatable_memory, settings.page_sizes) == (5, (2,))
    without = gates.with_overrides({"CustomCPUCFSQuotaPeriod": False})
    assert cgroup_settings(config, without).period == 100_000


def test_differences_in_force_look_at_both_sides() -> None:
    old, new = FeatureGates.for_minor(32), FeatureGates.for_minor(37)
    assert set(differences_in_force(old, old)) == {"counts_sidecars_for_replicas"}
    assert set(differences_in_force(old, new)) == {
        "counts_sidecars_for_replicas",
        "lifts_quota_of_exclusive_cpus",
        "enables_pod_level_resources",
        "pod_level_hugepages",
        "tells_pod_level_limits_inside",
        "takes_cfs_periods",
        "protects_memory_by_class",
        "memory_throttling_is_opt_in",
        "empty_pod_level_resources_do_not_count",
    }
    assert "defaults_pod_level_limits" in differences_in_force(new, old)
