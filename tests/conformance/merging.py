"""Merging explicit hint lists, as a kubelet with given nodes, policy and options does."""

from __future__ import annotations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import start_topology_manager
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import KubeletFault, Undetermined
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from tests.conformance.corpus import Json, version_of
from tests.conformance.hint_answers import undetermined, written


def merge_hints(case: Json) -> Json:
    """Merge the answers of the case's providers."""
    config = KubeletConfiguration(
        topology_manager_policy=case["policy"],
        topology_manager_policy_options=case.get("policyOptions", {}),
    )
    try:
        manager = start_topology_manager(_machine(case), config, _gates(case))
    except ValueError as error:
        return {"error": str(error)}
    answers = [
        provider and {name: _hints(hints) for name, hints in provider.items()}
        for provider in case["providers"]
    ]
    merged = manager.merge(answers)
    if isinstance(merged, KubeletFault):
        return {"panic": merged.why}
    if isinstance(merged, Undetermined):
        return undetermined(merged)
    return {"admit": merged.admit, **written(merged.hint)}


def _gates(case: Json) -> FeatureGates:
    """Return the gates of a case; whether options are allowed is checked before a manager is created."""
    version = version_of(case)
    settings = case.get("featureGates", {}) | {"TopologyManagerPolicyOptions": True}
    return FeatureGates(version.minor, settings, version.patch)


def _machine(case: Json) -> MachineInfo:
    nodes = tuple(
        InfoNode(id=node["id"], cores=(), distances=tuple(node.get("distances", ())))
        for node in case["numaNodes"]
    )
    return MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1)


def _hints(hints: list[Json] | None) -> list[Hint] | None:
    if hints is None:
        return None
    return [
        Hint(None if hint["numa"] is None else NodeMask(CPUSet.of(hint["numa"]).mask), hint["preferred"])
        for hint in hints
    ]
