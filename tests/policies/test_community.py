"""The policies that come with cpuctl behave as their sources say, on the sources' own examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.operations.policies import ChosenPolicy, choose_policy, load_policy, plugin_of
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.policies.koordinator import Koordinator
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.policies.nodes import amounts, kubelet, node_with, pod

chosen: list[ChosenPolicy] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    while chosen:
        chosen.pop().worker.stop()


def node_of(text: str, machine: str, **reported: str) -> Node:
    source = read_machine(f"synthetic:{machine}")
    return attached(text, source, node_with(source, kubelet(**reported)), **reported)  # type: ignore[arg-type]


def attached(text: str, source: MachineSource, node: Node, **reported: str) -> Node:
    policy = choose_policy(text)
    chosen.append(policy)
    policy.attach(node, source, kubelet(**reported))  # type: ignore[arg-type]
    return node


def cpus(node: Node, name: str, *counts: int) -> str:
    admission = node.admit(pod(name, *counts))
    assert isinstance(admission.verdict, Admitted), admission.verdict
    return ";".join(str(CPUSet(each.cpus)) for each in admission.placements)


@pytest.mark.parametrize(
    ("strategy", "taken"), [("most-allocated", "20-21"), ("least-allocated", "1-2"), ("none", "1-2")]
)
def test_numa_allocation_fills_nodes_or_spreads_over_them(strategy: str, taken: str) -> None:
    """All nodes are equally good for two CPUs, and half of node 2 is assigned."""
    node = node_of(f"numa-allocation,strategy={strategy}", "1s4n32c1t,mem=64Gi", topology="restricted")
    node.what_if, placed = None, node.what_if
    policy = node.cpu.policy
    assert policy is not None
    node.cpu.policy = replace(policy, chooser=None)
    assert cpus(node, "first", 7) == "1-7"
    assert cpus(node, "whole", 8) == "8-15"
    assert cpus(node, "half", 4) == "16-19"
    node.remove("first")
    node.remove("whole")
    node.cpu.policy, node.what_if = policy, placed
    assert cpus(node, "second", 2) == taken


def test_weights_are_bounded() -> None:
    node = node_of("numa-allocation,weights=cpu=101", "1s2n8c1t,mem=8Gi", topology="restricted")
    verdict = node.admit(pod("web", 2)).verdict
    assert isinstance(verdict, Rejected)
    assert "policy numa-allocation: the weight of cpu: expected 0 to 100, found 101" in verdict.message


def test_min_shared_is_the_example_of_the_kep() -> None:
    """64 CPUs, 6 reserved, 4 kept in the pool: 54 can be exclusive."""
    node = node_of("min-shared,cpus=4", "1s1n64c1t,mem=64Gi", reserved="0-5")
    assert isinstance(node.copy().admit(pod("too-large", 55)).verdict, Rejected)
    assert cpus(node, "large", 54) == "6-59"
    assert isinstance(node.admit(pod("more", 1)).verdict, Rejected)
    assert str(CPUSet(node.state.default)) == "0-5,60-63"


def test_min_shared_counts_a_pod_with_several_containers_once() -> None:
    node = node_of("min-shared,cpus=4", "1s1n16c1t,mem=16Gi")
    assert cpus(node, "two", 5, 6) == "1-5;6-11"


def with_device(name: str, count: int) -> StoredPod:
    requested = {**amounts(count), "vendor/nic": Quantity.parse("1")}
    resources = ResourceRequirements(requested, requested)
    return stored_pod(
        Pod(name=name, uid=name, containers=(Container("app", resources=resources),)), PodRules()
    )


@pytest.mark.parametrize(("policy", "taken"), [("", "0-1"), ("favour-cpus", "1")])
def test_favour_cpus_keeps_cpus_together_and_lets_the_device_be_remote(policy: str, taken: str) -> None:
    """The issue's case: CPUs are free on node 1, the device is next to node 0, which has too few."""
    from cpuctl.engine.start import start_node

    source = read_machine("synthetic:1s2n8c1t,mem=8Gi")
    reported = kubelet(topology="best-effort")
    group = DeviceGroup(numa_nodes=CPUSet.of([0]), total=1, healthy=1, free=1)
    node = start_node(source.info, reported, devices=DeviceInventory(resources={"vendor/nic": (group,)}))
    assert isinstance(node, Node)
    assert cpus(node, "first", 2) == "1-2"
    if policy:
        attached(policy, source, node, topology="best-effort")
    admission = node.admit(with_device("second", 3))
    [placed] = admission.placements
    nodes = {number for number, mask in node.topology.numa_nodes.items() if mask & placed.cpus}
    assert ",".join(map(str, sorted(nodes))) == taken.replace("-", ",")
    assert placed.devices[0].total == 1


