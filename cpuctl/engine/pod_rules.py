"""From releases, gates and configuration to the rules by which pods are read and cgroups written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.outcome import Rejected
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.pods.model import StoredPod
from cpuctl.pods.rules import NodeRules, ServerRules

if TYPE_CHECKING:
    from cpuctl.kubelet.releases.difference import Difference
    from cpuctl.pods.cgroups.values import CgroupSettings

_AT_SERVER = (
    "counts_pod_level_requests_for_new_nodes",
    "counts_pod_level_requests_for_replicas",
    "counts_sidecars_for_replicas",
    "defaults_pod_level_last",
    "defaults_pod_level_limits",
)
_AT_NODE = (
    "lifts_quota_of_exclusive_cpus",
    "enables_pod_level_resources",
    "pod_level_hugepages",
    "shows_pod_level_limits_inside",
    "takes_cfs_periods",
    "protects_memory_by_class",
    "memory_throttling_is_opt_in",
    "counts_claims_in_cgroups",
    "empty_pod_level_resources_do_not_count",
)
_CLAIMS_COUNT = "DRANodeAllocatableResources"
_REFERENCES = "PreventStaticPodAPIReferences"
_MICROSECOND = 1000
_DEFAULT_FACTOR = 0.9


def server_rules(gates: FeatureGates) -> ServerRules:
    """Return how an API server with these gates defaults and stores pods."""
    return ServerRules(
        minor=gates.minor,
        pod_level=gates.enabled("PodLevelResources"),
        pod_level_limits=gates.enabled("PodLevelResourcesFixDefaulting"),
        claims=gates.enabled("DynamicResourceAllocation"),
        resize_policies=gates.enabled("InPlacePodVerticalScaling"),
        takes_assigned=gates.enabled("DownwardAPIAssignedResources"),
    )


def node_rules(gates: FeatureGates) -> NodeRules:
    """Return how a kubelet with these gates reads pods."""
    release = gates.release
    return NodeRules(
        minor=gates.minor,
        pod_level=gates.enabled("PodLevelResources"),
        empty_counts=not gates.enabled("PodLevelResourcesFixKubeletQOSClass"),
        managers=gates.enabled("PodLevelResourceManagers"),
        passes_over=release.skips_pod_level_pods,
        keeps_sidecars_apart=release.keeps_sidecars_apart,
        knows_sidecars=release.knows_sidecars,
        sidecars=gates.enabled("SidecarContainers"),
        lowers_sidecar_scores=release.lowers_oom_scores_of_sidecars,
        reads_allocated=gates.enabled("InPlacePodVerticalScaling") and not release.managers_read_requests,
        resizes_sidecars=release.resizes_sidecars,
        rejects_pod_level=release.rejects_pod_level_resources_switched_off,
        counts_claims=gates.enabled(_CLAIMS_COUNT),
        writes_claims=gates.enabled(_CLAIMS_COUNT) and release.counts_claims_in_cgroups,
        static_claims=_refused_claims(gates) if release.rejects_claims_of_static_pods else "",
        static_references=_refuses_references(gates),
    )


def _refuses_references(gates: FeatureGates) -> bool:
    """Return whether a kubelet refuses static pods with any reference; a gate decides in 1.34 to 1.36."""
    if not gates.release.rejects_references_of_static_pods:
        return False
    return gates.stage(_REFERENCES) is None or gates.enabled(_REFERENCES)


def _refused_claims(gates: FeatureGates) -> str:
    """Return what a kubelet says about static pods with claims; one that refuses all references differs.

    Rule: kubelet ``pkg/kubelet/config/common.go``.
    """
    return "static pods may not " + (
        "reference resourceclaims" if _refuses_references(gates) else "use ResourceClaims"
    )


def reports_allocated_resources(gates: FeatureGates) -> bool:
    """Return whether these gates allow ``allocatedResources`` in statuses: kubelet and server must agree.

    Rule: ``kubelet_pods.go``, ``pkg/api/pod/util.go``; its own gate decides while that is alpha (1.32).
    """
    own = "InPlacePodVerticalScalingAllocatedStatus"
    stage = gates.stage(own)
    decides = stage is not None and stage.stage == "a"
    return gates.enabled("InPlacePodVerticalScaling") and (gates.enabled(own) or not decides)


def pod_level_rejection(pod: StoredPod, rules: NodeRules) -> Rejected | None:
    """Return how a kubelet rejects pod-level resources that it has disabled; None if it does not.

    Rule: kubelet v1.36 ``pkg/kubelet/lifecycle`` (``isPodLevelResourcesSupported``).
    """
    if not rules.rejects_resources_of(pod):
        return None
    return Rejected(
        reason="PodLevelResourcesNotSupported", message="PodLevelResources feature gate is disabled"
    )


def sidecar_rejection(pod: StoredPod, rules: NodeRules) -> Rejected | None:
    """Return how a kubelet rejects a sidecar while SidecarContainers is off; None if it does not.

    Rule: ``pkg/kubelet/lifecycle/predicate.go`` of 1.28 to 1.32.
    """
    if not (name := rules.forbidden_sidecar(pod)):
        return None
    return Rejected(
        reason="InitContainerRestartPolicyForbidden",
        message=f'Init container "{name}" may not have a non-default restartPolicy',
        container=name,
    )


def differences_in_force(server: FeatureGates, node: FeatureGates) -> dict[str, Difference]:
    """Name what releases after 1.27 do differently with pods, as far as it applies to the two sides."""
    sides = [(name, server) for name in _AT_SERVER] + [(name, node) for name in _AT_NODE]
    found = {name: DIFFERENCES[name] for name, gates in sides if _holds(DIFFERENCES[name], gates)}
    return dict(sorted(found.items(), key=lambda item: item[1].since))


def _holds(difference: Difference, gates: FeatureGates) -> bool:
    return difference.holds(gates.minor, gates.patch) and (
        not difference.gate or gates.enabled(difference.gate)
    )


def cgroup_settings(
    config: KubeletConfiguration,
    gates: FeatureGates,
    *,
    allocatable_memory: int | None = None,
    page_sizes: tuple[int, ...] = (),
) -> CgroupSettings:
    """Return what a configuration says about cgroups; the other arguments are the node's, in bytes."""
    from cpuctl.pods.cgroups.linux_resources import DEFAULT_PERIOD
    from cpuctl.pods.cgroups.values import CgroupSettings

    factor = config.memory_throttling_factor
    if factor is None and not gates.release.memory_throttling_is_opt_in:
        factor = _DEFAULT_FACTOR
    period = config.cpu_cfs_quota_period // _MICROSECOND if gates.enabled("CustomCPUCFSQuotaPeriod") else 0
    return CgroupSettings(
        minor=gates.minor,
        cfs_quota=config.cpu_cfs_quota,
        # No kubelet starts with a period of 0 or less: what is in the groups was written with another one.
        period=period if period > 0 else DEFAULT_PERIOD,
        lifts_quota=gates.enabled("DisableCPUQuotaWithExclusiveCPUs"),
        pids_limit=config.pod_pids_limit,
        memory_qos=gates.enabled("MemoryQoS"),
        throttling_factor=factor,
        tiered=config.memory_reservation_policy == "TieredReservation",
        allocatable_memory=allocatable_memory,
        page_sizes=page_sizes,
    )
