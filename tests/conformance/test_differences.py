"""Every difference in allocation and admission is demonstrated: an answer changes without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cpuctl.dra.accounting import ClaimRules
from cpuctl.engine.hints.node_sets import walks
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.pod_rules import node_rules
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.releases import behaviours as table
from cpuctl.kubelet.releases.difference import DECIDING
from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, ContainerKind, QosClass, StoredPod
from cpuctl.pods.out_of_memory import oom_score
from cpuctl.pods.running import ContainerStatus, RunState
from cpuctl.records import replace
from tests.conformance import node_start
from tests.conformance.corpus import Recorded, corpus_files, version_of
from tests.conformance.runner import run_cases
from tests.support.pods import app, pod, resources
from tests.support.topologies import CoreAt, machine_info

FILES = {each.name: each for each in corpus_files(Path(__file__).parents[2] / "fixtures" / "conformance")}
ALLOCATING = DECIDING - {"pod-level resources"}
EIGHT = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))
SIDECAR = Container(name="proxy", kind=ContainerKind.SIDECAR, resources=resources("cpu=1 memory=1Gi"))
CASES = [(name, case) for name, difference in DIFFERENCES.items() for case in difference.cases]


def recorded(case: str) -> list[Recorded]:
    """Return the cases with a name: some topics have several."""
    file, name = case.split()
    return [each for each in FILES[file].recorded() if each.name == name]


def forget() -> None:
    for remembered in (table.behaviours, node_start._checked, node_start._read_kubelet):
        remembered.cache_clear()


@contextmanager
def turned(name: str, version: KubeletVersion) -> Iterator[None]:
    """Give a release a difference that it does not have, or remove one that it has."""
    difference = DIFFERENCES[name]
    since = 99 if difference.holds(*version) else 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DIFFERENCES, name, difference._replace(since=since, patches={}))
        forget()
        yield
    forget()


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_recorded_answer_needs_the_difference(name: str, case: str) -> None:
    found = recorded(case)
    assert not run_cases(found).failed
    with turned(name, version_of(found[0].case)):
        assert run_cases(found).failed


def started(minor: int, **gates: bool) -> Node:
    reported = KubeletConfiguration(
        cpu_manager_policy="static", reserved_system_cpus="0", feature_gates=gates or {}
    )
    node = start_node(EIGHT, Kubelet(version=KubeletVersion(minor), config=reported), fit=True)
    assert isinstance(node, Node), node
    return node


def reason(node: Node, given: StoredPod) -> str:
    verdict = node.admit(given._replace(uid="a")).verdict
    return str(verdict.reason) if isinstance(verdict, Rejected) else "admitted"


def with_sidecar() -> StoredPod:
    return pod(app("cpu=2 memory=2Gi"))._replace(init_containers=(SIDECAR,))


def overdrawn() -> str:
    """The node is smaller than what runs on it; a new pod requests only memory."""
    node = started(28)
    node.resume([pod(app("cpu=9"))._replace(uid="b")])
    return reason(node, pod(app("memory=1Mi")))


def score() -> int | None:
    given, rules = with_sidecar(), node_rules(FeatureGates(31))
    lowers = rules.lowers_sidecar_scores
    return oom_score(given, SIDECAR, QosClass.BURSTABLE, 16 << 30, lowers_sidecars=lowers).value


def pod_level_switched_off() -> str:
    level = pod(app("cpu=1"), pod_level=resources("cpu=2", "cpu=2"))
    return reason(started(33), level)


def device_walks() -> list[str]:
    reported = KubeletConfiguration(topology_manager_policy="restricted")
    return [each.who for each in walks(EIGHT, reported, FeatureGates(35))]


def cores_of_books() -> list[int]:
    """Four CPUs of s390x in two books, with the same two core ids in each book."""
    (node,) = machine_info(CoreAt(cpus=(cpu,)) for cpu in range(4)).nodes
    cores = (replace(each, core_id=at % 2, book_id=at // 2) for at, each in enumerate(node.cores))
    info = MachineInfo((replace(node, cores=tuple(cores)),), num_cpus=4, num_sockets=1)
    begun = start_node(info, Kubelet(version=KubeletVersion(31), config=KubeletConfiguration()))
    assert isinstance(begun, Node), begun
    return list(begun.topology.cores.values())


def without_allocated() -> str:
    """The status of a running pod has no allocatedResources; its kubelet restarts without a state file."""
    node = started(34)
    running = pod(app("cpu=2 memory=2Gi"))._replace(uid="a", qos_class=QosClass.GUARANTEED)
    name = running.containers[0].name
    (again,) = node.readmit([running._replace(statuses=(ContainerStatus(name, RunState.RUNNING),))])
    return str([each.exclusive for each in again.placements])


def unknown_devices() -> str:
    """An init container requests devices that are unknown on the node."""
    asking = Container(name="setup", kind=ContainerKind.INIT, resources=resources("vendor/device=1"))
    given = pod(app("cpu=1"))._replace(init_containers=(asking,), uid="a")
    return str(started(30).admit(given).verdict)


def unnamed_claims() -> bool:
    """No container names a claim that counts as the node's CPUs."""
    counting = FeatureGates(37).with_overrides({"DRANodeAllocatableResources": True})
    return ClaimRules.of(counting).unnamed


DEMONSTRATED: Mapping[str, tuple[int, Callable[[], Any]]] = {
    "counts_claims_that_no_container_names": (37, unnamed_claims),
    "ignores_missing_devices_of_inits": (30, unknown_devices),
    "fits_zero_requests": (28, overdrawn),
    "knows_books": (31, cores_of_books),
    "knows_sidecars": (28, lambda: reason(started(28), with_sidecar())),
    "lowers_oom_scores_of_sidecars": (31, score),
    "managers_read_requests": (34, without_allocated),
    "rejects_claims_of_static_pods": (34, lambda: node_rules(FeatureGates(34)).static_claims),
    "rejects_references_of_static_pods": (34, lambda: node_rules(FeatureGates(34)).static_references),
    "rejects_pod_level_resources_switched_off": (33, pod_level_switched_off),
    "walks_only_nodes_with_devices": (35, device_walks),
}
"""Differences without a recording: a release, and an answer that the difference decides."""


@pytest.mark.parametrize("name", DEMONSTRATED)
def test_an_answer_without_a_recording_needs_the_difference(name: str) -> None:
    minor, answer = DEMONSTRATED[name]
    before = answer()
    with turned(name, KubeletVersion(minor)):
        assert answer() != before


def test_gates_that_differences_depend_on_decide() -> None:
    assert reason(started(28), with_sidecar()) == "InitContainerRestartPolicyForbidden"
    assert reason(started(28, SidecarContainers=True), with_sidecar()) == "admitted"
    assert [FeatureGates(minor).enabled("DisableCPUQuotaWithExclusiveCPUs") for minor in (32, 33)] == [
        False,
        True,
    ]


BY_GATE = {"admits_sidecars", "lifts_quota_of_exclusive_cpus"}


def test_every_difference_in_allocation_and_admission_is_demonstrated() -> None:
    silent = {
        name
        for name, difference in DIFFERENCES.items()
        if difference.area in ALLOCATING and not difference.cases
    }
    assert silent == (silent & DEMONSTRATED.keys()) | BY_GATE


def test_what_is_verified_was_recorded_and_decides_on_allocation_or_admission() -> None:
    unrecorded = {
        name
        for name, difference in DIFFERENCES.items()
        if difference.area in ALLOCATING and difference.evidence == "verified" and not difference.cases
    }
    assert unrecorded == {"lifts_quota_of_exclusive_cpus"}
