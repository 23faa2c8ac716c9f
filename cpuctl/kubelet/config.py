"""A kubelet's settings: the parts of KubeletConfiguration that its resource managers depend on."""

from collections.abc import Mapping

from cpuctl.golang.durations import MILLISECOND, MINUTE, SECOND
from cpuctl.golang.text import GoError
from cpuctl.quantity import Quantity
from cpuctl.records import Record


class SettingError(GoError):
    """The kubelet's text, and the path of the setting to fix, as in ``("kubeReserved", "cpu")``."""

    def __init__(self, text: str, *path: str) -> None:
        super().__init__(text)
        self.path = path


DEFAULT_EVICTION_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""The thresholds that a configuration file gets if it names none (Linux, 1.30 and later).

Rule: ``pkg/kubelet/eviction/defaults_linux.go``.
"""

INODE_THRESHOLD_OF_IMAGES = "imagefs.inodesFree"
"""The threshold that was added in 1.30."""


class ReservedMemory(Record):
    """Memory kept from pods on one NUMA node, by resource name (``memory``, ``hugepages-1Gi``)."""

    numa_node: int
    limits: Mapping[str, Quantity]


class KubeletConfiguration(Record):
    """The fields and defaults of ``kubelet.config.k8s.io/v1beta1``, in Python's spelling.

    Without arguments it is the configuration of a kubelet without a configuration file, except for the
    read-only port, which is then 10255 (``cpuctl.kubelet.configuration.loading``). Durations are in
    nanoseconds. Reserved amounts and eviction thresholds remain text, because the kubelet also parses them
    late. None is a default that depends on the release. ``root_dir`` is the flag ``--root-dir``, and
    ``ignores_eviction_thresholds`` is ``--experimental-allocatable-ignore-eviction``. ``others`` contains the
    fields that are set but not read by resource managers, under their own names.
    """

    cgroups_per_qos: bool = True
    cgroup_driver: str = "cgroupfs"
    cgroup_root: str = ""
    kubelet_cgroups: str = ""
    system_cgroups: str = ""
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] = {}
    cpu_manager_reconcile_period: int = 10 * SECOND
    memory_manager_policy: str = "None"
    reserved_memory: tuple[ReservedMemory, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] = {}
    reserved_system_cpus: str = ""
    kube_reserved: Mapping[str, str] = {}
    system_reserved: Mapping[str, str] = {}
    kube_reserved_cgroup: str = ""
    system_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    eviction_hard: Mapping[str, str] = {}
    eviction_soft: Mapping[str, str] = {}
    eviction_soft_grace_period: Mapping[str, str] = {}
    eviction_minimum_reclaim: Mapping[str, str] = {}
    eviction_pressure_transition_period: int = 5 * MINUTE
    merge_default_eviction_settings: bool = False
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: int = 100 * MILLISECOND
    max_pods: int = 110
    pods_per_core: int = 0
    pod_pids_limit: int = -1
    qos_reserved: Mapping[str, str] = {}
    fail_swap_on: bool = True
    swap_behavior: str = ""
    memory_throttling_factor: float | None = None
    memory_reservation_policy: str = "None"
    fail_cgroup_v1: bool | None = None
    single_process_oom_kill: bool | None = None
    oom_score_adj: int = -999
    node_status_update_frequency: int = 10 * SECOND
    feature_gates: Mapping[str, bool] = {}
    static_pod_path: str = ""
    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    port: int = 10250
    read_only_port: int = 0
    root_dir: str = "/var/lib/kubelet"
    ignores_eviction_thresholds: bool = False
    others: Mapping[str, object] = {}


ATTRIBUTES: Mapping[str, str] = {
    "cgroupsPerQOS": "cgroups_per_qos",
    "cgroupDriver": "cgroup_driver",
    "cgroupRoot": "cgroup_root",
    "kubeletCgroups": "kubelet_cgroups",
    "systemCgroups": "system_cgroups",
    "cpuManagerPolicy": "cpu_manager_policy",
    "cpuManagerPolicyOptions": "cpu_manager_policy_options",
    "cpuManagerReconcilePeriod": "cpu_manager_reconcile_period",
    "memoryManagerPolicy": "memory_manager_policy",
    "reservedMemory": "reserved_memory",
    "topologyManagerPolicy": "topology_manager_policy",
    "topologyManagerScope": "topology_manager_scope",
    "topologyManagerPolicyOptions": "topology_manager_policy_options",
    "reservedSystemCPUs": "reserved_system_cpus",
    "kubeReserved": "kube_reserved",
    "systemReserved": "system_reserved",
    "kubeReservedCgroup": "kube_reserved_cgroup",
    "systemReservedCgroup": "system_reserved_cgroup",
    "enforceNodeAllocatable": "enforce_node_allocatable",
    "evictionHard": "eviction_hard",
    "evictionSoft": "eviction_soft",
    "evictionSoftGracePeriod": "eviction_soft_grace_period",
    "evictionMinimumReclaim": "eviction_minimum_reclaim",
    "evictionPressureTransitionPeriod": "eviction_pressure_transition_period",
    "mergeDefaultEvictionSettings": "merge_default_eviction_settings",
    "cpuCFSQuota": "cpu_cfs_quota",
    "cpuCFSQuotaPeriod": "cpu_cfs_quota_period",
    "maxPods": "max_pods",
    "podsPerCore": "pods_per_core",
    "podPidsLimit": "pod_pids_limit",
    "qosReserved": "qos_reserved",
    "failSwapOn": "fail_swap_on",
    "memorySwap": "swap_behavior",
    "memoryThrottlingFactor": "memory_throttling_factor",
    "memoryReservationPolicy": "memory_reservation_policy",
    "failCgroupV1": "fail_cgroup_v1",
    "singleProcessOOMKill": "single_process_oom_kill",
    "oomScoreAdj": "oom_score_adj",
    "nodeStatusUpdateFrequency": "node_status_update_frequency",
    "featureGates": "feature_gates",
    "staticPodPath": "static_pod_path",
    "containerRuntimeEndpoint": "container_runtime_endpoint",
    "port": "port",
    "readOnlyPort": "read_only_port",
}
"""The fields that the resource managers depend on, and the attributes of ``KubeletConfiguration``."""
