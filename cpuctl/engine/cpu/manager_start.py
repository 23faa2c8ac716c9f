"""What a CPU Manager needs to start: a policy, options that go with it, CPUs kept from pods.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager``, ``NewManager`` and ``NewStaticPolicy``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import (
    check_align_by_socket,
    check_sockets_for_alignment,
    parse_cpu_policy_options,
    refuse_options_of_none_policy,
)
from cpuctl.kubelet.reserving.reservations import CPUReservation, require_cpu_reservation
from cpuctl.kubelet.setting_error import SettingError

T = TypeVar("T")


def start_cpu_manager(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy | None:
    """Set the manager up, or raise SettingError with the kubelet's text; None for the policy ``none``.

    Raise ReservingFailsError where choosing the reserved CPUs never ends.
    """
    options = config.cpu_manager_policy_options
    match config.cpu_manager_policy:
        case "none":
            _wrapped("none", lambda: refuse_options_of_none_policy(options))
            return None
        case "static":
            require_cpu_reservation(reservation)
            construct = partial(_static_policy, topology, config, gates, reservation)
            return _wrapped("static", construct, *reservation.setting)
        case other:
            raise SettingError(f'unknown policy: "{other}"', "cpuManagerPolicy")


def _wrapped(policy: str, construct: Callable[[], T], *setting: str) -> T:
    prefix = f"new {policy} policy error: "
    try:
        return construct()
    except SettingError as error:
        raise SettingError(f"{prefix}{error}", *error.path) from None
    except GoError as error:
        raise SettingError(f"{prefix}{error}", *setting) from None


def _static_policy(
    topology: CPUTopology, config: KubeletConfiguration, gates: FeatureGates, reservation: CPUReservation
) -> StaticPolicy:
    options = parse_cpu_policy_options(config.cpu_manager_policy_options, gates)
    check_align_by_socket(options, config.topology_manager_policy)
    check_sockets_for_alignment(options, sockets=topology.num_sockets, numa_nodes=topology.num_numa_nodes)
    return StaticPolicy.construct(topology, options, reservation, gates.release)
