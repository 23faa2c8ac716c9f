"""``ValidateKubeletConfiguration``: what the kubelet refuses whatever the machine, all of it at once.

Rule: ``pkg/kubelet/apis/config/validation``, 1.36, in its order. Not looked at, because no resource manager
depends on them: logging, tracing, taints, images, shutdown, container logs and hidden metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cpuctl.cpuset import CPUSet, CPUSetLimitError
from cpuctl.go_text import GoError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.duration import MILLISECOND, SECOND, duration_text
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.golang import aggregated, float_text, quoted
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.kubelet.validation.enforcement import check_enforcement, check_groups_of_enforcement
from cpuctl.kubelet.validation.other_fields import check_other_fields
from cpuctl.named_tuple import NamedTuple

_PREFIX = "invalid configuration: "
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES = ("container", "pod")
_RESERVATION_POLICIES = ("None", "TieredReservation")
_DEFAULT_PERIOD = 100 * MILLISECOND


class Subject(NamedTuple):
    """A configuration, the gates it runs with, and the host's cgroup version (1 or 2)."""

    config: KubeletConfiguration
    gates: FeatureGates
    cgroup_version: int = 2


Check = Callable[[Subject], Iterator[SettingError]]


def validate(subject: Subject) -> list[SettingError]:
    """Return everything the kubelet finds wrong, in its order; nothing where the configuration is valid."""
    return [error for check in _CHECKS for error in check(subject)]


def validation_text(errors: list[SettingError]) -> str:
    """Write the errors as the kubelet prints them together."""
    return aggregated(str(error) for error in errors)


def _invalid(text: str, *path: str) -> SettingError:
    return SettingError(_PREFIX + text, *path)


def _cgroup_root(subject: Subject) -> Iterator[SettingError]:
    if subject.config.system_cgroups and not subject.config.cgroup_root:
        yield _invalid(
            "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
            "systemCgroups",
        )


def _cfs_period(subject: Subject) -> Iterator[SettingError]:
    period = subject.config.cpu_cfs_quota_period
    what = f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{duration_text(period)}}}"
    if not subject.gates.enabled("CustomCPUCFSQuotaPeriod"):
        if period != _DEFAULT_PERIOD:
            yield _invalid(f"{what} requires feature gate CustomCPUCFSQuotaPeriod", "cpuCFSQuotaPeriod")
    elif not MILLISECOND <= period <= SECOND:
        yield _invalid(f"{what} must be between 1ms and 1sec, inclusive", "cpuCFSQuotaPeriod")


def _numbers(subject: Subject) -> Iterator[SettingError]:
    config = subject.config
    if config.max_pods < 0:
        yield _invalid(f"maxPods (--max-pods) {config.max_pods} must not be a negative number", "maxPods")
    if not -1000 <= config.oom_score_adj <= 1000:
        what = f"oomScoreAdj (--oom-score-adj) {config.oom_score_adj}"
        yield _invalid(f"{what} must be between -1000 and 1000, inclusive", "oomScoreAdj")
    if config.pods_per_core < 0:
        what = f"podsPerCore (--pods-per-core) {config.pods_per_core}"
        yield _invalid(f"{what} must not be a negative number", "podsPerCore")
    if not 1 <= config.port <= 65535:
        yield _invalid(f"port (--port) {config.port} must be between 1 and 65535, inclusive", "port")
    if not 0 <= config.read_only_port <= 65535:
        what = f"readOnlyPort (--read-only-port) {config.read_only_port}"
        yield _invalid(f"{what} must be between 0 and 65535, inclusive", "readOnlyPort")


def _topology(subject: Subject) -> Iterator[SettingError]:
    policy, scope = subject.config.topology_manager_policy, subject.config.topology_manager_scope
    if policy not in TOPOLOGY_POLICIES:
        allowed = " ".join(map(quoted, TOPOLOGY_POLICIES))
        what = f"topologyManagerPolicy (--topology-manager-policy) {quoted(policy)}"
        yield _invalid(f"{what} must be one of: [{allowed}]", "topologyManagerPolicy")
    if scope not in TOPOLOGY_SCOPES:
        what = f"topologyManagerScope (--topology-manager-scope) {quoted(scope)}"
        yield _invalid(f'{what} must be one of: "container", or "pod"', "topologyManagerScope")


def _swap(subject: Subject) -> Iterator[SettingError]:
    behaviour = subject.config.swap_behavior
    if not subject.gates.enabled("NodeSwap"):
        if behaviour:
            text = "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled"
            yield _invalid(text, "memorySwap", "swapBehavior")
    else:
        knows_none = subject.gates.release.knows_no_swap
        other, separator = ("NoSwap", " or") if knows_none else ("UnlimitedSwap", ", or")
        if behaviour not in ("", "LimitedSwap", other):
            allowed = f'"", "LimitedSwap"{separator} {quoted(other)}'
            text = f"memorySwap.swapBehavior {quoted(behaviour)} must be one of: {allowed}"
            yield _invalid(text, "memorySwap", "swapBehavior")


