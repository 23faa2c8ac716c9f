# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""What is remarked on a pod for the kubelet that gets it, on a known node and on an unknown one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cpuctl.engine.node import Node
from cpuctl.engine.pod_lints.admission import Trial
from cpuctl.engine.pod_lints.lints import lint_pod
from cpuctl.engine.pod_lints.subject import KubeletView, PodLintSubject
from cpuctl.engine.start import Kubelet, start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import Pod
from cpuctl.pods.rules import NodeRules
from cpuctl.pods.validation.finding import Spot
from tests.support.pods import app, init, pod, resources, sidecar
from tests.support.topologies import CoreAt, machine_info

FULL = "cpu=2 memory=1Gi"
MACHINE = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))
UNKNOWN, STATIC, NONE = KubeletView(), KubeletView(cpu_policy="static"), KubeletView(cpu_policy="none")
MANAGERS = KubeletView(
    rules=NodeRules(managers=True), cpu_policy="static", topology_policy="restricted", topology_scope="pod"
)
BURSTABLE = "requests and limits are 2 whole CPUs, and none becomes exclusive: the pod is Burstable, not Guaranteed, because "
NOT_COUNTED = (
    "Allocate failed due to [memorymanager] failed to represent quantity as int64, which is unexpected"
)
UNALIGNED = "pod-level resources are ignored for CPU alignment (KEP-2837): pod is using pod-level resources which are not supported by the static CPU manager policy"


def lint(subject: Pod, kubelet: KubeletView = UNKNOWN, trial: Trial | None = None) -> list[str]:
    """Return severity, code, path, detail and hint of every finding."""
    seen = PodLintSubject(subject, Spot(("spec",), "spec"), kubelet)
    return [
        f"{each.severity} {each.code} {each.field}: {each.detail}" + (f" | {each.hint}" if each.hint else "")
        for each in lint_pod(seen, trial)
    ]


@dataclass(frozen=True)
class Case:
    """A pod, a kubelet, and what is remarked."""

    name: str
    pod: Pod
    kubelet: KubeletView = UNKNOWN
    want: list[str] = field(default_factory=list)


def static_pod(*containers: Any) -> Pod:
    return replace(pod(*containers), static=True)


