# ruff: noqa: E501  # texts stand whole in one line, so that they can be searched for
"""What the kubelet of a known node answers to a pod that is alone on the node."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.node import Node
from cpuctl.engine.pod_lints import KubeletView, PodLintSubject, TrialNode, lint_pod
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import Container, QosClass, ResourceRequirements, StoredPod
from cpuctl.pods.validation.finding import FieldPath
from tests.support.linted_pods import NONE, STATIC, linted
from tests.support.pod_level import TWO_NODES, info_of, kubelet
from tests.support.pods import app, init, pod, resources
from tests.support.topologies import CoreAt, machine_info

ALONE = " | on an empty node of this kind"
MACHINE = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))


def trial(**config: Any) -> TrialNode:
    reported = KubeletConfiguration(**{"cpu_manager_policy": "static", "reserved_system_cpus": "0", **config})
    node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=reported), fit=True)
    assert isinstance(node, Node)
    return TrialNode(node)


def whole(count: int) -> StoredPod:
    amounts = f"cpu={count} memory=1Gi"
    return pod(app(amounts, amounts))


@pytest.mark.parametrize(
    ("count", "options", "want"),
    [
        (7, {}, []),
        (
            8,
            {},
            [
                "error unexpected-admission spec.containers[0].resources: UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy request: requested=8, available=7, which is unexpected"
            ],
        ),
        (2, {"full-pcpus-only": "true"}, []),
        (
            3,
            {"full-pcpus-only": "true"},
            [
                "error smt-alignment spec.containers[0].resources: SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
            ],
        ),
    ],
)
def test_the_kubelet_of_a_known_node_decides(count: int, options: dict[str, str], want: list[str]) -> None:
    found = linted(whole(count), STATIC, trial(cpu_manager_policy_options=options))
    assert found == [f"{text}{ALONE}" for text in want]


def test_every_pod_finds_the_node_empty() -> None:
    node = trial()
    assert [linted(whole(7)._replace(name=name), STATIC, node) for name in ("a", "b")] == [[], []]
    assert node.node.state.default == node.node.topology.cpus


def test_a_pod_that_does_not_fit() -> None:
    assert linted(pod(app("cpu=9")), NONE, trial(cpu_manager_policy="none")) == [
        f"error out-of-cpu spec: OutOfcpu: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 7000{ALONE}"
    ]


def test_what_cannot_be_decided_is_a_note() -> None:
    assert linted(pod(app("example.com/gpu=1", "example.com/gpu=1")), STATIC, trial()) == [
        (
            "note not-decided spec: whether the node admits it is unknown: requests example.com/gpu, "
            "which is not described (use cpuctl plan --devices)"
        )
    ]


def test_a_pod_that_crashes_the_kubelet_is_an_error() -> None:
    """Found while recording answers: one pod on an empty node makes it loop forever."""
    machine = machine_info(
        CoreAt(cpus=(core, core + 32), numa_node=core // 8, socket=core // 16) for core in range(32)
    )
    reported = KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
        reserved_system_cpus="0,8,16,24",
    )
    node = start_node(machine, Kubelet(version=KubeletVersion(36), config=reported), fit=True)
    assert isinstance(node, Node)
    assert linted(whole(54), STATIC, TrialNode(node)) == [
        (
            "error kubelet-fault spec: this pod crashes the kubelet (endless loop in CPU Manager, "
            "distributing CPUs across NUMA nodes): a set of nodes has enough free CPUs for the remainder, "
            f"but too few whole groups{ALONE}"
        )
    ]


EIGHT = "cpu=8 memory=1Gi"
HALF = "cpu=4 memory=1Gi"
OTHERS = {
    "kind": (
        pod(app(HALF, HALF, "a"), app(HALF, HALF, "b")),
        pod(init(HALF, HALF, "a"), app(HALF, HALF, "b")),
    ),
    "request": (whole(7), whole(8)),
    "limit": (whole(8), pod(app(EIGHT, "cpu=9 memory=1Gi"))),
    "request for a limit": (pod(app("", EIGHT)), pod(app(EIGHT))),
    "claim": (pod(app()), pod(Container(name="main", resources=ResourceRequirements(claims=("gpu",))))),
    "pod level": (pod(app()), pod(app(), pod_level=resources(EIGHT))),
    "amounts of the pod level": (
        pod(app(), pod_level=resources(HALF)),
        pod(app(), pod_level=resources(EIGHT)),
    ),
    "overhead": (whole(4), pod(app(HALF, HALF), overhead="cpu=4")),
    "class": (whole(8), whole(8)._replace(qos_class=QosClass.BURSTABLE)),
}


@pytest.mark.parametrize(("first", "second"), OTHERS.values(), ids=OTHERS)
def test_pods_with_different_requests_have_separate_answers(first: StoredPod, second: StoredPod) -> None:
    alone = [linted(each, NONE, trial()) for each in (first, second)]
    assert alone[0] != alone[1]
    for order in ((0, 1), (1, 0)):
        node = trial()
        assert [linted((first, second)[each], NONE, node) for each in order] == [
            alone[each] for each in order
        ]


def test_the_rejected_container_is_found_by_its_name() -> None:
    node = trial()
    for first, second in ("ab", "ba"):
        (found,) = linted(pod(app(EIGHT, EIGHT, first), app(HALF, HALF, second)), NONE, node)
        assert found.startswith("error unexpected-admission spec.containers[0].resources: ")


def test_the_notation_of_an_amount_matters() -> None:
    """The Memory Manager accepts ``1536Mi``, but not ``1.5Gi``, which only static pods can have."""
    node = start_node(info_of(TWO_NODES), kubelet(), fit=True)
    assert isinstance(node, Node)
    requested = TrialNode(node)
    view = NONE._replace(memory_policy="None")
    found = [
        linted(pod(app(text, text), static=True), view, requested)
        for text in ("cpu=1 memory=1536Mi", "cpu=1 memory=1.5Gi", "cpu=1 memory=1536Mi")
    ]
    assert [len(findings) for findings in found] == [0, 1, 0]


def test_a_pod_with_an_error_is_not_tried() -> None:
    """The kubelet would report the same, for the container instead of the amount."""
    node = start_node(info_of(TWO_NODES), kubelet(), fit=True)
    assert isinstance(node, Node)
    view = KubeletView.of(kubelet())
    amounts = "cpu=1 memory=1.5Gi"
    manifest = pod(app(amounts, amounts), static=True)
    assert len(linted(manifest, view, TrialNode(node))) == len(linted(manifest, view)) == 1
    warned = pod(app("cpu=20", "cpu=20"))
    assert [text.partition(" ")[0] for text in linted(warned, view, TrialNode(node))] == ["warning", "error"]


def test_without_a_known_node_no_kubelet_decides() -> None:
    assert not list(lint_pod(PodLintSubject(whole(8), FieldPath((), ""), NONE)))
