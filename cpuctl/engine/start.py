"""Starting a kubelet's managers: the checks of start-up, in the kubelet's order.

Rule: kubelet v1.36 ``cmd/kubelet/app/server.go`` and ``container_manager_linux.go``. The first check that
fails decides; its text is the kubelet's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cpuctl.engine.cpu_manager import ReservingFailsError, StaticPolicy
from cpuctl.engine.cpu_state import CPUManagerState
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import allocatable_of
from cpuctl.engine.node_resources import node_capacity, node_reservations
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.engine.topology import CPUTopology
from cpuctl.engine.topology_manager import TopologyManager
from cpuctl.engine.topology_manager_start import start_topology_manager
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.feature_gates import FeatureGates
from cpuctl.kubelet.gates_at_start import BadGatesError, gates_at_start
from cpuctl.kubelet.policy_options import (
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
    refuse_gated_options,
    refuse_options_of_none_policy,
)
from cpuctl.kubelet.reservations import (
    CPUReservation,
    Reservations,
    check_capacity,
    require_cpu_reservation,
)
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.kubelet.validation import Subject, validate, validation_text
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.quantity import Quantity

T = TypeVar("T")

StartResult = Node | StartRefused | KubeletFault | Undetermined

_LOADING = "loading the kubelet configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """What a kubelet is told: its release, its configuration, and gates given as flags on top.

    ``gates_of_main_file`` are the gates before drop-ins were merged: a kubelet tries those, too.
    """

    version: KubeletVersion
    config: KubeletConfiguration
    gate_flags: Mapping[str, bool] = field(default_factory=dict)
    gates_of_main_file: Mapping[str, bool] = field(default_factory=dict)
    cgroup_version: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A kubelet that has come up, as far as CPU and topology managers go; None stands for policy ``none``."""

    gates: FeatureGates
    topology: CPUTopology
    reservations: Reservations
    capacity: Mapping[str, Quantity]
    policy: StaticPolicy | None
    topology_manager: TopologyManager | None

    @property
    def reserved(self) -> dict[str, Quantity]:
        """What is kept from pods of every resource."""
        return self.reservations.total(self.capacity)


class _RefusedError(Exception):
    """A start-up check failed; carried up to ``check_start`` only."""

    def __init__(self, stage: str, text: str, *settings: tuple[str, ...]) -> None:
        super().__init__(text)
        self.result = StartRefused(stage=stage, error=text, settings=settings)


def start_node(info: MachineInfo, kubelet: Kubelet, *, fit: bool = False) -> StartResult:
    """Start the managers on a machine without state files; *fit* makes pods fit into the node, too."""
    started = check_start(info, kubelet)
    if not isinstance(started, Started):
        return started
    if started.gates.enabled("PodLevelResourceManagers"):
        return Undetermined(
            "this version of cpuctl does not compute the feature gate PodLevelResourceManagers"
        )
    policy, topology = started.policy, started.topology
    return Node(
        topology=topology,
        policy=policy,
        state=policy.fresh_state() if policy else CPUManagerState(topology.cpus),
        pod_level_resources=kubelet.version.minor >= 32 and started.gates.enabled("PodLevelResources"),
        topology_manager=started.topology_manager,
        allocatable=allocatable_of(info, kubelet.config, started.reserved) if fit else None,
    )


def check_start(info: MachineInfo, kubelet: Kubelet) -> Started | StartRefused | KubeletFault | Undetermined:
    """Tell whether a kubelet would start on a machine without state files."""
    try:
        gates = gates_at_start(
            kubelet.version.minor,
            [kubelet.gates_of_main_file, kubelet.config.feature_gates],
            kubelet.gate_flags,
        )
        return _start(info, kubelet, gates)
    except BadGatesError as error:
        if error.crash:
            return KubeletFault(kind=FaultKind.CRASH, where=_LOADING, why=str(error))
        return StartRefused(stage="featureGates", error=str(error), settings=(("featureGates",),))
    except ReservingFailsError as error:
        return error.fault
    except _RefusedError as refused:
        return refused.result


def _start(info: MachineInfo, kubelet: Kubelet, gates: FeatureGates) -> Started | Undetermined:
    config = kubelet.config
    _check_validity(kubelet, gates)
    reservations = node_reservations(info, config, _check)
    _check("cpuManager", lambda: refuse_gated_options(config.cpu_manager_policy_options, gates))
    manager = _check("topologyManager", lambda: start_topology_manager(info, config, gates))
    topology = _check("cpuManager", lambda: CPUTopology.discover(info))
    policy = _check("cpuManager", lambda: _policy(topology, config, gates, reservations.cpus))
    if config.memory_manager_policy != "None":
        policy_name = config.memory_manager_policy
        return Undetermined(
            f"this version of cpuctl computes memoryManagerPolicy None only, not {policy_name}"
        )
    capacity = node_capacity(info)
    _check("nodeAllocatable", lambda: check_capacity(reservations.total(capacity), capacity))
    return Started(
        gates=gates,
        topology=topology,
        reservations=reservations,
        capacity=capacity,
        policy=policy,
        topology_manager=manager,
    )


def _check(stage: str, check: Callable[[], T]) -> T:
    try:
        return check()
    except SettingError as error:
        raise _RefusedError(stage, str(error), error.path) from None
    except ValueError as error:
        raise _RefusedError(stage, str(error)) from None


def _check_validity(kubelet: Kubelet, gates: FeatureGates) -> None:
    subject = Subject(config=kubelet.config, gates=gates, cgroup_version=kubelet.cgroup_version)
    if errors := validate(subject):
        raise _RefusedError("configValidation", validation_text(errors), *(error.path for error in errors))


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
            raise SettingError(f'unknown policy: "{other}"', "cpuManagerPolicy")


def _wrapped(policy: str, construct: Callable[[], T]) -> T:
    prefix = f"new {policy} policy error: "
    try:
        return construct()
    except SettingError as error:
        raise SettingError(f"{prefix}{error}", *error.path) from None
    except ValueError as error:
        raise SettingError(f"{prefix}{error}", "reservedSystemCPUs") from None


def _static_policy(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy:
    options = parse_cpu_policy_options(config.cpu_manager_policy_options, gates)
    check_align_by_socket(options, config.topology_manager_policy)
    check_sockets_for_alignment(options, sockets=topology.num_sockets, numa_nodes=topology.num_numa_nodes)
    return StaticPolicy.construct(topology, options, reservation, gates.minor)
