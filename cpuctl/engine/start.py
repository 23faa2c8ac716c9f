"""Starting a kubelet's managers: the checks of start-up, in the kubelet's order.

Rule: kubelet v1.36 ``cmd/kubelet/app/server.go`` and ``container_manager_linux.go``. The first check that
fails decides; its text is the kubelet's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu_manager import StaticPolicy
from cpuctl.engine.cpu_state import CPUManagerState
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.engine.topology import CPUTopology
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
    refuse_gated_options,
    refuse_options_of_none_policy,
)
from cpuctl.kubelet.reservations import CPUReservation, cpu_reservation, require_cpu_reservation
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo

T = TypeVar("T")

StartResult = Node | StartRefused | KubeletFault | Undetermined


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """What a kubelet is told: its release, its configuration, and gates given as flags on top."""

    version: KubeletVersion
    config: KubeletConfiguration
    gate_flags: Mapping[str, bool] = field(default_factory=dict)


class _RefusedError(Exception):
    """A start-up check failed; carried up to ``start_node`` only."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.result = StartRefused(stage=stage, error=text)


def start_node(info: MachineInfo, kubelet: Kubelet) -> StartResult:
    """Start the managers on a machine without state files."""
    try:
        FeatureGates.for_minor(kubelet.version.minor).with_overrides(kubelet.config.feature_gates)
    except ValueError as error:
        return _bad_gates_in_file(error)
    try:
        return _start(info, kubelet)
    except _RefusedError as refused:
        return refused.result


def _start(info: MachineInfo, kubelet: Kubelet) -> Node | Undetermined:
    config, minor = kubelet.config, kubelet.version.minor
    gates = _check("featureGates", lambda: _gates(kubelet))
    if unknown := _not_computed(config, gates):
        return Undetermined(unknown)
    _check("cpuManager", lambda: refuse_gated_options(config.cpu_manager_policy_options, gates))
    topology = _check("cpuManager", lambda: CPUTopology.discover(info))
    reservation = _check("reservedSystemCPUs", lambda: cpu_reservation(config, CPUSet(topology.cpus)))
    policy = _check("cpuManager", lambda: _policy(topology, config, gates, reservation))
    return Node(
        topology=topology,
        policy=policy,
        state=policy.fresh_state() if policy else CPUManagerState(topology.cpus),
        pod_level_resources=minor >= 32 and gates.enabled("PodLevelResources"),
    )


def _check(stage: str, check: Callable[[], T]) -> T:
    try:
        return check()
    except ValueError as error:
        raise _RefusedError(stage, str(error)) from None


def _gates(kubelet: Kubelet) -> FeatureGates:
    gates = FeatureGates.for_minor(kubelet.version.minor)
    return gates.with_overrides({**kubelet.config.feature_gates, **kubelet.gate_flags})


def _bad_gates_in_file(error: ValueError) -> KubeletFault:
    text = f"failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {error}"
    return KubeletFault(kind=FaultKind.CRASH, where="loading the kubelet configuration", why=text)


def _not_computed(config: KubeletConfiguration, gates: FeatureGates) -> str:
    """Name what is configured but not computed here, so that no wrong answer is given."""
    for name, value, computed in (
        ("topologyManagerPolicy", config.topology_manager_policy, "none"),
        ("memoryManagerPolicy", config.memory_manager_policy, "None"),
    ):
        if value != computed:
            return f"this version of cpuctl computes {name} {computed} only, not {value}"
    if gates.enabled("PodLevelResourceManagers"):
        return "this version of cpuctl does not compute the feature gate PodLevelResourceManagers"
    return ""


def _policy(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy | None:
    options = config.cpu_manager_policy_options
    match config.cpu_manager_policy:
        case "none":
            _wrapped("none", lambda: refuse_options_of_none_policy(options))
            return None
        case "static":
            require_cpu_reservation(reservation)
            return _wrapped("static", lambda: _static_policy(topology, config, gates, reservation))
        case other:
            raise ValueError(f'unknown policy: "{other}"')


def _wrapped(policy: str, construct: Callable[[], T]) -> T:
    try:
        return construct()
    except ValueError as error:
        raise ValueError(f"new {policy} policy error: {error}") from None


def _static_policy(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy:
    options = parse_cpu_policy_options(config.cpu_manager_policy_options, gates)
    check_align_by_socket(options, config.topology_manager_policy)
    check_sockets_for_alignment(options, sockets=topology.num_sockets, numa_nodes=topology.num_numa_nodes)
    return StaticPolicy.construct(topology, options, reservation, gates.minor)