def test_core_kinds_keeps_efficiency_cores_for_the_pool() -> None:
    source = read_machine("synthetic:1s1n4c2t,mem=16Gi")
    machine = replace(
        source.machine, performance_cpus=CPUSet.parse("0-3"), efficiency_cpus=CPUSet.parse("4-7")
    )
    source = replace(source, machine=machine)
    strict = attached("core-kinds", source, node_with(source))
    assert CPUSet(strict.admit(pod("fits", 2)).placements[0].cpus) <= CPUSet.parse("0-3")
    refused = strict.admit(pod("beyond", 2)).verdict
    assert isinstance(refused, Rejected)
    assert "requested=2, available=1" in refused.message
    loose = attached("core-kinds,fallback=true", source, node_with(source))
    loose.admit(pod("fits", 2))
    placed = CPUSet(loose.admit(pod("beyond", 2)).placements[0].cpus)
    assert placed <= CPUSet.parse("4-7")


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ("", "1,9", "2,10"),
        (",bind=spread", "1-2", "3,8"),
        (",numa=least-allocated", "4,12", "1,9"),
        (",exclusive=numa-node", "1,9", "4,12"),
    ],
)
def test_koordinator_binds_whole_cores_or_spreads(options: str, first: str, second: str) -> None:
    node = node_of(f"koordinator{options}", "2s2n4c2t,mem=16Gi")
    assert cpus(node, "first", 2) == first
    assert cpus(node, "second", 2) == second


def test_koordinator_rejects_fractions_of_cores() -> None:
    node = node_of("koordinator,required=true", "1s1n4c2t,mem=16Gi")
    verdict = node.admit(pod("odd", 3)).verdict
    assert isinstance(verdict, Rejected)
    assert "policy koordinator: fewer than 3 CPUs are free in whole cores" in verdict.message


def test_a_policy_of_a_program_rejects_an_unknown_choice_itself() -> None:
    """The command line rejects it before the policy exists."""
    source = read_machine("synthetic:1s1n4c2t,mem=4Gi")
    policy, node = load_policy(plugin_of(Koordinator(bind="x"))), node_with(source)
    chosen.append(policy)
    policy.attach(node, source, kubelet())
    assert "bind: expected one of full, spread" in str(node.admit(pod("a", 1)))


@pytest.mark.parametrize(
    ("strategy", "taken"),
    [
        ("packing", "1,9;2,10;3,11"),
        ("spreading", "4,12;1,9;5,13"),
        ("dynamic-packing", "1,9;4,12;5,13"),
        ("balance", "1,9;2,10;3,11"),
    ],
)
def test_katalyst_packs_and_spreads(strategy: str, taken: str) -> None:
    node = node_of(f"katalyst,strategy={strategy}", "2s2n4c2t,mem=16Gi")
    assert ";".join(cpus(node, name, 2) for name in ("a", "b", "c")) == taken


def test_katalyst_balances_over_nodes_and_considers_caches() -> None:
    assert cpus(node_of("katalyst,strategy=balance", "2s2n4c2t,mem=16Gi"), "a", 6) == "1-2,4,9-10,12"
    for caches, taken in (("2", "4-7"), ("4", "2-5")):
        cached = node_of("katalyst,strategy=packing,caches=true", f"1s1n8c1t,l3={caches},mem=16Gi")
        assert cpus(cached, "a", 4) == taken
