"""The fields of ``KubeletConfiguration`` v1beta1: their Go types, and their defaults if they have one.

Source: ``k8s.io/kubelet/config/v1beta1/types.go`` and ``pkg/kubelet/apis/config/v1beta1/defaults.go``, 1.36.
A line is a field, its type and its default in JSON. Defaults that depend on the release are in
``releases.behaviours``; ``evictionHard`` gets its default in ``main_file``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.golang.json_mistakes import FLUSH_PERIOD, Structs
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.documents.document import Value

_TABLE = """
address string "0.0.0.0"
allowedUnsafeSysctls []string
authentication v1beta1.KubeletAuthentication
authorization v1beta1.KubeletAuthorization
cgroupDriver string "cgroupfs"
cgroupRoot string
cgroupsPerQOS *bool true
clusterDNS []string
clusterDomain string
configMapAndSecretChangeDetectionStrategy v1beta1.ResourceChangeDetectionStrategy "Watch"
containerLogMaxFiles *int32 5
containerLogMaxSize string "10Mi"
containerLogMaxWorkers *int32 1
containerLogMonitorInterval *v1.Duration "10s"
containerRuntimeEndpoint string "unix:///run/containerd/containerd.sock"
contentType string "application/vnd.kubernetes.protobuf"
cpuCFSQuota *bool true
cpuCFSQuotaPeriod *v1.Duration "100ms"
cpuManagerPolicy string "none"
cpuManagerPolicyOptions map[string]string
cpuManagerReconcilePeriod v1.Duration "10s"
crashLoopBackOff v1beta1.CrashLoopBackOffConfig
enableContentionProfiling bool
enableControllerAttachDetach *bool true
enableDebugFlagsHandler *bool true
enableDebuggingHandlers *bool true
enableProfilingHandler *bool true
enableServer *bool true
enableSystemLogHandler *bool true
enableSystemLogQuery *bool
enforceNodeAllocatable []string ["pods"]
eventBurst int32 100
eventRecordQPS *int32 50
evictionHard map[string]string
evictionMaxPodGracePeriod int32
evictionMinimumReclaim map[string]string
evictionPressureTransitionPeriod v1.Duration "5m0s"
evictionSoft map[string]string
evictionSoftGracePeriod map[string]string
failCgroupV1 *bool
failSwapOn *bool true
featureGates map[string]bool
fileCheckFrequency v1.Duration "20s"
hairpinMode string "promiscuous-bridge"
healthzBindAddress string "127.0.0.1"
healthzPort *int32 10248
httpCheckFrequency v1.Duration "20s"
imageGCHighThresholdPercent *int32 85
imageGCLowThresholdPercent *int32 80
imageMaximumGCAge v1.Duration
imageMinimumGCAge v1.Duration "2m0s"
imagePullCredentialsVerificationPolicy v1beta1.ImagePullCredentialsVerificationPolicy
imageServiceEndpoint string
iptablesDropBit *int32 15
iptablesMasqueradeBit *int32 14
kernelMemcgNotification bool
kubeAPIBurst int32 100
kubeAPIQPS *int32 50
kubeReserved map[string]string
kubeReservedCgroup string
kubeletCgroups string
localStorageCapacityIsolation *bool true
logging v1.LoggingConfiguration
makeIPTablesUtilChains *bool true
maxOpenFiles int64 1000000
maxParallelImagePulls *int32
maxPods int32 110
memoryManagerPolicy string "None"
memoryReservationPolicy v1beta1.MemoryReservationPolicy "None"
memorySwap v1beta1.MemorySwapConfiguration
memoryThrottlingFactor *float64
mergeDefaultEvictionSettings *bool false
nodeLeaseDurationSeconds int32 40
nodeStatusMaxImages *int32 50
nodeStatusReportFrequency v1.Duration
nodeStatusUpdateFrequency v1.Duration "10s"
oomScoreAdj *int32 -999
podCIDR string
podLogsDir string "/var/log/pods"
podPidsLimit *int64 -1
podsPerCore int32
port int32 10250
preloadedImagesVerificationAllowlist []string
protectKernelDefaults bool
providerID string
qosReserved map[string]string
readOnlyPort int32
registerNode *bool true
registerWithTaints []v1.Taint
registryBurst int32 10
registryPullQPS *int32 5
reservedMemory []v1beta1.MemoryReservation
reservedSystemCPUs string
resolvConf *string "/etc/resolv.conf"
rotateCertificates bool
runOnce bool
runtimeRequestTimeout v1.Duration "2m0s"
seccompDefault *bool false
serializeImagePulls *bool
serverTLSBootstrap bool
showHiddenMetricsForVersion string
shutdownGracePeriod v1.Duration
shutdownGracePeriodByPodPriority []v1beta1.ShutdownGracePeriodByPodPriority
shutdownGracePeriodCriticalPods v1.Duration
singleProcessOOMKill *bool
staticPodPath string
staticPodURL string
staticPodURLHeader map[string][]string
streamingConnectionIdleTimeout v1.Duration "4h0m0s"
syncFrequency v1.Duration "1m0s"
systemCgroups string
systemReserved map[string]string
systemReservedCgroup string
tlsCertFile string
tlsCipherSuites []string
tlsCurvePreferences []int32
tlsMinVersion string
tlsPrivateKeyFile string
topologyManagerPolicy string "none"
topologyManagerPolicyOptions map[string]string
topologyManagerScope string "container"
tracing *v1.TracingConfiguration
userNamespaces *v1beta1.UserNamespaces
volumePluginDir string "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
volumeStatsAggPeriod v1.Duration "1m0s"
"""

ROOT_TYPE = "v1beta1.KubeletConfiguration"


class FieldType(Record):
    """A field's Go type and its default; None if it has none."""

    go_type: str
    default: Value = None

    @property
    def is_pointer(self) -> bool:
        """Whether an explicit zero, false or empty string is kept: elsewhere it means the default."""
        return self.go_type.startswith("*")


