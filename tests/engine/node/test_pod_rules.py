"""How nodes of different releases admit pods with pod-level resources (KEP-2837)."""

from __future__ import annotations

import pytest

from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import StoredPod
from tests.support.pods import app, pod, resources
from tests.support.topologies import CoreAt, machine_info

EIGHT = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))
OFF = {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}
OFF_1_37 = {
    **OFF,
    "PodLevelResourcesFixDefaulting": False,
    "PodLevelResourcesFixKubeletQOSClass": False,
}
WHOLE = "cpu=2 memory=1Gi"


def admitted(minor: int, given: StoredPod, gates: dict[str, bool] | None = None) -> Admission:
    reported = KubeletConfiguration(
        cpu_manager_policy="static", reserved_system_cpus="0", feature_gates=gates or {}
    )
    node = start_node(EIGHT, Kubelet(version=KubeletVersion(minor), config=reported), fit=True)
    assert isinstance(node, Node), node
    return node.admit(given._replace(uid="a"))


WITH_RESOURCES = pod(app(WHOLE, WHOLE), pod_level=resources("cpu=4 memory=2Gi", "cpu=4 memory=2Gi"))


def test_a_kubelet_that_does_not_know_the_field_pins_the_container() -> None:
    admission = admitted(31, WITH_RESOURCES)
    assert admission.placements[0].exclusive


@pytest.mark.parametrize("minor", [34, 36, 37])
def test_a_kubelet_that_knows_the_field_aligns_nothing(minor: int) -> None:
    admission = admitted(minor, WITH_RESOURCES)
    assert isinstance(admission.verdict, Admitted)
    assert not admission.placements[0].exclusive


@pytest.mark.parametrize(("minor", "gates"), [(36, OFF), (37, OFF_1_37)])
def test_a_kubelet_with_the_gate_off_rejects_the_pod(minor: int, gates: dict[str, bool]) -> None:
    verdict = admitted(minor, WITH_RESOURCES, gates).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.reason, verdict.message) == (
        "PodLevelResourcesNotSupported",
        "PodLevelResources feature gate is disabled",
    )


@pytest.mark.parametrize(("minor", "qos"), [(36, "BestEffort"), (37, "Guaranteed")])
def test_empty_pod_level_resources_count_until_1_36(minor: int, qos: str) -> None:
    admission = admitted(minor, pod(app(WHOLE, WHOLE), pod_level=resources()))
    assert str(admission.qos.qos_class) == qos
    assert admission.placements[0].exclusive is (qos == "Guaranteed")


def test_a_pod_counts_with_its_pod_level_resources() -> None:
    """Its containers' resources do not count, neither when it is admitted nor when another pod is."""
    reported = KubeletConfiguration()
    node = start_node(EIGHT, Kubelet(version=KubeletVersion(36), config=reported), fit=True)
    assert isinstance(node, Node)
    verdicts = [
        node.admit(pod(app("cpu=1"), pod_level=resources(f"cpu={own}"))._replace(uid=f"of-{own}")).verdict
        for own in (9, 5, 4)
    ]
    assert [each.details if isinstance(each, Rejected) else {} for each in verdicts] == [
        {"requested": 9000, "used": 0, "capacity": 8000},
        {},
        {"requested": 4000, "used": 5000, "capacity": 8000},
    ]


def test_a_pod_that_does_not_fit_is_rejected_for_that_first() -> None:
    """The handler for pod features runs after the one for the node's capacity (``kubelet.go``)."""
    verdict = admitted(36, pod(app("cpu=9"), pod_level=resources("cpu=9")), OFF).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "OutOfcpu"
