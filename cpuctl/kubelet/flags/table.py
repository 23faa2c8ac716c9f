"""The kubelet's command-line flags: those that set a field of the configuration, and the others.

Source: ``cmd/kubelet/app/options/options.go``. A line is a flag, its kind and the field it sets.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.named_tuple import NamedTuple

_TABLE = """
cgroup-driver string cgroupDriver
cgroup-root string cgroupRoot
cgroups-per-qos bool cgroupsPerQOS
container-log-max-files int32 containerLogMaxFiles
container-runtime-endpoint string containerRuntimeEndpoint
cpu-cfs-quota bool cpuCFSQuota
cpu-cfs-quota-period duration cpuCFSQuotaPeriod
cpu-manager-policy string cpuManagerPolicy
cpu-manager-policy-options one-pair cpuManagerPolicyOptions
cpu-manager-reconcile-period duration cpuManagerReconcilePeriod
enforce-node-allocatable list enforceNodeAllocatable
event-burst int32 eventBurst
event-qps int32 eventRecordQPS
eviction-hard thresholds evictionHard
eviction-minimum-reclaim pairs evictionMinimumReclaim
eviction-pressure-transition-period duration evictionPressureTransitionPeriod
eviction-soft thresholds evictionSoft
eviction-soft-grace-period pairs evictionSoftGracePeriod
fail-cgroupv1 bool failCgroupV1
fail-swap-on bool failSwapOn
feature-gates gates featureGates
hairpin-mode string hairpinMode
healthz-port int32 healthzPort
image-gc-high-threshold int32 imageGCHighThresholdPercent
image-gc-low-threshold int32 imageGCLowThresholdPercent
iptables-drop-bit int32 iptablesDropBit
iptables-masquerade-bit int32 iptablesMasqueradeBit
kube-api-burst int32 kubeAPIBurst
kube-api-qps int32 kubeAPIQPS
kube-reserved pairs kubeReserved
kube-reserved-cgroup string kubeReservedCgroup
kubelet-cgroups string kubeletCgroups
max-open-files int64 maxOpenFiles
max-pods int32 maxPods
memory-manager-policy string memoryManagerPolicy
minimum-image-ttl-duration duration imageMinimumGCAge
node-status-max-images int32 nodeStatusMaxImages
node-status-update-frequency duration nodeStatusUpdateFrequency
oom-score-adj int32 oomScoreAdj
pod-manifest-path string staticPodPath
pod-max-pids int64 podPidsLimit
pods-per-core int32 podsPerCore
port int32 port
qos-reserved pairs qosReserved
read-only-port int32 readOnlyPort
registry-burst int32 registryBurst
registry-qps int32 registryPullQPS
reserved-cpus string reservedSystemCPUs
reserved-memory memory reservedMemory
rotate-server-certificates bool serverTLSBootstrap
runonce bool runOnce
serialize-image-pulls bool serializeImagePulls
system-cgroups string systemCgroups
system-reserved pairs systemReserved
system-reserved-cgroup string systemReservedCgroup
topology-manager-policy string topologyManagerPolicy
topology-manager-policy-options one-pair topologyManagerPolicyOptions
topology-manager-scope string topologyManagerScope
"""


class ConfigFlag(NamedTuple):
    """A flag that sets a field: how its value is written, and the field."""

    kind: str
    field: str


CONFIG_FLAGS: Mapping[str, ConfigFlag] = {
    words[0]: ConfigFlag(words[1], words[2]) for words in map(str.split, _TABLE.split("\n")) if words
}

CONFIG, CONFIG_DIR, ROOT_DIR = "config", "config-dir", "root-dir"
IGNORE_EVICTION = "experimental-allocatable-ignore-eviction"

NODE_FLAGS: Mapping[str, str] = {
    CONFIG: "string",
    CONFIG_DIR: "string",
    ROOT_DIR: "string",
    IGNORE_EVICTION: "bool",
}
"""Flags that say something of the node and have no field."""

_OTHER_SWITCHES = """
anonymous-auth authentication-token-webhook contention-profiling enable-controller-attach-detach
enable-debugging-handlers enable-server exit-on-lock-contention help keep-terminated-pod-volumes
kernel-memcg-notification local-storage-capacity-isolation log-json-split-stream log-text-split-stream
make-iptables-util-chains protect-kernel-defaults register-node register-schedulable rotate-certificates
seccomp-default version
"""

_OTHERS = """
address allowed-unsafe-sysctls authentication-token-webhook-cache-ttl authorization-mode
authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
bootstrap-kubeconfig cert-dir client-ca-file cloud-config cloud-provider cluster-dns cluster-domain
container-log-max-size eviction-max-pod-grace-period experimental-mounter-path file-check-frequency
healthz-bind-address hostname-override http-check-frequency image-credential-provider-bin-dir
image-credential-provider-config image-service-endpoint kube-api-content-type kubeconfig lock-file
log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size logging-format manifest-url
manifest-url-header maximum-dead-containers maximum-dead-containers-per-container
minimum-container-ttl-duration node-ip node-labels pod-cidr pod-infra-container-image provider-id
register-with-taints resolv-conf runtime-cgroups runtime-request-timeout
streaming-connection-idle-timeout sync-frequency tls-cert-file tls-cipher-suites tls-min-version
tls-private-key-file v vmodule volume-plugin-dir volume-stats-agg-period
"""

OTHER_SWITCHES = frozenset(_OTHER_SWITCHES.split())
"""Flags that need no value and that no resource manager depends on."""

OTHER_FLAGS = frozenset(_OTHERS.split())
"""Flags that need a value and that no resource manager depends on."""
