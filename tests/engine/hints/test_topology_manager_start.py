"""Settings with which the Topology Manager refuses to start, and the kubelet's errors in their order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine.hints.topology_manager import TopologyManager, start_topology_manager
from cpuctl.kubelet.config import KubeletConfiguration, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.machine_info import InfoNode, MachineInfo

OPTIONS = "topologyManagerPolicyOptions"
CLOSEST, MAX_NODES = "prefer-closest-numa-nodes", "max-allowable-numa-nodes"
GATE = '"TopologyManagerPolicyOptions"'
UNGATED = FeatureGates.for_minor(31).with_overrides({"TopologyManagerPolicyOptions": False})


def machine(nodes: int, *, without_distances: int = 0) -> MachineInfo:
    """Describe a machine; its last nodes may have no distances."""
    reported = nodes - without_distances
    found = (InfoNode(id=n, cores=(), distances=(10,) * nodes if n < reported else ()) for n in range(nodes))
    return MachineInfo(nodes=tuple(found), num_cpus=nodes, num_sockets=1)


def start(
    policy: str, options: Mapping[str, str], info: MachineInfo, gates: FeatureGates | None = None
) -> TopologyManager:
    config = KubeletConfiguration(
        topology_manager_policy=policy, topology_manager_scope="pod", topology_manager_policy_options=options
    )
    return start_topology_manager(info, config, gates or FeatureGates.for_minor(36))


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_the_manager_matches_the_configuration(policy: str) -> None:
    manager = start(policy, {CLOSEST: "true", MAX_NODES: "9"}, machine(9))
    assert (manager.policy, manager.scope, manager.everything) == (policy, "pod", 0b1_1111_1111)
    assert bool(manager.fit.distances) is (policy != "single-numa-node")
    assert not start(policy, {}, machine(8)).fit.distances


REFUSED = {
    "options that are gated off": (
        ("bogus", {MAX_NODES: "1"}, machine(9), UNGATED),
        f"topology manager policy options map[{MAX_NODES}:1] require feature gates {GATE} enabled",
        (OPTIONS,),
    ),
    "a value before the number of nodes": (
        ("bogus", {MAX_NODES: "1"}, machine(9)),
        f'the minimum value of "{MAX_NODES}" should not be less than 8',
        (OPTIONS, MAX_NODES),
    ),
    "one node without distances": (
        ("bogus", {CLOSEST: "true"}, machine(9, without_distances=1)),
        "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
        (OPTIONS, CLOSEST),
    ),
    "more nodes than allowed": (
        ("bogus", {MAX_NODES: "9"}, machine(10, without_distances=1)),
        "unsupported on machines with more than 9 NUMA Nodes",
        (OPTIONS, MAX_NODES),
    ),
    "an unknown policy": (
        ("bogus", {}, machine(8)),
        'unknown policy: "bogus"',
        ("topologyManagerPolicy",),
    ),
}


@pytest.mark.parametrize(("requested", "text", "path"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_rejected_in_order(
    requested: tuple[str, dict[str, str], MachineInfo], text: str, path: tuple[str, ...]
) -> None:
    with pytest.raises(SettingError) as caught:
        start(*requested)
    assert (str(caught.value), caught.value.path) == (text, path)


def test_without_a_policy_only_the_options_feature_gate_matters() -> None:
    assert start("none", {MAX_NODES: "1"}, machine(9)) == TopologyManager.none()
    assert start("none", {}, machine(9), UNGATED) == TopologyManager.none()
    with pytest.raises(SettingError, match="require feature gates"):
        start("none", {MAX_NODES: "1"}, machine(9), UNGATED)