def _enforcement(subject: Subject) -> Iterator[SettingError]:
    yield from check_enforcement(subject.config, subject.gates.release)


def _groups_of_enforcement(subject: Subject) -> Iterator[SettingError]:
    yield from check_groups_of_enforcement(subject.config, subject.gates.release)


def _reserved_cpus(subject: Subject) -> Iterator[SettingError]:
    config = subject.config
    text = config.reserved_system_cpus
    if not text:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield _invalid(
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup"
            " (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
            "reservedSystemCPUs",
        )
    try:
        CPUSet.parse(text)
    except CPUSetLimitError:
        return  # well-formed, but of no machine: that is found out later
    except GoError as error:
        what = f"unable to parse reservedSystemCPUs (--reserved-cpus) {text}"
        yield _invalid(f"{what}, error: {error}", "reservedSystemCPUs")


def _reserved_memory(subject: Subject) -> Iterator[SettingError]:
    seen: set[tuple[int, str]] = set()
    for item in subject.config.reserved_memory:
        for name in sorted(item.limits):
            what = f"for NUMA node {item.numa_node} and resource {quoted(name)}"
            if name != "memory" and not name.startswith("hugepages-"):
                kind = f"the limit type {quoted(name)} for NUMA node {item.numa_node} is not supported"
                text = f"{kind}, only [memory hugepages-<HugePageSize>] is accepted"
                yield _invalid(text, "reservedMemory")
            if not item.limits[name].sign:
                yield _invalid(f"reserved memory may not be zero {what}", "reservedMemory")
            if (item.numa_node, name) in seen:
                yield _invalid(f"the reserved memory has a duplicate value {what}", "reservedMemory")
            seen.add((item.numa_node, name))


def _host(subject: Subject) -> Iterator[SettingError]:
    if subject.cgroup_version != 1:
        return
    refuses = subject.config.fail_cgroup_v1
    if refuses is None:
        refuses = subject.gates.release.refuses_cgroup_v1_by_default
    if refuses:
        yield SettingError(
            "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported"
            " and will be removed in a future release",
            "failCgroupV1",
        )
    elif subject.config.single_process_oom_kill is False:
        text = "singleProcessOOMKill must not be explicitly set to false when using cgroup v1"
        yield _invalid(text, "singleProcessOOMKill")


def _memory_qos(subject: Subject) -> Iterator[SettingError]:
    factor, policy = subject.config.memory_throttling_factor, subject.config.memory_reservation_policy
    if factor is not None and not 0 < factor <= 1:
        what = f"memoryThrottlingFactor {float_text(factor)}"
        text = f"{what} must be greater than 0 and less than or equal to 1.0"
        yield _invalid(text, "memoryThrottlingFactor")
    if policy == "TieredReservation" and not subject.gates.enabled("MemoryQoS"):
        text = f"memoryReservationPolicy {quoted(policy)} requires MemoryQoS feature gate to be enabled"
        yield _invalid(text, "memoryReservationPolicy")
    if policy not in _RESERVATION_POLICIES:
        what = f"option {quoted(policy)} specified for memoryReservationPolicy"
        text = f'{what}. Valid options are "None" or "TieredReservation"'
        yield _invalid(text, "memoryReservationPolicy")


def _runtime(subject: Subject) -> Iterator[SettingError]:
    if not subject.config.container_runtime_endpoint:
        yield _invalid("the containerRuntimeEndpoint was not specified or empty", "containerRuntimeEndpoint")


def _others(*fields: str) -> Check:
    return lambda subject: check_other_fields(subject.config.others, fields)


_CHECKS: tuple[Check, ...] = (
    _others("nodeLeaseDurationSeconds"),
    _groups_of_enforcement,
    _cgroup_root,
    _others("eventBurst", "eventRecordQPS", "healthzPort"),
    _cfs_period,
    _others(
        "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "iptablesDropBit",
        "iptablesMasqueradeBit", "kubeAPIBurst", "kubeAPIQPS", "nodeStatusMaxImages", "maxOpenFiles",
    ),
    _numbers,
    _others("registryBurst", "registryPullQPS", "maxParallelImagePulls"),
    _topology,
    _swap,
    _enforcement,
    _others("hairpinMode"),
    _reserved_cpus,
    _reserved_memory,
    _host,
    _memory_qos,
    _runtime,
)  # fmt: skip
