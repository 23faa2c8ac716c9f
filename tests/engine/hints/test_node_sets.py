"""Which managers try all sets of NUMA nodes, in which release, how many sets, and when that is too slow."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.node_sets import (
    CPU,
    DEVICES,
    MEMORY,
    Walk,
    endless_combining,
    endless_merge,
    endless_walk,
    walks,
)
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.records import replace
from tests.support.topologies import CoreAt, machine_info


def with_memory_nodes(cpu_nodes: int, others: int) -> MachineInfo:
    """Describe a machine that also has memory-only nodes, such as those of graphics cards."""
    info = machine_info(CoreAt((node,), numa_node=node) for node in range(cpu_nodes))
    bare = (InfoNode(id=cpu_nodes + node, cores=()) for node in range(others))
    return replace(info, nodes=(*info.nodes, *bare))


@pytest.mark.parametrize(
    ("topology_policy", "cpu_policy", "memory_policy", "minor", "want"),
    [
        ("restricted", "static", "Static", 35, {CPU: 2, MEMORY: 34}),
        ("restricted", "static", "Static", 34, {CPU: 2, MEMORY: 34, DEVICES: 34}),
        ("best-effort", "none", "None", 34, {DEVICES: 34}),
        ("none", "static", "Static", 34, {MEMORY: 34}),
        ("none", "static", "None", 34, {}),
        ("single-numa-node", "static", "None", 36, {CPU: 2}),
    ],
)
def test_policies_and_release_determine_which_managers_try_all_sets(
    topology_policy: str, cpu_policy: str, memory_policy: str, minor: int, want: dict[str, int]
) -> None:
    """The device manager only uses nodes with the requested devices since 1.36 and 1.35.5."""
    config = KubeletConfiguration(
        topology_manager_policy=topology_policy,
        cpu_manager_policy=cpu_policy,
        memory_manager_policy=memory_policy,
    )
    found = walks(with_memory_nodes(2, 32), config, FeatureGates.for_minor(minor))
    assert {walk.who: walk.nodes for walk in found} == want


@pytest.mark.parametrize(
    ("who", "nodes", "time", "sets"),
    [
        (CPU, 22, "1 minute", 4194303),
        (CPU, 30, "4 hours", 1073741823),
        (MEMORY, 26, "1 minute", 67108863),
        (DEVICES, 34, "4 hours", 17179869183),
        (DEVICES, 64, "584942 years", 18446744073709551615),
    ],
)
def test_from_one_minute_on_the_kubelet_counts_as_not_answering(
    who: str, nodes: int, time: str, sets: int
) -> None:
    assert endless_walk(who, nodes, "a pod") == KubeletFault(
        kind=FaultKind.NO_ANSWER,
        where=f"{who}, making hints",
        why=f"would take longer than {time}: it tries 2^{nodes} sets of NUMA nodes ({sets}) for a pod",
    )


@pytest.mark.parametrize(("who", "nodes"), [(CPU, 21), (MEMORY, 25), (DEVICES, 25)])
def test_below_one_minute_the_kubelet_answers(who: str, nodes: int) -> None:
    assert endless_walk(who, nodes, "a pod") is None


def test_measured_times_are_met() -> None:
    """A kubelet 1.36.2 took 1.03 s to admit a pod on 16 NUMA nodes, nearly all of it in CPU hints."""
    assert 900 < Walk(CPU, 16, "").sets * 16_000 / 10**6 < 1_200


def test_combining_hints_for_too_long_counts_as_no_answer() -> None:
    """A kubelet combined 65535 with 65535 hints in 349 seconds; with two more nodes it takes hours."""
    sixteen = [Hint(NodeMask(nodes), preferred=False) for nodes in range(1, 1 << 16)]
    assert endless_merge([sixteen, sixteen], 16) is None
    assert endless_merge([sixteen, sixteen, sixteen[:2]], 16) == KubeletFault(
        kind=FaultKind.NO_ANSWER,
        where="Topology Manager, merging hints",
        why="would take longer than 11 minutes: it tries "
        "at least 8589672450 combinations of hints from 3 lists",
    )


def test_slow_combining_is_predicted_for_cpus_with_memory() -> None:
    gates = FeatureGates.for_minor(36)
    config = KubeletConfiguration(
        topology_manager_policy="restricted", cpu_manager_policy="static", memory_manager_policy="Static"
    )
    assert endless_combining(with_memory_nodes(16, 0), config, gates) is None
    assert endless_combining(with_memory_nodes(18, 0), config, gates) == (262143**2, "1 hour")
    alone = replace(config, topology_manager_policy="single-numa-node")
    assert endless_combining(with_memory_nodes(18, 0), alone, gates) is None