def _field(words: list[str]) -> FieldType:
    return FieldType(words[1], json.loads(words[2]) if len(words) > 2 else None)


FIELD_TYPES: Mapping[str, FieldType] = {
    words[0]: _field(words) for words in (line.split(maxsplit=2) for line in _TABLE.split("\n")) if words
}

SINCE: Mapping[str, int] = {
    "imageMaximumGCAge": 29,
    "containerLogMaxWorkers": 30,
    "containerLogMonitorInterval": 30,
    "podLogsDir": 30,
    "failCgroupV1": 31,
    "crashLoopBackOff": 32,
    "singleProcessOOMKill": 32,
    "imagePullCredentialsVerificationPolicy": 33,
    "mergeDefaultEvictionSettings": 33,
    "preloadedImagesVerificationAllowlist": 33,
    "userNamespaces": 33,
    "memoryReservationPolicy": 36,
    "tlsCurvePreferences": 36,
}
"""The minor that added a field; older ones do not know it. All fields of 1.27 still exist in 1.36."""

_OUTPUT: Mapping[str, str] = {"infoBufferSize": "resource.QuantityValue", "splitStream": "bool"}

STRUCTS: Structs = {
    ROOT_TYPE: {"apiVersion": "string", "kind": "string"}
    | {name: field.go_type for name, field in FIELD_TYPES.items()},
    "v1.FormatOptions": {"json": "v1.JSONOptions", "text": "v1.TextOptions"},
    "v1.JSONOptions": _OUTPUT,
    "v1.LoggingConfiguration": {
        "flushFrequency": FLUSH_PERIOD,
        "format": "string",
        "options": "v1.FormatOptions",
        "verbosity": "v1.VerbosityLevel",
        "vmodule": "v1.VModuleConfiguration",
    },
    "v1.Taint": {"effect": "v1.TaintEffect", "key": "string", "timeAdded": "*v1.Time", "value": "string"},
    "v1.TextOptions": _OUTPUT,
    "v1.TracingConfiguration": {"endpoint": "*string", "samplingRatePerMillion": "*int32"},
    "v1.VModuleItem": {"filePattern": "string", "verbosity": "v1.VerbosityLevel"},
    "v1beta1.CrashLoopBackOffConfig": {"maxContainerRestartPeriod": "*v1.Duration"},
    "v1beta1.KubeletAnonymousAuthentication": {"enabled": "*bool"},
    "v1beta1.KubeletAuthentication": {
        "anonymous": "v1beta1.KubeletAnonymousAuthentication",
        "webhook": "v1beta1.KubeletWebhookAuthentication",
        "x509": "v1beta1.KubeletX509Authentication",
    },
    "v1beta1.KubeletAuthorization": {
        "mode": "v1beta1.KubeletAuthorizationMode",
        "webhook": "v1beta1.KubeletWebhookAuthorization",
    },
    "v1beta1.KubeletWebhookAuthentication": {"cacheTTL": "v1.Duration", "enabled": "*bool"},
    "v1beta1.KubeletWebhookAuthorization": {
        "cacheAuthorizedTTL": "v1.Duration",
        "cacheUnauthorizedTTL": "v1.Duration",
    },
    "v1beta1.KubeletX509Authentication": {"clientCAFile": "string"},
    "v1beta1.MemoryReservation": {"limits": "v1.ResourceList", "numaNode": "int32"},
    "v1beta1.MemorySwapConfiguration": {"swapBehavior": "string"},
    "v1beta1.ShutdownGracePeriodByPodPriority": {"priority": "int32", "shutdownGracePeriodSeconds": "int64"},
    "v1beta1.UserNamespaces": {"idsPerPod": "*int64"},
}
"""Structs inside the configuration, as in 1.36."""

_LOGS_AS_TEXT_SINCE, _TEXT_PERIODS_SINCE = 30, 28


def structs_of(minor: int) -> Structs:
    """Return the structs of a release, whose decoder ignores later fields."""
    structs = {
        name: {
            field: go_type
            for field, go_type in fields.items()
            if name != ROOT_TYPE or SINCE.get(field, 0) <= minor
        }
        for name, fields in STRUCTS.items()
    }
    if minor < _LOGS_AS_TEXT_SINCE:
        structs["v1.FormatOptions"].pop("text")
    if minor < _TEXT_PERIODS_SINCE:
        structs["v1.LoggingConfiguration"]["flushFrequency"] = "time.Duration"
    return structs


def known_fields(minor: int) -> frozenset[str]:
    """Return the fields that a release knows."""
    return frozenset(name for name in FIELD_TYPES if SINCE.get(name, 0) <= minor) | {"apiVersion", "kind"}
