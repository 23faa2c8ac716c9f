"""The same node, its state and pods carried over, under another policy of the Topology Manager."""

from __future__ import annotations

from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import start_node
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.cadvisor.machine_info import MachineInfo

TOPOLOGY_POLICIES = ("none", *POLICIES)

NotStarted = StartRefused | KubeletFault | Undetermined


def under_policy(node: Node, info: MachineInfo, kubelet: Kubelet, policy: str) -> Node | NotStarted:
    """Return *node*, which *kubelet* runs, as it were under *policy*, or why the kubelet would not start."""
    if policy == kubelet.config.topology_manager_policy:
        return node
    config = kubelet.config._replace(topology_manager_policy=policy)
    started = start_node(info, kubelet._replace(config=config))
    if not isinstance(started, Node):
        return started
    other = node.copy()
    other.topology_manager = started.topology_manager
    return other