CASES = [
    Case("exclusive CPUs", pod(app(FULL, FULL)), STATIC),
    Case("nothing asked for", pod(app()), STATIC),
    Case("an ordinary burstable pod", pod(app("cpu=500m memory=64Mi", "memory=128Mi")), STATIC),
    Case("whole CPUs with a higher limit", pod(app("cpu=2 memory=1Gi", "cpu=4 memory=1Gi")), STATIC),
    Case(
        "memory is missing",
        pod(app("cpu=2", "cpu=2")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container main has no memory limit"
            " | set memory of main to 64Mi, in requests and limits"
        ],
    ),
    Case("memory is missing, and nobody pins", pod(app("cpu=2", "cpu=2")), NONE),
    Case(
        "a sidecar without limits",
        pod(app(FULL, FULL), sidecar("cpu=100m")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container sidecar has no cpu limit"
            " | set cpu of sidecar to 100m, memory of sidecar to 64Mi, in requests and limits"
        ],
    ),
    Case(
        "a whole number that is only an init container's",
        pod(app("cpu=100m"), init(FULL, FULL)),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.initContainers[0].resources: {BURSTABLE}container main has no cpu limit"
            " | set cpu of main to 100m, memory of main to 64Mi, in requests and limits"
        ],
    ),
    Case(
        "a part of a CPU, and nobody is known to pin", pod(app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi"))
    ),
    Case(
        "a part of a CPU under the static policy",
        pod(app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi")),
        STATIC,
        [
            "note no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, and 500m is no whole number of"
            " CPUs: none becomes exclusive | set cpu of main to 1, in requests and limits"
        ],
    ),
    Case(
        "more than one CPU, not whole",
        pod(app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")),
        UNKNOWN,
        [
            "note no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, and 1500m is no whole number"
            " of CPUs: none becomes exclusive | set cpu of main to 2, in requests and limits"
        ],
    ),
    Case(
        "more than one CPU, not whole, under the static policy",
        pod(app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")),
        STATIC,
        [
            "warning no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, and 1500m is no whole"
            " number of CPUs: none becomes exclusive | set cpu of main to 2, in requests and limits"
        ],
    ),
    Case(
        "pod-level resources",
        pod(app(), pod_level=resources(FULL, FULL)),
        UNKNOWN,
        [
            f"note pod-level-not-aligned spec.resources: {UNALIGNED}"
            " | set resources on the containers alone, or switch on the gate PodLevelResourceManagers"
        ],
    ),
    Case(
        "pod-level resources under the static policy",
        pod(
            app("cpu=1 memory=1Gi", "cpu=1 memory=1Gi"),
            pod_level=resources("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi"),
        ),
        STATIC,
        [
            f"warning pod-level-not-aligned spec.resources: {UNALIGNED}"
            " | set resources on the containers alone, or switch on the gate PodLevelResourceManagers"
        ],
    ),
    Case("pod-level resources, and nobody pins", pod(app(), pod_level=resources(FULL, FULL)), NONE),
    Case("burstable pod-level resources", pod(app(), pod_level=resources("cpu=1", FULL)), STATIC),
    Case(
        "part of a CPU on the pod level",
        pod(app(), pod_level=resources("cpu=500m memory=1Gi", "cpu=500m memory=1Gi")),
        STATIC,
    ),
    Case("pod-level managers", pod(app(), pod_level=resources(FULL, FULL)), MANAGERS),
    Case(
        "pod-level managers, and nothing to share",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        MANAGERS,
        [
            "error empty-pod-shared-pool spec.resources: TopologyAffinityError: Pod Scope pod with pod-level resources"
            " failed admission under pod-scope topology manager | leave CPUs for b: raise cpu in spec.resources"
        ],
    ),
    Case(
        "pod-level managers, best effort, and nothing to share",
        pod(app(FULL, FULL, "a"), sidecar(name="b"), pod_level=resources(FULL, FULL)),
        replace(MANAGERS, topology_policy="best-effort"),
        [
            "error empty-pod-shared-pool spec.resources: EmptyPodSharedPoolError: pod rejected, sum of exclusive"
            " container cpu requests equals pod budget, leaving no cpus for shared containers"
            " | leave CPUs for b: raise cpu in spec.resources"
        ],
    ),
    Case(
        "pod-level managers in container scope",
        pod(app(FULL, FULL, "a"), app(name="b"), pod_level=resources(FULL, FULL)),
        replace(MANAGERS, topology_scope="container"),
    ),
    Case(
        "pod-level managers, all exclusive",
        pod(app(FULL, FULL), pod_level=resources(FULL, FULL)),
        MANAGERS,
    ),
    Case(
        "a static pod with an amount that cannot be counted",
        static_pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi")),
        UNKNOWN,
        [
            "warning uncountable-memory spec.containers[0].resources.requests[memory]: a kubelet with"
            f" memoryManagerPolicy Static refuses it as it is written: {NOT_COUNTED} | write 1536Mi"
        ],
    ),
    Case(
        "a static pod with milli bytes, where they are counted",
        static_pod(app("cpu=500m memory=1000m", "cpu=500m memory=1000m")),
        replace(UNKNOWN, memory_policy="Static"),
        [
            "error uncountable-memory spec.containers[0].resources.requests[memory]: UnexpectedAdmissionError:"
            f" {NOT_COUNTED} | write 1"
        ],
    ),
    Case(
        "a static pod where memory is not counted",
        static_pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi")),
        replace(UNKNOWN, memory_policy="None"),
    ),
    Case("a burstable static pod", static_pod(app("memory=1.5Gi", "memory=2Gi"))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_remarks(case: Case) -> None:
    assert lint(case.pod, case.kubelet) == case.want


def trial(**config: Any) -> Trial:
    told = KubeletConfiguration(**{"cpu_manager_policy": "static", "reserved_system_cpus": "0", **config})
    node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=told), fit=True)
    assert isinstance(node, Node)
    return Trial(node)


def whole(count: int) -> Pod:
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
def test_the_kubelet_of_a_known_node_is_asked(count: int, options: dict[str, str], want: list[str]) -> None:
    found = lint(whole(count), STATIC, trial(cpu_manager_policy_options=options))
    assert found == [f"{text} | on an empty node of this kind" for text in want]


def test_every_pod_finds_the_node_empty() -> None:
    node = trial()
    assert [lint(replace(whole(7), name=name), STATIC, node) for name in ("a", "b")] == [[], []]
    assert node.node.state.default == node.node.topology.cpus


def test_a_pod_that_does_not_fit() -> None:
    (found,) = lint(pod(app("cpu=9")), NONE, trial(cpu_manager_policy="none"))
    assert found.startswith("error out-of-cpu spec: OutOfcpu: Node didn't have enough resource: cpu,")


def test_what_cannot_be_decided_is_a_note() -> None:
    (found,) = lint(pod(app("example.com/gpu=1", "example.com/gpu=1")), STATIC, trial())
    assert found.startswith(
        "note not-decided spec: whether the node takes it is not known: it asks for example.com/gpu"
    )


def test_a_kubelet_that_does_not_survive_a_pod() -> None:
    """Found while recording answers: one pod on an empty node lets it loop for ever."""
    machine = machine_info(
        CoreAt(cpus=(core, core + 32), numa_node=core // 8, socket=core // 16) for core in range(32)
    )
    told = KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
        reserved_system_cpus="0,8,16,24",
    )
    node = start_node(machine, Kubelet(version=KubeletVersion(36), config=told), fit=True)
    assert isinstance(node, Node)
    (found,) = lint(whole(54), STATIC, Trial(node))
    assert found.startswith(
        "error kubelet-fault spec: the kubelet does not survive this pod (endless loop in "
    )


def test_advice_for_many_containers_is_not_sought() -> None:
    """It looks at all containers for each of them."""
    many = pod(*(app("cpu=1", "cpu=1", name=f"c{number}") for number in range(101)))
    found = lint(many)
    assert len(found) == 101
    assert not [text for text in found if "|" in text]
