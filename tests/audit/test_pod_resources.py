"""The running kubelet's answers against its state files."""

from __future__ import annotations

from typing import Any

from cpuctl.audit.checks import audit, unchecked
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.checkpoints.model import DeviceEntry, DevicesStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.machine.pod_resources.model import ContainerAllocation, MemoryHeld, PodAllocation, PodResources
from tests.audit.node_tree import DATABASE, OWN, clean_node

GIB = (MemoryHeld("memory", 1 << 30, CPUSet.of([0])),)
GPU = "nvidia.com/gpu"
FINE = ContainerAllocation("server", CPUSet.parse(OWN), GIB)


def node() -> NodeSnapshot:
    return clean_node().snapshot()


def name_of_database() -> tuple[str, str]:
    namespace, _, name = node().pod_name(DATABASE).partition("/")
    return namespace, name


def answered(container: ContainerAllocation = FINE, allocatable: str = "1-3,5-7") -> PodResources:
    return PodResources((PodAllocation(*name_of_database(), (container,)),), CPUSet.parse(allocatable))


def found(answers: PodResources, snapshot: NodeSnapshot | None = None) -> list[Any]:
    whole = (snapshot or node())._replace(answers=answers)
    return [(each.code, each.expected, each.detected) for each in audit(whole, ["answers"])]


def test_a_kubelet_that_agrees_with_its_files() -> None:
    assert found(answered()) == []
    assert unchecked(node()._replace(answers=answered()), ["answers"]) == ()
    assert audit(node(), ["answers"]) == ()


def test_other_cpus_and_other_memory() -> None:
    other = FINE._replace(cpus=CPUSet.parse("2,6"), memory=())
    assert found(answered(other)) == [
        ("answer-differs", "1,5", "2,6"),
        ("answer-differs", "memory 1073741824 on 0", "none"),
    ]


def test_other_devices() -> None:
    snapshot = node()
    entry = DeviceEntry(pod_uid=DATABASE, container="server", resource=GPU, devices={0: ("g0",), 1: ("g1",)})
    saved = snapshot._replace(
        state=snapshot.state._replace(
            devices=DevicesStateFile(entries=(entry,), registered={GPU: ("g0", "g1")})
        )
    )
    assert found(answered(FINE._replace(devices={GPU: frozenset({"g1", "g0"})})), saved) == []
    held = {GPU: frozenset({"g0"}), "example.com/nic": frozenset({"eth0"})}
    assert found(answered(FINE._replace(devices=held)), saved) == [
        ("answer-differs", "none", "eth0"),
        ("answer-differs", "g0, g1", "g0"),
    ]


def test_pods_that_only_one_of_the_two_knows() -> None:
    assert found(PodResources(())) == [("pod-not-listed", OWN, "not listed")]
    new = PodAllocation("ai", "new", (ContainerAllocation("main", CPUSet.of([3])),))
    answers = answered()
    both = answers._replace(pods=(*(answers.pods or ()), new))
    assert found(both) == [("answer-differs", "none", "3")]


def test_a_kubelet_that_has_not_read_its_configuration_yet() -> None:
    assert found(answered(allocatable="2-3,6-7")) == [("allocatable-differs", "1-3,5-7", "2-3,6-7")]
    assert found(answered(allocatable="")) == [("allocatable-differs", "1-3,5-7", "none")]


def test_missing_answers_and_unknown_pods_are_reported_as_unchecked() -> None:
    snapshot = node()._replace(answers=PodResources(problems=("kubelet.sock: nobody listens",)))
    assert [each.missing for each in unchecked(snapshot, ["answers"])] == [
        "the kubelet's answer (--pod-resources): kubelet.sock: nobody listens"
    ]
    nameless = node()._replace(owners={}, pods={}, answers=answered(FINE._replace(cpus=CPUSet.of([3]))))
    assert audit(nameless, ["answers"]) == ()
    assert [each.missing.split(":")[0] for each in unchecked(nameless, ["answers"])] == ["pods (--pods)"]
