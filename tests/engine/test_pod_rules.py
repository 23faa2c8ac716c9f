"""Rules for pods by release and feature gates agree with the list of differences."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_rules import cgroup_settings, differences_in_force, node_rules, server_rules
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import NEWEST, OLDEST

MINORS = range(OLDEST, NEWEST + 1)
OFF = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}


@pytest.mark.parametrize("minor", MINORS)
def test_rules_agree_with_the_differences(minor: int) -> None:
    gates = FeatureGates.for_minor(minor)
    begun = {name for name, difference in DIFFERENCES.items() if minor >= difference.since}
    server, node = server_rules(gates), node_rules(gates)
    assert server.pod_level == node.pod_level == ("enables_pod_level_resources" in begun)
    assert server.hugepages == ("pod_level_hugepages" in begun)
    assert server.defaults_pod_level_last == ("defaults_pod_level_last" in begun)
    assert server.pod_level_limits == ("defaults_pod_level_limits" in begun)
    assert node.empty_counts == ("empty_pod_level_resources_do_not_count" not in begun)
    assert not node.managers
    settings = cgroup_settings(KubeletConfiguration(), gates)
    assert settings.minor == minor
    assert settings.lifts_quota == ("lifts_quota_of_exclusive_cpus" in begun)
    assert settings.throttling_factor == (None if "memory_throttling_is_opt_in" in begun else 0.9)
    assert (settings.allocatable_memory, settings.page_sizes) == (None, ())


def test_gates_determine_the_rules() -> None:
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


@pytest.mark.parametrize("period", [0, 999, -1_000_000])
def test_a_period_with_which_no_kubelet_starts_is_not_written(period: int) -> None:
    config = KubeletConfiguration(cpu_cfs_quota_period=period)
    assert cgroup_settings(config, FeatureGates.for_minor(36)).period == 100_000


def test_differences_consider_server_and_node() -> None:
    old, new = FeatureGates.for_minor(32), FeatureGates.for_minor(37)
    assert set(differences_in_force(old, old)) == {"counts_sidecars_for_replicas"}
    assert set(differences_in_force(old, new)) == {
        "counts_sidecars_for_replicas",
        "lifts_quota_of_exclusive_cpus",
        "enables_pod_level_resources",
        "pod_level_hugepages",
        "shows_pod_level_limits_inside",
        "takes_cfs_periods",
        "protects_memory_by_class",
        "memory_throttling_is_opt_in",
        "empty_pod_level_resources_do_not_count",
    }
    assert "defaults_pod_level_limits" in differences_in_force(new, old)


def test_differences_are_sorted_by_release() -> None:
    gates = FeatureGates.for_minor(37)
    begun = [difference.since for difference in differences_in_force(gates, gates).values()]
    assert begun == sorted(begun)
    assert len(set(begun)) > 2
