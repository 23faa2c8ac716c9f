"""How one kubelet release behaves: one value, with a field for every one of ``DIFFERENCES``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cpuctl.kubelet.differences import DIFFERENCES


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviours:
    """One release: a field is true where the difference of that name (``DIFFERENCES``) is in force.

    Where the difference has a gate, that has to be on, too.
    """

    aligns_distribution_to_sockets: bool
    checks_each_enforcement: bool
    copies_combinations: bool
    counts_pod_level_requests_for_new_nodes: bool
    counts_pod_level_requests_for_replicas: bool
    counts_sidecars_for_replicas: bool
    counts_whole_groups: bool
    default_inode_threshold_of_images: bool
    defaults_pod_level_last: bool
    defaults_pod_level_limits: bool
    delays_scale_down: bool
    drop_ins: bool
    drop_ins_without_variable: bool
    empty_pod_level_resources_do_not_count: bool
    enables_pod_level_resources: bool
    enforces_compressible: bool
    floors_distribution_by_hint: bool
    keeps_baselines: bool
    knows_no_swap: bool
    lifts_quota_of_exclusive_cpus: bool
    limits_shares_to_whole_groups: bool
    memory_throttling_is_opt_in: bool
    pod_level_hugepages: bool
    pod_scope_memory_hints_after_restart: bool
    protects_memory_by_class: bool
    refuses_cgroup_v1_by_default: bool
    refuses_cpu_checkpoint_v1: bool
    resizes_by_default: bool
    resizes_exclusive_cpus: bool
    resizes_pod_level_resources: bool
    restores_pod_level_cpus: bool
    restores_pod_level_memory: bool
    spreads_over_real_cores: bool
    takes_cfs_periods: bool
    tells_pod_level_limits_inside: bool
    tolerates_pod_level_cpu_state: bool
    writes_cpu_checkpoint_v4: bool
    writes_memory_checkpoint_v3: bool


@cache
def behaviours(minor: int) -> Behaviours:
    """Return how kubelet 1.*minor* behaves."""
    return Behaviours(**{name: minor >= difference.since for name, difference in DIFFERENCES.items()})
