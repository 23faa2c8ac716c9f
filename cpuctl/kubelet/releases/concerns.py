"""Which differences between releases affect a configuration."""

from collections.abc import Callable, Iterator, Mapping

from cpuctl.golang.conversions import reads_true
from cpuctl.golang.durations import MILLISECOND
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.policy_options import (
    ALIGN_BY_SOCKET,
    DISTRIBUTE_CORES,
    DISTRIBUTE_NUMA,
    FULL_PCPUS_ONLY,
    MAX_NODES,
    PREFER_UNCORE,
    SCALE_DELAY,
)
from cpuctl.kubelet.releases.difference import Area, Difference
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.records import Record

_DEFAULT_PERIOD = 100 * MILLISECOND
_STATIC_PODS = frozenset({"staticPodPath", "staticPodURL"})
_ENFORCEMENT = frozenset({"cgroupsPerQOS", "enforceNodeAllocatable"})


class FeatureUse(Record):
    """What a configuration uses; ``many_nodes``: more NUMA nodes than the usual eight.

    ``books``: the machine has books and drawers (s390x), or its architecture is unknown. ``cpu_state_v1``:
    its cpu_manager_state has format 1, which no kubelet since 1.18 has written.
    """

    static_cpus: bool
    static_memory: bool
    topology: bool
    topology_options: bool
    many_nodes: bool
    pod_scope: bool
    options: frozenset[str]
    own_cfs_period: bool
    swap: bool
    qos_reserved: bool
    drop_ins: bool
    pod_level_managers: bool
    claims: bool
    counted_claims: bool
    pod_level_off: bool
    set_fields: frozenset[str]
    books: bool = True
    cpu_state_v1: bool = False

    @classmethod
    def of(
        cls,
        config: KubeletConfiguration,
        set_fields: frozenset[str],
        *,
        drop_ins: bool,
        gates: Mapping[str, bool],
        books: bool = True,
        cpu_state_v1: bool = False,
    ) -> "FeatureUse":
        """Inspect a configuration; *set_fields* are the fields that do not have their defaults."""
        given = config.cpu_manager_policy_options
        options = {name for name, value in given.items() if name == SCALE_DELAY or reads_true(value)}
        static = config.cpu_manager_policy == "static"
        return cls(
            static_cpus=static,
            static_memory=config.memory_manager_policy == "Static",
            topology=config.topology_manager_policy != "none",
            topology_options=bool(config.topology_manager_policy_options),
            many_nodes=MAX_NODES in config.topology_manager_policy_options,
            pod_scope=config.topology_manager_scope == "pod",
            options=frozenset(options) if static else frozenset(),
            own_cfs_period=config.cpu_cfs_quota_period != _DEFAULT_PERIOD,
            swap=not config.fail_swap_on or bool(config.swap_behavior),
            qos_reserved=bool(config.qos_reserved),
            drop_ins=drop_ins,
            pod_level_managers=gates.get("PodLevelResourceManagers", False),
            claims=gates.get("DynamicResourceAllocation", False),
            counted_claims=gates.get("DRANodeAllocatableResources", False),
            pod_level_off=not gates.get("PodLevelResources", True),
            set_fields=set_fields,
            books=books,
            cpu_state_v1=cpu_state_v1,
        )

    @property
    def static(self) -> bool:
        """Whether any manager assigns exclusive resources."""
        return self.static_cpus or self.static_memory


Predicate = Callable[[FeatureUse], bool]

_AREAS: Mapping[Area, Predicate] = {
    "configuration": lambda _: True,
    "admission": lambda _: True,
    "topology manager": lambda use: use.topology,
    "exclusive CPUs": lambda use: use.static_cpus,
    "distribution across NUMA nodes": lambda use: DISTRIBUTE_NUMA in use.options,
    "distribution across cores": lambda use: DISTRIBUTE_CORES in use.options,
    "state files": lambda use: use.static_cpus,
    "pod-level resources": lambda _: True,
    "memory": lambda use: use.static_memory,
    "in-place resize": lambda _: True,
    "autoscaling": lambda _: True,
}

