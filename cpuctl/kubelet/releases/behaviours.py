"""How one kubelet release behaves: one value, with a field for everything its number alone determines."""

from functools import cache

from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.records import Record


class Behaviours(Record):
    """One release: a field is true if the difference of that name (``DIFFERENCES``) is in force.

    If the difference has a gate, that gate must also be on. Behaviour that depends only on a gate or a state
    file format has no field: see ``FeatureGates`` and ``cpuctl.checkpoints``.
    """

    aligns_distribution_to_sockets: bool
    collects_locked_gates: bool
    compares_memory_of_groups: bool
    compares_resizes_with_absolute_allocatable: bool
    copies_combinations: bool
    counts_claims_in_cgroups: bool
    counts_claims_that_no_container_names: bool
    counts_whole_groups: bool
    default_inode_threshold_of_images: bool
    defaults_after_drop_ins: bool
    defaults_by_gates: bool
    delays_scale_down: bool
    drop_ins: bool
    drop_ins_without_variable: bool
    fits_zero_requests: bool
    floors_distribution_by_hint: bool
    forbids_whole_containers: bool
    forgets_removed_pods: bool
    has_gate_of_exclusive_memory: bool
    has_resize_subresource: bool
    ignores_missing_devices_of_inits: bool
    ignores_topology_options_of_none: bool
    keeps_allocated_pods: bool
    keeps_baselines: bool
    keeps_sidecars_apart: bool
    knows_best_effort_memory: bool
    knows_books: bool
    knows_sidecars: bool
    leaves_resize_capacity_to_server: bool
    limits_shares_to_whole_groups: bool
    lowercases_topology_errors: bool
    lowers_memory_limits: bool
    lowers_oom_scores_of_sidecars: bool
    managers_read_requests: bool
    managers_reject_by_resource: bool
    managers_reject_resizes: bool
    memory_throttling_is_opt_in: bool
    merges_drop_ins_as_text: bool
    names_gate_of_pod_level_resizes: bool
    odd_requests_fit_caches: bool
    orders_pending_resizes: bool
    pod_scope_memory_hints_after_restart: bool
    rejects_cgroup_v1_by_default: bool
    rejects_claims_of_static_pods: bool
    rejects_memory_resizes_with_static_manager: bool
    rejects_overlapping_memory_groups: bool
    rejects_pod_level_resources_switched_off: bool
    rejects_references_of_static_pods: bool
    rejects_resizes_with_swap: bool
    reports_expected_capacity: bool
    reports_missing_cpu_count: bool
    reports_no_free_cores: bool
    reports_resizes_in_conditions: bool
    resizes_exclusive_cpus: bool
    resizes_pods_with_counted_claims: bool
    resizes_sidecars: bool
    restarts_for_lower_memory_limits: bool
    restarts_for_memory_requests: bool
    restores_pod_level_cpus: bool
    restores_pod_level_memory: bool
    returns_actuated_error: bool
    skips_pod_level_pods: bool
    spreads_over_real_cores: bool
    walks_only_nodes_with_devices: bool


@cache
def behaviours(minor: int, patch: int | None = None, turned: frozenset[str] = frozenset()) -> Behaviours:
    """Return how kubelet 1.*minor*.*patch* behaves; without a patch, the last known one.

    Differences in *turned* are inverted, which shows what each of them decides.
    """
    holds = {name: DIFFERENCES[name].holds(minor, patch) for name in Behaviours._fields}
    return Behaviours(**{name: value != (name in turned) for name, value in holds.items()})
