"""How each field of a KubeletConfiguration document is read, and which others exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cpuctl.documents import Cursor
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.kubelet.duration import parse_duration
from cpuctl.quantity import Quantity

Reader: TypeAlias = Callable[[Cursor], object]
_INT32 = 1 << 31


@dataclass(frozen=True, slots=True)
class ConfigField:
    """A field: its name in ``KubeletConfiguration`` and how to read it.

    ``keeps_zero`` marks fields where an explicit empty, zero or false value stands; in all others it
    means the default, because Go cannot tell it from an absent one.
    """

    attribute: str
    read: Reader
    keeps_zero: bool = False


def _duration(value: Cursor) -> int:
    text = value.text()
    try:
        return parse_duration(text)
    except ValueError as error:
        raise value.error(str(error), hint="write a duration such as 10s, 1m30s or 100ms") from None


def _int32(value: Cursor) -> int:
    return value.integer(minimum=-_INT32, maximum=_INT32 - 1)


def _pids_limit(value: Cursor) -> int:
    return max(-1, value.integer())


def _gates(value: Cursor) -> Mapping[str, bool]:
    return {name: gate.boolean() for name, gate in value.members().items()}


def _reserved_memory(value: Cursor) -> tuple[ReservedMemory, ...]:
    return tuple(
        ReservedMemory(
            numa_node=item.optional("numaNode", _int32, 0),
            limits=item.optional("limits", _limits, {}),
        )
        for item in value.items()
    )


def _limits(value: Cursor) -> Mapping[str, Quantity]:
    return {name: amount.quantity() for name, amount in value.members().items()}


def _swap_behavior(value: Cursor) -> str:
    return value.optional("swapBehavior", Cursor.text, "")


FIELDS: Mapping[str, ConfigField] = {
    "cgroupsPerQOS": ConfigField("cgroups_per_qos", Cursor.boolean, keeps_zero=True),
    "cgroupDriver": ConfigField("cgroup_driver", Cursor.text),
    "cgroupRoot": ConfigField("cgroup_root", Cursor.text),
    "kubeletCgroups": ConfigField("kubelet_cgroups", Cursor.text),
    "systemCgroups": ConfigField("system_cgroups", Cursor.text),
    "cpuManagerPolicy": ConfigField("cpu_manager_policy", Cursor.text),
    "cpuManagerPolicyOptions": ConfigField("cpu_manager_policy_options", Cursor.text_map),
    "cpuManagerReconcilePeriod": ConfigField("cpu_manager_reconcile_period", _duration),
    "memoryManagerPolicy": ConfigField("memory_manager_policy", Cursor.text),
    "reservedMemory": ConfigField("reserved_memory", _reserved_memory),
    "topologyManagerPolicy": ConfigField("topology_manager_policy", Cursor.text),
    "topologyManagerScope": ConfigField("topology_manager_scope", Cursor.text),
    "topologyManagerPolicyOptions": ConfigField("topology_manager_policy_options", Cursor.text_map),
    "reservedSystemCPUs": ConfigField("reserved_system_cpus", Cursor.text),
    "kubeReserved": ConfigField("kube_reserved", Cursor.text_map),
    "systemReserved": ConfigField("system_reserved", Cursor.text_map),
    "kubeReservedCgroup": ConfigField("kube_reserved_cgroup", Cursor.text),
    "systemReservedCgroup": ConfigField("system_reserved_cgroup", Cursor.text),
    "enforceNodeAllocatable": ConfigField("enforce_node_allocatable", Cursor.texts, keeps_zero=True),
    "evictionHard": ConfigField("eviction_hard", Cursor.text_map, keeps_zero=True),
    "evictionSoft": ConfigField("eviction_soft", Cursor.text_map),
    "evictionSoftGracePeriod": ConfigField("eviction_soft_grace_period", Cursor.text_map),
    "evictionMinimumReclaim": ConfigField("eviction_minimum_reclaim", Cursor.text_map),
    "evictionPressureTransitionPeriod": ConfigField("eviction_pressure_transition_period", _duration),
    "mergeDefaultEvictionSettings": ConfigField("merge_default_eviction_settings", Cursor.boolean),
    "cpuCFSQuota": ConfigField("cpu_cfs_quota", Cursor.boolean, keeps_zero=True),
    "cpuCFSQuotaPeriod": ConfigField("cpu_cfs_quota_period", _duration, keeps_zero=True),
    "maxPods": ConfigField("max_pods", _int32),
    "podsPerCore": ConfigField("pods_per_core", _int32),
    "podPidsLimit": ConfigField("pod_pids_limit", _pids_limit, keeps_zero=True),
    "qosReserved": ConfigField("qos_reserved", Cursor.text_map),
    "failSwapOn": ConfigField("fail_swap_on", Cursor.boolean, keeps_zero=True),
    "memorySwap": ConfigField("swap_behavior", _swap_behavior),
    "memoryThrottlingFactor": ConfigField("memory_throttling_factor", Cursor.number, keeps_zero=True),
    "memoryReservationPolicy": ConfigField("memory_reservation_policy", Cursor.text),
    "failCgroupV1": ConfigField("fail_cgroup_v1", Cursor.boolean, keeps_zero=True),
    "singleProcessOOMKill": ConfigField("single_process_oom_kill", Cursor.boolean, keeps_zero=True),
    "oomScoreAdj": ConfigField("oom_score_adj", _int32, keeps_zero=True),
    "nodeStatusUpdateFrequency": ConfigField("node_status_update_frequency", _duration),
    "featureGates": ConfigField("feature_gates", _gates),
    "staticPodPath": ConfigField("static_pod_path", Cursor.text),
    "containerRuntimeEndpoint": ConfigField("container_runtime_endpoint", Cursor.text),
    "port": ConfigField("port", _int32),
    "readOnlyPort": ConfigField("read_only_port", _int32),
}

_UNUSED_HERE = """
address allowedUnsafeSysctls apiVersion authentication authorization clusterDNS clusterDomain
configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
containerLogMaxWorkers containerLogMonitorInterval contentType crashLoopBackOff
enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler
enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler
enableSystemLogQuery eventBurst eventRecordQPS evictionMaxPodGracePeriod fileCheckFrequency
hairpinMode healthzBindAddress healthzPort httpCheckFrequency imageGCHighThresholdPercent
imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge
imagePullCredentialsVerificationPolicy imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit
kernelMemcgNotification kind kubeAPIBurst kubeAPIQPS localStorageCapacityIsolation logging
makeIPTablesUtilChains maxOpenFiles maxParallelImagePulls nodeLeaseDurationSeconds
nodeStatusMaxImages nodeStatusReportFrequency podCIDR podLogsDir
preloadedImagesVerificationAllowlist protectKernelDefaults providerID registerNode
registerWithTaints registryBurst registryPullQPS resolvConf rotateCertificates runOnce
runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap
showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority
shutdownGracePeriodCriticalPods staticPodURL staticPodURLHeader streamingConnectionIdleTimeout
syncFrequency tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion tlsPrivateKeyFile
tracing userNamespaces volumePluginDir volumeStatsAggPeriod
"""

OTHER_FIELDS = frozenset(_UNUSED_HERE.split())
"""Fields of a KubeletConfiguration (all minors from 1.27 on) that no resource manager reads."""
