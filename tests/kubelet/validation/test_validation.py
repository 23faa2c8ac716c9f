"""What the kubelet rejects on any machine: every condition, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cpuctl.golang.durations import MILLISECOND, SECOND
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.validation.rule import Subject
from cpuctl.kubelet.validation.rules import validate, validation_text
from cpuctl.quantity import Quantity


def found(
    config: Mapping[str, Any],
    *,
    minor: int = 36,
    gates: Mapping[str, bool] | None = None,
    cgroup_version: int = 2,
) -> list[SettingError]:
    """Validate a configuration with default fields except for *config*."""
    subject = Subject(
        config=KubeletConfiguration(**config),
        gates=FeatureGates.for_minor(minor).with_overrides(gates or {}),
        cgroup_version=cgroup_version,
    )
    return validate(subject)


@dataclass(frozen=True)
class Case:
    """One mistake, the setting it is in, and the kubelet's text after its prefix."""

    config: dict[str, Any]
    path: str
    want: str
    minor: int = 36
    gates: dict[str, bool] = field(default_factory=dict)


def memory(node: int = 0, **limits: str) -> ReservedMemory:
    amounts = {name.replace("_", "-"): Quantity.parse(amount) for name, amount in limits.items()}
    return ReservedMemory(numa_node=node, limits=amounts)


ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
ENFORCED = "enforceNodeAllocatable"
KUBE_GROUP, SYSTEM_GROUP = {"kube_reserved_cgroup": "/kube"}, {"system_reserved_cgroup": "/system"}
CASES = [
    Case(
        {"system_cgroups": "/system"},
        "systemCgroups",
        "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
    ),
    Case(
        {"cpu_cfs_quota_period": 10 * MILLISECOND},
        "cpuCFSQuotaPeriod",
        "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {10ms} requires feature gate CustomCPUCFSQuotaPeriod",
        minor=35,
    ),
    *(
        Case(
            {"cpu_cfs_quota_period": period},
            "cpuCFSQuotaPeriod",
            f"cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{text}}} must be between 1ms and 1sec, inclusive",
        )
        for period, text in ((2 * SECOND, "2s"), (999_999, "999.999µs"), (-SECOND, "-1s"))
    ),
    Case({"max_pods": -1}, "maxPods", "maxPods (--max-pods) -1 must not be a negative number"),
    Case(
        {"pods_per_core": -1}, "podsPerCore", "podsPerCore (--pods-per-core) -1 must not be a negative number"
    ),
    *(
        Case(
            {"oom_score_adj": score},
            "oomScoreAdj",
            f"oomScoreAdj (--oom-score-adj) {score} must be between -1000 and 1000, inclusive",
        )
        for score in (1001, -1001)
    ),
    *(
        Case({"port": port}, "port", f"port (--port) {port} must be between 1 and 65535, inclusive")
        for port in (0, 65536)
    ),
    *(
        Case(
            {"read_only_port": port},
            "readOnlyPort",
            f"readOnlyPort (--read-only-port) {port} must be between 0 and 65535, inclusive",
        )
        for port in (-1, 65536)
    ),
    Case(
        {"topology_manager_policy": "Restricted"},
        "topologyManagerPolicy",
        'topologyManagerPolicy (--topology-manager-policy) "Restricted" must be one of:'
        ' ["none" "best-effort" "restricted" "single-numa-node"]',
    ),
    Case(
        {"topology_manager_scope": "node"},
        "topologyManagerScope",
        'topologyManagerScope (--topology-manager-scope) "node" must be one of: "container", or "pod"',
    ),
    Case(
        {"swap_behavior": "UnlimitedSwap"},
        "memorySwap.swapBehavior",
        'memorySwap.swapBehavior "UnlimitedSwap" must be one of: "", "LimitedSwap" or "NoSwap"',
    ),
    Case(
        {"swap_behavior": "LimitedSwap"},
        "memorySwap.swapBehavior",
        "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled",
        minor=29,
    ),
    *(
        Case(
            {"swap_behavior": behaviour},
            "memorySwap.swapBehavior",
            f'memorySwap.swapBehavior "{behaviour}" must be one of: "", "LimitedSwap", or "UnlimitedSwap"',
            minor=29,
            gates={"NodeSwap": True},
        )
        for behaviour in ("NoSwap", "limitedSwap")
    ),
    *(
        Case(
            {"enforce_node_allocatable": (entry,), "cgroups_per_qos": False},
            "cgroupsPerQOS",
            f"{ENFORCE} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true",
            minor=30,
        )
        for entry in ("pods", "none")
    ),
    Case(
        {"enforce_node_allocatable": ("pods", "kube-reserved")},
        "kubeReservedCgroup",
        'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" contained in'
        f" {ENFORCE}",
        minor=31,
    ),
    Case(
        {"enforce_node_allocatable": ("kube-reserved-compressible",), **KUBE_GROUP},
        ENFORCED,
        f'option "kube-reserved-compressible" specified for {ENFORCE}. Valid options are "pods",'
        ' "system-reserved", "kube-reserved", or "none"',
        minor=31,
    ),
    Case(
        {"enforce_node_allocatable": ("pods", "pods")},
        ENFORCED,
        f'duplicated enforcements "pods" in {ENFORCE}',
        minor=31,
    ),
    *(
        Case(
            {"enforce_node_allocatable": ("pods", key, f"{key}-compressible"), **group},
            ENFORCED,
            f'both "{key}" and "{key}-compressible" cannot be specified together in {ENFORCE}',
        )
        for key, group in (("system-reserved", SYSTEM_GROUP), ("kube-reserved", KUBE_GROUP))
    ),
    Case(
        {"enforce_node_allocatable": ("pods", "pods")},
        ENFORCED,
        f'duplicated enforcements "pods" in {ENFORCE}',
    ),
    *(
        Case(
            {"enforce_node_allocatable": ("pods", f"{kind}-reserved{suffix}")},
            f"{kind}ReservedCgroup",
            f'{kind}ReservedCgroup (--{kind}-reserved-cgroup) must be specified when "{kind}-reserved" or'
            f' "{kind}-reserved-compressible" included in {ENFORCE}',
        )
        for kind in ("system", "kube")
        for suffix in ("", "-compressible")
    ),
    Case(
        {"enforce_node_allocatable": ("none", "pods")},
        ENFORCED,
        f'{ENFORCE} may not contain additional enforcements when "none" is specified',
    ),
    *(
        Case(
            {"enforce_node_allocatable": (entry,)},
            ENFORCED,
            f'option "{entry}" specified for {ENFORCE}. Valid options are "pods", "system-reserved",'
            ' "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"',
        )
        for entry in ("Pods", "pods-compressible", "")
    ),
    Case(
        {"cgroups_per_qos": False},
        "cgroupsPerQOS",
        f'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in {ENFORCE}',
    ),
    *(
        Case(
            {"reserved_system_cpus": "0-1", **group},
            "reservedSystemCPUs",
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup"
            " (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
        )
        for group in (KUBE_GROUP, SYSTEM_GROUP)
    ),
    Case(
        {"reserved_system_cpus": "0-"},
        "reservedSystemCPUs",
        "unable to parse reservedSystemCPUs (--reserved-cpus) 0-, error:"
        ' strconv.Atoi: parsing "": invalid syntax',
    ),
    Case(
        {"reserved_memory": (memory(memory="0"),)},
        "reservedMemory",
        'reserved memory may not be zero for NUMA node 0 and resource "memory"',
    ),
    Case(
        {"reserved_memory": (memory(3, cpu="1"),)},
        "reservedMemory",
        'the limit type "cpu" for NUMA node 3 is not supported, only [memory hugepages-<HugePageSize>] is'
        " accepted",
    ),
    Case(
        {"reserved_memory": (memory(1, hugepages_2Mi="2Mi"), memory(1, hugepages_2Mi="4Mi"))},
        "reservedMemory",
        'the reserved memory has a duplicate value for NUMA node 1 and resource "hugepages-2Mi"',
    ),
    *(
        Case(
            {"memory_throttling_factor": factor},
            "memoryThrottlingFactor",
            f"memoryThrottlingFactor {text} must be greater than 0 and less than or equal to 1.0",
        )
        for factor, text in ((0.0, "0"), (-0.5, "-0.5"), (1.5, "1.5"))
    ),
    Case(
        {"memory_reservation_policy": "TieredReservation"},
        "memoryReservationPolicy",
        'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
    ),
    Case(
        {"memory_reservation_policy": "none"},
        "memoryReservationPolicy",
        'option "none" specified for memoryReservationPolicy. Valid options are "None" or'
        ' "TieredReservation"',
    ),
    Case(
        {"container_runtime_endpoint": ""},
        "containerRuntimeEndpoint",
        "the containerRuntimeEndpoint was not specified or empty",
    ),
    *(
        Case({"others": {name: -1}}, name, f"{name} (--{flag}) -1 must not be a negative number")
        for name, flag in (
            ("eventBurst", "event-burst"),
            ("eventRecordQPS", "event-qps"),
            ("kubeAPIBurst", "kube-api-burst"),
            ("kubeAPIQPS", "kube-api-qps"),
            ("maxOpenFiles", "max-open-files"),
            ("registryBurst", "registry-burst"),
            ("registryPullQPS", "registry-qps"),
        )
    ),
    *(
        Case({"others": {name: 101}}, name, f"{name} (--{flag}) 101 must be between 0 and {most}, inclusive")
        for name, flag, most in (
            ("imageGCHighThresholdPercent", "image-gc-high-threshold", 100),
            ("imageGCLowThresholdPercent", "image-gc-low-threshold", 100),
            ("iptablesDropBit", "iptables-drop-bit", 31),
            ("iptablesMasqueradeBit", "iptables-masquerade-bit", 31),
        )
    ),
    Case(
        {"others": {"imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 80}},
        "imageGCLowThresholdPercent",
        "imageGCLowThresholdPercent (--image-gc-low-threshold) 80 must be less than"
        " imageGCHighThresholdPercent (--image-gc-high-threshold) 80",
    ),
    Case(
        {"others": {"nodeLeaseDurationSeconds": 0}},
        "nodeLeaseDurationSeconds",
        "nodeLeaseDurationSeconds must be greater than 0",
    ),
    Case(
        {"others": {"healthzPort": 65536}},
        "healthzPort",
        "healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive",
    ),
    Case(
        {"others": {"nodeStatusMaxImages": -2}},
        "nodeStatusMaxImages",
        "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
    ),
    Case(
        {"others": {"maxParallelImagePulls": 0}},
        "maxParallelImagePulls",
        "maxParallelImagePulls 0 must be a positive number",
    ),
    Case(
        {"others": {"maxParallelImagePulls": 2, "serializeImagePulls": True}},
        "maxParallelImagePulls",
        "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls"
        " (--serialize-image-pulls) is set to false",
    ),
    Case(
        {"others": {"hairpinMode": "loose"}},
        "hairpinMode",
        'option "loose" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth"'
        ' or "promiscuous-bridge"',
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.config} 1.{case.minor}")
def test_mistakes_are_reported_in_the_kubelets_words(case: Case) -> None:
    errors = found(case.config, minor=case.minor, gates=case.gates)
    assert [(str(error), ".".join(error.path)) for error in errors] == [
        (f"invalid configuration: {case.want}", case.path)
    ]


ACCEPTED: list[dict[str, Any]] = [
    {},
    {"system_cgroups": "/system", "cgroup_root": "/"},
    {"cpu_cfs_quota_period": MILLISECOND},
    {"cpu_cfs_quota_period": SECOND},
    {"max_pods": 0, "pods_per_core": 0, "oom_score_adj": -1000, "port": 65535, "read_only_port": 65535},
    {"topology_manager_policy": "single-numa-node", "topology_manager_scope": "pod"},
    {"swap_behavior": "LimitedSwap"},
    {"enforce_node_allocatable": ("none",), "cgroups_per_qos": False},
    {"enforce_node_allocatable": (), "cgroups_per_qos": False},
    {"enforce_node_allocatable": ("pods", "kube-reserved", "system-reserved"), **KUBE_GROUP, **SYSTEM_GROUP},
    {"enforce_node_allocatable": ("pods", "kube-reserved-compressible"), **KUBE_GROUP},
    {"reserved_memory": (memory(0, memory="1Gi", hugepages_1Gi="1Gi"), memory(1, memory="1Gi"))},
    {"memory_throttling_factor": 1.0},
    # cpuctl cannot compute with such a large number, but a kubelet reads it.
    {"reserved_system_cpus": "0-9999999999"},
    # These fail later or never: the kubelet does not check them here.
    {"cpu_manager_policy": "Static", "cpu_manager_policy_options": {"bogus": "1"}},
    {"memory_manager_policy": "static", "topology_manager_policy_options": {"bogus": "1"}},
    {"kube_reserved": {"cpu": "much"}, "eviction_hard": {"bogus": "-5%"}, "cgroup_driver": "bogus"},
    {"others": {"nodeStatusMaxImages": -1, "healthzPort": 0, "hairpinMode": "none", "clusterDNS": []}},
    {"others": {"maxParallelImagePulls": 2, "serializeImagePulls": False}},
]


@pytest.mark.parametrize("config", ACCEPTED, ids=str)
def test_nothing_else_is_rejected(config: dict[str, Any]) -> None:
    assert found(config) == []


def test_old_releases_accept_what_new_ones_do_not() -> None:
    assert not found({"enforce_node_allocatable": ("pods", "pods")}, minor=30)
    assert not found({"swap_behavior": "UnlimitedSwap"}, minor=29, gates={"NodeSwap": True})
    assert not found({"enforce_node_allocatable": (), "cgroups_per_qos": False}, minor=27)


def test_gates_decide() -> None:
    assert not found({"cpu_cfs_quota_period": SECOND}, minor=35, gates={"CustomCPUCFSQuotaPeriod": True})
    assert not found({"memory_reservation_policy": "TieredReservation"}, gates={"MemoryQoS": True})


V1_REFUSED_BEFORE = (
    "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode"
)
V1_REFUSED = (
    "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be"
    " removed in a future release"
)
OOM = "invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1"


@dataclass(frozen=True)
class Host:
    """A configuration on a host with cgroup v1."""

    config: dict[str, Any]
    minor: int
    want: tuple[str, ...]


HOSTS = [
    Host({}, 34, ()),
    Host({}, 35, (V1_REFUSED,)),
    Host({"fail_cgroup_v1": True}, 34, (V1_REFUSED_BEFORE,)),
    Host({"fail_cgroup_v1": False}, 36, ()),
    Host({"fail_cgroup_v1": False, "single_process_oom_kill": False}, 36, (OOM,)),
    Host({"fail_cgroup_v1": False, "single_process_oom_kill": True}, 36, ()),
    Host({"fail_cgroup_v1": True, "single_process_oom_kill": False}, 36, (V1_REFUSED,)),
]


@pytest.mark.parametrize("host", HOSTS, ids=str)
def test_hosts_with_cgroup_v1(host: Host) -> None:
    assert tuple(map(str, found(host.config, minor=host.minor, cgroup_version=1))) == host.want
    assert found(host.config, minor=host.minor) == []


def test_all_errors_are_reported_at_once_in_the_kubelets_order() -> None:
    errors = found({"pods_per_core": -2, "container_runtime_endpoint": "", "max_pods": -1})
    assert validation_text(errors) == (
        "[invalid configuration: maxPods (--max-pods) -1 must not be a negative number,"
        " invalid configuration: podsPerCore (--pods-per-core) -2 must not be a negative number,"
        " invalid configuration: the containerRuntimeEndpoint was not specified or empty]"
    )


def test_the_same_text_is_reported_once() -> None:
    errors = found({"enforce_node_allocatable": ("pods", "none", "x", "x", "x")})
    assert [str(error).count("duplicated") for error in errors] == [0, 0, 1, 1]
    text = validation_text(errors)
    assert text.count('duplicated enforcements "x"') == 1
    assert text.startswith("[")
