"""What a started node takes from its kubelet: allocatable amounts, rules by feature gate, devices, delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused
from cpuctl.engine.start import Started, StartResult, check_start, node_of, start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.records import replace
from tests.support.topologies import CoreAt, machine_info

GIB = 1 << 30
EIGHT = replace(machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4)), memory_bytes=16 * GIB)
RESIZING = {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
STATIC = {"cpu_manager_policy": "static", "reserved_system_cpus": "0"}


def start(minor: int = 36, info: MachineInfo = EIGHT, **config: Any) -> StartResult:
    kubelet = Kubelet(version=KubeletVersion(minor), config=KubeletConfiguration(**config))
    return start_node(info, kubelet, fit=True)


def started(minor: int = 36, **config: Any) -> Node:
    node = start(minor, **config)
    assert isinstance(node, Node), node
    return node


def test_pods_must_fit_only_if_requested() -> None:
    config = KubeletConfiguration(kube_reserved={"cpu": "500m", "memory": "1Gi"}, max_pods=7)
    kubelet = Kubelet(version=KubeletVersion(36), config=config)
    node, fitting = start_node(EIGHT, kubelet), start_node(EIGHT, kubelet, fit=True)
    assert isinstance(node, Node)
    assert isinstance(fitting, Node)
    managers = check_start(EIGHT, kubelet)
    assert isinstance(managers, Started)
    assert (node.allocatable, node_of(managers).allocatable) == (None, None)
    assert node.topology.num_cpus == 8
    assert fitting.allocatable is not None
    assert (fitting.allocatable.amounts, fitting.allocatable.pods) == ({"cpu": 7500, "memory": 15 * GIB}, 7)


def test_devices_are_known_if_they_are_described() -> None:
    groups = (DeviceGroup(numa_nodes=CPUSet.parse("0"), total=2, healthy=2, free=2),)
    inventory = DeviceInventory(resources={"x.com/gpu": groups})
    kubelet = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration())
    node = start_node(EIGHT, kubelet, devices=inventory)
    assert isinstance(node, Node)
    assert [provider.name for provider in node.providers] == ["devices", "cpu", "memory"]
    assert [provider.name for provider in started().providers] == ["cpu", "memory"]


def test_gates_of_a_main_file_are_checked_before_its_drop_ins() -> None:
    """This holds even if a drop-in removes them."""
    kubelet = Kubelet(
        version=KubeletVersion(36), config=KubeletConfiguration(), gates_of_main_file={"Bogus": True}
    )
    fault = start_node(EIGHT, kubelet)
    assert isinstance(fault, KubeletFault)
    assert (fault.kind, fault.where) == (FaultKind.CRASH, "loading the kubelet configuration")


def test_a_machine_without_cpus_is_not_blamed_on_a_setting() -> None:
    nothing = MachineInfo(nodes=(), num_cpus=0, num_sockets=0)
    refused = start(info=nothing)
    assert isinstance(refused, StartRefused)
    assert refused.settings == ()


def test_cgroup_v1_is_rejected_if_configured() -> None:
    kubelet = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration(fail_cgroup_v1=True))
    assert isinstance(start_node(EIGHT, kubelet), Node)
    refused = start_node(EIGHT, replace(kubelet, cgroup_version=1))
    assert isinstance(refused, StartRefused)
    assert (refused.stage, refused.settings) == ("configValidation", (("failCgroupV1",),))


@pytest.mark.parametrize(
    ("minor", "gates", "want"),
    [(36, {}, False), (37, {}, False), (37, RESIZING, True)],
)
def test_baselines_are_kept_for_resizes(minor: int, gates: Mapping[str, bool], want: bool) -> None:
    assert started(minor, **STATIC, feature_gates=gates).cpu.keeps_baselines is want


def test_shrinking_is_delayed_by_the_option_of_the_static_policy() -> None:
    options = {"scale-delay-time": "2s"}
    slow = started(37, **STATIC, feature_gates=RESIZING, cpu_manager_policy_options=options)
    assert slow.delays.of_node == 2_000_000_000
    assert not slow.delays.by_pod
    assert started(37, **STATIC).delays.of_node == 0
    assert started(37).delays.of_node == 0


def test_unknown_memory_is_not_planned_with() -> None:
    node = start(info=replace(EIGHT, memory_bytes=0))
    assert isinstance(node, Node)
    assert node.allocatable is not None
    assert (node.allocatable.amounts, node.allocatable.pods) == ({"cpu": 8000}, 110)
