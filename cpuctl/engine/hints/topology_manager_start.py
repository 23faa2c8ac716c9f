"""What a topology manager needs to start: options, NUMA distances, not too many NUMA nodes.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``, ``NewManager``, in its order. The name of the scope
was checked by the validation of the configuration, as that of the policy should have been.
"""

from __future__ import annotations

from cpuctl.engine.hints.topology_manager import TopologyManager
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.kubelet.topology_options import (
    MAX_NODES,
    PREFER_CLOSEST,
    TopologyOptions,
    parse_topology_options,
    refuse_gated_topology_options,
)
from cpuctl.machine.cadvisor.machine_info import MachineInfo

POLICIES = ("best-effort", "restricted", "single-numa-node")
"""The policies that look at hints, the least strict first."""

_OPTIONS = "topologyManagerPolicyOptions"


def start_topology_manager(
    info: MachineInfo, config: KubeletConfiguration, gates: FeatureGates
) -> TopologyManager:
    """Set the manager up, or raise SettingError with the kubelet's text.

    With the policy ``none`` the number of nodes is not looked at, and neither are options since 1.28.
    """
    refuse_gated_topology_options(config.topology_manager_policy_options, gates)
    none = config.topology_manager_policy == "none"
    if none and gates.release.ignores_topology_options_of_none:
        return TopologyManager.none()
    options = parse_topology_options(config.topology_manager_policy_options, gates)
    _check_distances(info, options)
    if none:
        return TopologyManager.none()
    _check_number(info, options)
    if config.topology_manager_policy not in POLICIES:
        text = f'unknown policy: "{config.topology_manager_policy}"'
        raise SettingError(text, "topologyManagerPolicy")
    return TopologyManager.of(
        info,
        config.topology_manager_policy,
        config.topology_manager_scope,
        closest=options.prefer_closest_numa_nodes,
    )


def _check_distances(info: MachineInfo, options: TopologyOptions) -> None:
    if options.prefer_closest_numa_nodes and not all(node.distances for node in info.nodes):
        text = "cannot discover NUMA topology: error getting NUMA distances from cadvisor"
        raise SettingError(text, _OPTIONS, PREFER_CLOSEST)


def _check_number(info: MachineInfo, options: TopologyOptions) -> None:
    if len(info.nodes) > options.max_allowable_numa_nodes:
        text = f"unsupported on machines with more than {options.max_allowable_numa_nodes} NUMA Nodes"
        raise SettingError(text, _OPTIONS, MAX_NODES)