_DIFFERENCES: Mapping[str, Predicate] = {
    "aligns_distribution_to_sockets": lambda use: {DISTRIBUTE_NUMA, ALIGN_BY_SOCKET} <= use.options,
    "checks_each_enforcement": lambda use: bool(_ENFORCEMENT & use.set_fields),
    "collects_locked_gates": lambda use: "featureGates" in use.set_fields,
    "counts_claims_in_cgroups": lambda use: use.counted_claims,
    "counts_claims_that_no_container_names": lambda use: use.counted_claims,
    "compares_memory_of_groups": lambda use: use.static_memory,
    "default_inode_threshold_of_images": lambda use: "evictionHard" not in use.set_fields,
    "defaults_after_drop_ins": lambda use: use.drop_ins,
    "defaults_by_gates": lambda use: "featureGates" in use.set_fields,
    "delays_scale_down": lambda use: SCALE_DELAY in use.options,
    "drops_flat_device_state": lambda _: False,  # every kubelet since 1.20 rewrites the file
    "drop_ins": lambda use: use.drop_ins,
    "drop_ins_without_variable": lambda use: use.drop_ins,
    "enforces_compressible": lambda use: bool(_ENFORCEMENT & use.set_fields),
    "forgets_removed_pods": lambda use: use.static,
    "keeps_sidecars_apart": lambda use: use.static,
    "has_gate_of_exclusive_memory": lambda use: use.static_memory,
    "knows_books": lambda use: use.static_cpus and use.books,
    "knows_best_effort_memory": lambda use: "memoryManagerPolicy" in use.set_fields and not use.static_memory,
    "knows_no_swap": lambda use: use.swap,
    "managers_read_requests": lambda use: use.static,
    "managers_reject_by_resource": lambda use: use.static,
    "managers_reject_resizes": lambda use: use.static,
    "memory_throttling_is_opt_in": lambda use: "memoryThrottlingFactor" not in use.set_fields,
    "skips_pod_level_pods": lambda use: use.static,
    "ignores_topology_options_of_none": lambda use: not use.topology and use.topology_options,
    "merges_drop_ins_as_text": lambda use: use.drop_ins,
    "odd_requests_fit_caches": lambda use: PREFER_UNCORE in use.options,
    "rejects_claims_of_static_pods": lambda use: use.claims,
    "rejects_cpu_checkpoint_v1": lambda use: use.cpu_state_v1,
    "rejects_references_of_static_pods": lambda use: bool(_STATIC_PODS & use.set_fields),
    "rejects_resizes_with_swap": lambda use: use.swap,
    "rejects_memory_resizes_with_static_manager": lambda use: use.static_memory,
    "reports_missing_cpu_count": lambda use: use.static_cpus,
    "reports_no_free_cores": lambda use: FULL_PCPUS_ONLY in use.options,
    "walks_only_nodes_with_devices": lambda use: use.topology and use.many_nodes,
    "lowercases_topology_errors": lambda use: use.topology_options,
    "pod_scope_memory_hints_after_restart": lambda use: (
        use.static_memory and use.pod_scope and use.pod_level_managers
    ),
    "rejects_cgroup_v1_by_default": lambda use: "failCgroupV1" not in use.set_fields,
    "rejects_pod_level_resources_switched_off": lambda use: use.pod_level_off,
    "resizes_exclusive_cpus": lambda use: use.static_cpus,
    "resizes_pods_with_counted_claims": lambda use: use.counted_claims,
    "restores_pod_level_cpus": lambda use: use.static_cpus and use.pod_level_managers,
    "restores_pod_level_memory": lambda use: use.static_memory and use.pod_level_managers,
    "takes_cfs_periods": lambda use: use.own_cfs_period,
    "tolerates_pod_level_cpu_state": lambda use: use.static_cpus and use.pod_level_managers,
    "writes_cpu_checkpoint_v4": lambda _: True,
    "writes_memory_checkpoint_v3": lambda _: True,
}
"""The differences that affect other configurations than their area does."""

_NEVER = frozenset(
    {
        "DRANodeAllocatableResources", "DownwardAPIAssignedResources", "DynamicResourceAllocation",
        "KubeletCgroupDriverFromCRI", "KubeletPodResourcesGet", "WindowsCPUAndMemoryAffinity",
    }
)  # fmt: skip
"""Gates that no setting of the resource managers depends on."""

_GATES: Mapping[str, Predicate] = {
    "CPUManagerPolicyAlphaOptions": lambda use: bool(use.options),
    "CPUManagerPolicyBetaOptions": lambda use: bool(use.options),
    "CPUManagerPolicyOptions": lambda use: bool(use.options),
    "CustomCPUCFSQuotaPeriod": lambda use: use.own_cfs_period,
    "DisableCPUQuotaWithExclusiveCPUs": lambda use: use.static_cpus,
    "InPlacePodVerticalScalingExclusiveCPUs": lambda use: use.static_cpus,
    "InPlacePodVerticalScalingExclusiveMemory": lambda use: use.static_memory,
    "MemoryManager": lambda use: use.static_memory,
    "NodeSwap": lambda use: use.swap,
    "PodLevelResourceManagers": lambda use: use.static,
    "QOSReserved": lambda use: use.qos_reserved,
    "TopologyManagerPolicyAlphaOptions": lambda use: use.topology,
    "TopologyManagerPolicyBetaOptions": lambda use: use.topology,
    "TopologyManagerPolicyOptions": lambda use: use.topology,
}
"""What a configuration must use to be affected by a gate; other gates affect every node."""


def difference_concerns(name: str, difference: Difference, use: FeatureUse) -> bool:
    """Return whether a difference can affect a configuration."""
    return _DIFFERENCES.get(name, _AREAS[difference.area])(use)


def decided_by_patch(kubelet: Kubelet) -> Iterator[Difference]:
    """Yield the differences that can affect a configuration and came with a patch of this minor."""
    minor = kubelet.version.minor
    found = [(name, each) for name, each in DIFFERENCES.items() if minor in each.patches]
    if found:
        use = FeatureUse.of(kubelet.config, frozenset(), drop_ins=False, gates=kubelet.gates.settings)
        yield from (each for name, each in found if difference_concerns(name, each, use))


def gate_concerns(name: str, use: FeatureUse) -> bool:
    """Return whether a different value of a gate that a configuration does not set can affect it."""
    return name not in _NEVER and _GATES.get(name, _always)(use)


def _always(_: FeatureUse) -> bool:
    return True
