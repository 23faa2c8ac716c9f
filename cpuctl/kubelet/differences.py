"""How kubelet releases differ in what cpuctl computes: the list, with what each difference is known from.

What a policy option or a feature gate is in a release stands in their own tables; where a difference depends
on a gate, ``Difference.gate`` names it, and a configuration can decide otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How a difference is known: from recorded answers, from documents and source, or only announced."""

    VERIFIED = "verified"
    DOCUMENTED = "documented"
    PREVIEW = "preview"


class Area(StrEnum):
    """Which part of a node a difference shows in."""

    CONFIGURATION = "configuration"
    EXCLUSIVE_CPUS = "exclusive CPUs"
    DISTRIBUTION = "distribution across NUMA nodes"
    SPREADING = "distribution across cores"
    STATE_FILES = "state files"
    POD_LEVEL = "pod-level resources"
    MEMORY = "memory"
    RESIZE = "in-place resize"
    AUTOSCALING = "autoscaling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changes from 1.*since* on.

    ``source`` is a pull request of kubernetes/kubernetes, a KEP or a source file; ``gate`` the feature gate
    that it depends on, if it does: one that is on by default from then on, or alpha.
    """

    since: int
    area: Area
    before: str
    after: str
    source: str
    standing: Standing
    gate: str = ""


DIFFERENCES: Mapping[str, Difference] = {
    "drop_ins": Difference(
        since=28,
        area=Area.CONFIGURATION,
        before="the flag --config-dir does not exist",
        after="--config-dir works where the variable KUBELET_CONFIG_DROPIN_DIR_ALPHA is set",
        source="KEP-3983",
        standing=Standing.DOCUMENTED,
    ),
    "drop_ins_without_variable": Difference(
        since=30,
        area=Area.CONFIGURATION,
        before="--config-dir needs the variable KUBELET_CONFIG_DROPIN_DIR_ALPHA",
        after="--config-dir works by itself",
        source="KEP-3983",
        standing=Standing.DOCUMENTED,
    ),
    "default_inode_threshold_of_images": Difference(
        since=30,
        area=Area.CONFIGURATION,
        before="evictionHard has no default for imagefs.inodesFree",
        after="evictionHard has the default imagefs.inodesFree 5%",
        source="121834",
        standing=Standing.DOCUMENTED,
    ),
    "knows_no_swap": Difference(
        since=30,
        area=Area.CONFIGURATION,
        before="memorySwap.swapBehavior may be LimitedSwap or UnlimitedSwap",
        after="memorySwap.swapBehavior may be LimitedSwap or NoSwap",
        source="KEP-2400",
        standing=Standing.DOCUMENTED,
    ),
    "checks_each_enforcement": Difference(
        since=31,
        area=Area.CONFIGURATION,
        before="enforceNodeAllocatable other than [] is refused without cgroupsPerQOS",
        after="enforceNodeAllocatable other than [none] is, and one that repeats an entry always",
        source="124268",
        standing=Standing.DOCUMENTED,
    ),
    "enforces_compressible": Difference(
        since=32,
        area=Area.CONFIGURATION,
        before="enforceNodeAllocatable takes pods, system-reserved, kube-reserved or none",
        after="enforceNodeAllocatable takes system-reserved-compressible and kube-reserved-compressible, too",
        source="125982",
        standing=Standing.DOCUMENTED,
    ),
    "lifts_quota_of_exclusive_cpus": Difference(
        since=33,
        area=Area.EXCLUSIVE_CPUS,
        before="containers with exclusive CPUs keep their CFS quota",
        after="containers with exclusive CPUs have no CFS quota",
        source="127525",
        standing=Standing.VERIFIED,
        gate="DisableCPUQuotaWithExclusiveCPUs",
    ),
    "resizes_by_default": Difference(
        since=33,
        area=Area.RESIZE,
        before="pods are not resized in place",
        after="pods are resized in place",
        source="KEP-1287",
        standing=Standing.DOCUMENTED,
        gate="InPlacePodVerticalScaling",
    ),
    "enables_pod_level_resources": Difference(
        since=34,
        area=Area.POD_LEVEL,
        before="spec.resources of a pod is ignored",
        after="spec.resources of a pod decides on its QoS class, cgroup and OOM score",
        source="KEP-2837",
        standing=Standing.VERIFIED,
        gate="PodLevelResources",
    ),
    "counts_sidecars_for_replicas": Difference(
        since=29,
        area=Area.AUTOSCALING,
        before="the HPA adds up the requests of app containers",
        after="the HPA adds up the requests of app containers and sidecars",
        source="120001",
        standing=Standing.DOCUMENTED,
    ),
    "counts_pod_level_requests_for_new_nodes": Difference(
        since=33,
        area=Area.AUTOSCALING,
        before="the cluster autoscaler counts the requests of containers only",
        after="the cluster autoscaler counts pod-level requests, as the scheduler does",
        source="KEP-2837",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResources",
    ),
    "counts_pod_level_requests_for_replicas": Difference(
        since=34,
        area=Area.AUTOSCALING,
        before="the HPA wants a request of every container",
        after="the HPA goes by the pod's requests where it has pod-level ones",
        source="132430",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResources",
    ),
    "tells_pod_level_limits_inside": Difference(
        since=34,
        area=Area.POD_LEVEL,
        before="the downward API tells a container without a limit the node's allocatable",
        after="the downward API tells a container without a limit the pod-level one, if there is one",
        source="132605",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResources",
    ),
    "pod_level_hugepages": Difference(
        since=34,
        area=Area.POD_LEVEL,
        before="spec.resources takes cpu and memory",
        after="spec.resources takes hugepages too",
        source="KEP-2837",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResources",
    ),
    "refuses_cgroup_v1_by_default": Difference(
        since=35,
        area=Area.CONFIGURATION,
        before="failCgroupV1 is false by default: a kubelet starts on a host with cgroup v1",
        after="failCgroupV1 is true by default: a kubelet does not start on a host with cgroup v1",
        source="KEP-5573",
        standing=Standing.DOCUMENTED,
    ),
    "takes_cfs_periods": Difference(
        since=36,
        area=Area.CONFIGURATION,
        before="cpuCFSQuotaPeriod other than 100ms is refused",
        after="cpuCFSQuotaPeriod may be 1ms to 1s",
        source="kube_features.go, 1.36",
        standing=Standing.VERIFIED,
        gate="CustomCPUCFSQuotaPeriod",
    ),
    "resizes_pod_level_resources": Difference(
        since=36,
        area=Area.RESIZE,
        before="pod-level resources are not resized in place",
        after="pod-level resources are resized in place",
        source="KEP-5419",
        standing=Standing.DOCUMENTED,
        gate="InPlacePodLevelResourcesVerticalScaling",
    ),
    "protects_memory_by_class": Difference(
        since=36,
        area=Area.CONFIGURATION,
        before="MemoryQoS writes memory.min for every memory request",
        after="MemoryQoS writes memory.min or memory.low by class, with memoryReservationPolicy only",
        source="KEP-2570",
        standing=Standing.DOCUMENTED,
        gate="MemoryQoS",
    ),
    "memory_throttling_is_opt_in": Difference(
        since=37,
        area=Area.CONFIGURATION,
        before="memoryThrottlingFactor is 0.9 by default, and MemoryQoS is off",
        after="memoryThrottlingFactor has no default, and MemoryQoS is on",
        source="KEP-2570",
        standing=Standing.DOCUMENTED,
        gate="MemoryQoS",
    ),
    "aligns_distribution_to_sockets": Difference(
        since=37,
        area=Area.DISTRIBUTION,
        before="distribute-cpus-across-numa does not look at align-by-socket",
        after="distribute-cpus-across-numa with align-by-socket prefers NUMA nodes of one socket",
        source="139778",
        standing=Standing.VERIFIED,
    ),
    "limits_shares_to_whole_groups": Difference(
        since=37,
        area=Area.DISTRIBUTION,
        before="a NUMA node can be asked for more CPUs than its whole cores have",
        after="a NUMA node is asked for as many CPUs as its whole cores have at most",
        source="139778",
        standing=Standing.VERIFIED,
    ),
    "writes_cpu_checkpoint_v4": Difference(
        since=37,
        area=Area.STATE_FILES,
        before="cpu_manager_state is written in format 2 (3 with PodLevelResourceManagers)",
        after="cpu_manager_state is written in format 4, which older kubelets read as format 2",
        source="139102",
        standing=Standing.VERIFIED,
    ),
    "refuses_cpu_checkpoint_v1": Difference(
        since=37,
        area=Area.STATE_FILES,
        before="a cpu_manager_state of format 1 is migrated",
        after="a cpu_manager_state of format 1 is refused",
        source="139102",
        standing=Standing.VERIFIED,
    ),
    "tolerates_pod_level_cpu_state": Difference(
        since=37,
        area=Area.STATE_FILES,
        before="a cpu_manager_state of format 3 is refused while PodLevelResourceManagers is off",
        after="a cpu_manager_state of format 3 is read, without its pod-level part while the gate is off",
        source="139102",
        standing=Standing.VERIFIED,
    ),
    "keeps_baselines": Difference(
        since=37,
        area=Area.STATE_FILES,
        before="cpu_manager_state does not record the CPUs promised at admission",
        after="cpu_manager_state records the CPUs promised at admission",
        source="140314",
        standing=Standing.DOCUMENTED,
        gate="InPlacePodVerticalScalingExclusiveCPUs",
    ),
    "writes_memory_checkpoint_v3": Difference(
        since=37,
        area=Area.STATE_FILES,
        before="memory_manager_state is written in format 1 (2 with PodLevelResourceManagers)",
        after="memory_manager_state is written in format 3, which older kubelets read as format 1",
        source="139626",
        standing=Standing.VERIFIED,
    ),
    "empty_pod_level_resources_do_not_count": Difference(
        since=37,
        area=Area.POD_LEVEL,
        before="spec.resources that is present and empty makes a pod BestEffort",
        after="spec.resources that is present and empty does not count",
        source="137150",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResourcesFixKubeletQOSClass",
    ),
    "defaults_pod_level_last": Difference(
        since=37,
        area=Area.POD_LEVEL,
        before="pod-level defaults are filled in before LimitRanges change containers",
        after="pod-level defaults are filled in after LimitRanges have changed containers",
        source="140514",
        standing=Standing.DOCUMENTED,
    ),
    "defaults_pod_level_limits": Difference(
        since=37,
        area=Area.POD_LEVEL,
        before="pod-level limits are what the manifest says",
        after="a pod-level limit that is not given is the sum of the containers' limits, if all have one",
        source="140514",
        standing=Standing.DOCUMENTED,
        gate="PodLevelResourcesFixDefaulting",
    ),
    "floors_distribution_by_hint": Difference(
        since=38,
        area=Area.DISTRIBUTION,
        before="CPUs are distributed over as few NUMA nodes as hold them",
        after="CPUs are distributed over as many NUMA nodes as the topology hint names, at least",
        source="139456",
        standing=Standing.VERIFIED,
    ),
    "counts_whole_groups": Difference(
        since=38,
        area=Area.DISTRIBUTION,
        before="a remainder over NUMA nodes with odd numbers of free CPUs can loop for ever",
        after="a remainder goes only to NUMA nodes that have whole cores enough for it",
        source="140730",
        standing=Standing.VERIFIED,
    ),
    "copies_combinations": Difference(
        since=38,
        area=Area.DISTRIBUTION,
        before="the best combination of NUMA nodes can be overwritten by a later one",
        after="the best combination of NUMA nodes is kept",
        source="141238",
        standing=Standing.VERIFIED,
    ),
    "spreads_over_real_cores": Difference(
        since=38,
        area=Area.SPREADING,
        before="distribute-cpus-across-cores goes by CPU numbers",
        after="distribute-cpus-across-cores goes round the cores, those with the fewest free CPUs first",
        source="140766",
        standing=Standing.VERIFIED,
    ),
    "restores_pod_level_cpus": Difference(
        since=38,
        area=Area.POD_LEVEL,
        before="a restarted kubelet allocates the CPUs of a pod-level pod a second time",
        after="a restarted kubelet gives a pod-level pod the CPUs it had",
        source="141041",
        standing=Standing.VERIFIED,
    ),
    "restores_pod_level_memory": Difference(
        since=38,
        area=Area.POD_LEVEL,
        before="a restarted kubelet allocates the memory of a pod-level pod a second time",
        after="a restarted kubelet gives a pod-level pod the memory it had",
        source="141077",
        standing=Standing.DOCUMENTED,
    ),
    "pod_scope_memory_hints_after_restart": Difference(
        since=38,
        area=Area.MEMORY,
        before="after a restart, pods with several containers give no memory hints in pod scope",
        after="after a restart, memory hints in pod scope come from the pod's blocks",
        source="141070",
        standing=Standing.DOCUMENTED,
    ),
    "resizes_exclusive_cpus": Difference(
        since=38,
        area=Area.RESIZE,
        before="exclusive CPUs do not change when a container is resized",
        after="exclusive CPUs follow when a container is resized",
        source="KEP-5554",
        standing=Standing.PREVIEW,
        gate="InPlacePodVerticalScalingExclusiveCPUs",
    ),
    "delays_scale_down": Difference(
        since=37,
        area=Area.RESIZE,
        before="CPUs are taken from a container that is resized at once",
        after="CPUs are taken from a container that is resized after its scale-delay-time",
        source="KEP-6122",
        standing=Standing.PREVIEW,
    ),
}
