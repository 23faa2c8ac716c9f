"""The kubelet's command-line flags, by release: those that set a field of the configuration, and the others.

Source: ``cmd/kubelet/app/options`` of 1.27.16, 1.28.15, 1.29.14, 1.30.14, 1.31.14, 1.32.13, 1.33.13, 1.34.9,
1.35.6 and 1.36.3, and what it includes from ``pkg/kubelet/config``, ``component-base/logs`` and cAdvisor; for
flags removed earlier, also that of 1.26.4. No other set is known for later releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

# A flag, the kind of its value, the field it sets, and the first and last minor with it.
_FIELDS = """
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
fail-cgroupv1 bool failCgroupV1 31..
fail-swap-on bool failSwapOn
feature-gates gates featureGates
hairpin-mode string hairpinMode
healthz-port int32 healthzPort
image-gc-high-threshold int32 imageGCHighThresholdPercent
image-gc-low-threshold int32 imageGCLowThresholdPercent
iptables-drop-bit int32 iptablesDropBit ..30
iptables-masquerade-bit int32 iptablesMasqueradeBit ..30
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
reserved-memory misspelt-memory reservedMemory ..34
reserved-memory memory reservedMemory 35..
rotate-server-certificates bool serverTLSBootstrap
runonce bool runOnce
serialize-image-pulls bool serializeImagePulls
system-cgroups string systemCgroups
system-reserved pairs systemReserved
system-reserved-cgroup string systemReservedCgroup
topology-manager-policy string topologyManagerPolicy
topology-manager-policy-options one-pair topologyManagerPolicyOptions ..30
topology-manager-policy-options pairs topologyManagerPolicyOptions 31..
topology-manager-scope string topologyManagerScope
"""

# A kind, the first and last minor, and the flags.
_OTHERS = """
bool .. anonymous-auth authentication-token-webhook contention-profiling enable-controller-attach-detach
bool .. enable-debugging-handlers enable-server exit-on-lock-contention
bool .. experimental-allocatable-ignore-eviction help kernel-memcg-notification
bool .. local-storage-capacity-isolation log-json-split-stream make-iptables-util-chains
bool .. protect-kernel-defaults register-node rotate-certificates seccomp-default
bool ..30 keep-terminated-pod-volumes
bool ..33 register-schedulable
bool 30.. log-text-split-stream
duration .. authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
duration .. authorization-webhook-cache-unauthorized-ttl file-check-frequency http-check-frequency
duration .. log-flush-frequency minimum-container-ttl-duration runtime-request-timeout
duration .. streaming-connection-idle-timeout sync-frequency volume-stats-agg-period
go-bool .. enable-load-reader log-cadvisor-usage storage-driver-secure
go-duration .. global-housekeeping-interval housekeeping-interval max-housekeeping-interval
go-duration .. storage-driver-buffer-duration
go-int .. application-metrics-count-limit
headers .. manifest-url-header
int32 .. eviction-max-pod-grace-period maximum-dead-containers maximum-dead-containers-per-container
ip .. address healthz-bind-address
labels .. node-labels
level .. v
list .. allowed-unsafe-sysctls cluster-dns tls-cipher-suites
size .. log-json-info-buffer-size
size 30.. log-text-info-buffer-size
string .. authorization-mode boot-id-file bootstrap-kubeconfig cert-dir client-ca-file cloud-provider
string .. cluster-domain config container-hints container-log-max-size containerd containerd-namespace
string .. event-storage-age-limit event-storage-event-limit experimental-mounter-path hostname-override
string .. image-credential-provider-bin-dir image-credential-provider-config image-service-endpoint
string .. kube-api-content-type kubeconfig lock-file logging-format machine-id-file manifest-url node-ip
string .. pod-cidr provider-id resolv-conf root-dir runtime-cgroups storage-driver-db
string .. storage-driver-host storage-driver-password storage-driver-table storage-driver-user
string .. tls-cert-file tls-min-version tls-private-key-file volume-plugin-dir
string ..29 azure-container-registry-config
string ..33 cloud-config
string ..34 pod-infra-container-image
string 28.. config-dir
taints .. register-with-taints
version .. version
vmodule .. vmodule
"""

_GONE = """
24 cni-bin-dir cni-cache-dir cni-conf-dir docker-endpoint dynamic-config-dir image-pull-progress-deadline
24 network-plugin network-plugin-mtu
26 add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size logtostderr one-output
26 skip-headers skip-log-headers stderrthreshold
27 container-runtime master-service-namespace
"""
GONE_BEFORE: Mapping[str, int] = {
    name: int(minor) for minor, *names in map(str.split, _GONE.strip().split("\n")) for name in names
}
"""Flags removed before the oldest release here, and the first minor without them."""

CONFIG, CONFIG_DIR, ROOT_DIR = "config", "config-dir", "root-dir"
IGNORE_EVICTION = "experimental-allocatable-ignore-eviction"

SWITCHES = frozenset({"bool", "go-bool", "version"})
"""Kinds of flags that do not need a value."""

_FIRST, _LAST = 27, 99


class Flag(NamedTuple):
    """A flag in some releases: how its value is written, and the field it sets, if any."""

    kind: str
    field: str = ""
    first: int = _FIRST
    last: int = _LAST


def _flag(kind: str, field: str, releases: str) -> Flag:
    first, _, last = releases.partition("..")
    return Flag(kind, field, int(first or _FIRST), int(last or _LAST))


def _rows() -> Iterator[tuple[str, Flag]]:
    for name, kind, field, *releases in map(str.split, _FIELDS.strip().split("\n")):
        yield name, _flag(kind, field, "".join(releases) or "..")
    for kind, span, *names in map(str.split, _OTHERS.strip().split("\n")):
        for name in names:
            yield name, _flag(kind, "", span)


def _by_name() -> Mapping[str, tuple[Flag, ...]]:
    found: dict[str, tuple[Flag, ...]] = {}
    for name, flag in _rows():
        found[name] = (*found.get(name, ()), flag)
    return found


FLAGS: Mapping[str, tuple[Flag, ...]] = _by_name()
"""Every flag, oldest form first; most have the same form in all releases."""

FIELDS_OF_FLAGS = frozenset(flag.field for forms in FLAGS.values() for flag in forms if flag.field)
"""The fields of the configuration that some flag sets."""


def flag_of(name: str, minor: int | None) -> Flag | None:
    """Find a flag in a release; without a release, its newest form."""
    forms = FLAGS.get(name, ())
    if minor is None:
        return forms[-1] if forms else None
    return next((flag for flag in forms if flag.first <= minor <= flag.last), None)


def flag_that_sets(field: str, minor: int) -> str:
    """Return the flag that sets a field of the configuration in a release; empty if no flag does."""
    names = (name for name in FLAGS if (flag := flag_of(name, minor)) and flag.field == field)
    return next(names, "")
