# ruff: noqa: E501  # texts stand whole in one line, so that they can be searched for
"""Pod-level resources through releases, gates and systems (KEP-2837, version skew)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.pods.rules import PodRules
from tests.pods.validation.linting import findings, linted, node_rules, rules, server_rules

SPEC = "{resources: {limits: {cpu: 2, memory: 2Gi}}, containers: [{name: a}]}"
WORDS = "QoS class, cgroups and scheduling only depend on the containers' requests and limits"
LATER = "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"


@dataclass(frozen=True)
class Skew:
    """Releases of API server and kubelet, their gates, and the findings: severity, component, message."""

    name: str
    server: int = 36
    node: int = 36
    server_gate: bool = True
    node_gate: bool = True
    stored: bool = False
    want: tuple[str, ...] = ()


SKEWS = [
    Skew("everything on"),
    Skew(
        "an API server without the field",
        31,
        31,
        want=('error apiserver strict decoding error: unknown field "spec.resources"',),
    ),
    Skew(
        "an older API server",
        31,
        36,
        want=('error apiserver strict decoding error: unknown field "spec.resources"',),
    ),
    Skew(
        "the gate off at the API server",
        server_gate=False,
        want=(
            f"warning None spec.resources: feature gate PodLevelResources is disabled in API server 1.36: the field is dropped when the Pod is created; {WORDS}",
        ),
    ),
    Skew(
        "both gates off: the kubelet never sees the field",
        server_gate=False,
        node_gate=False,
        want=(
            f"warning None spec.resources: feature gate PodLevelResources is disabled in API server 1.36: the field is dropped when the Pod is created; {WORDS}",
        ),
    ),
    Skew(
        "a pod that has the field already",
        server_gate=False,
        stored=True,
        want=(
            f"warning None spec.resources: feature gate PodLevelResources is disabled in API server 1.36: existing pods keep the field, but it has no effect; {WORDS}",
        ),
    ),
    Skew(
        "the gate off at the kubelet",
        node_gate=False,
        want=(
            "error kubelet spec.resources: PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled",
        ),
    ),
    Skew(
        "a pod that has the field already, for a kubelet without",
        server_gate=False,
        node_gate=False,
        stored=True,
        want=(
            f"warning None spec.resources: feature gate PodLevelResources is disabled in API server 1.36: existing pods keep the field, but it has no effect; {WORDS}",
            "error kubelet spec.resources: PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled",
        ),
    ),
    Skew(
        "a kubelet without the field",
        36,
        31,
        want=(f"warning None spec.resources: kubelet 1.31 does not know the field: {WORDS}",),
    ),
]


@pytest.mark.parametrize("skew", SKEWS, ids=lambda skew: skew.name)
def test_skew(skew: Skew) -> None:
    pods = PodRules(
        server=server_rules(skew.server, pod_level=skew.server_gate),
        node=node_rules(skew.node, pod_level=skew.node_gate),
    )
    metadata = "{name: web, uid: abc}" if skew.stored else "{name: web}"
    found = findings(SPEC, replace(rules(), pods=pods), metadata=metadata)
    assert [f"{each.severity} {each.rejected_by} {each!s}" for each in found] == list(skew.want)


def test_dropped_resources_are_not_validated() -> None:
    """Row "gate off" of the specification: fields that the API server drops break no rule."""
    pods = PodRules(server=server_rules(36, pod_level=False))
    spec = "{resources: {limits: {gpu: -1}}, containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}"
    found = findings(spec, replace(rules(), pods=pods))
    assert [each.code for each in found] == ["limit-below-request", "pod-level-dropped"]


@pytest.mark.parametrize(("server", "want"), [(33, "error kubelet"), (34, "error apiserver")])
def test_windows(server: int, want: str) -> None:
    spec = "{os: {name: windows}, resources: {limits: {cpu: 2}}, containers: [{name: a}]}"
    (found,) = findings(spec, rules(server=server))
    assert f"{found.severity} {found.rejected_by}" == want
    assert found.code == "pod-level-on-windows"


@pytest.mark.parametrize(("node", "want"), [(33, ["pod-level-hugepages-unknown-to-kubelet"]), (34, [])])
def test_huge_pages(node: int, want: list[str]) -> None:
    spec = "{resources: {limits: {memory: 1Gi, hugepages-2Mi: 2Mi}}, containers: [{name: a}]}"
    assert [each.code for each in findings(spec, rules(node=node))] == want


def test_cgroup_v1() -> None:
    (found,) = findings(SPEC, rules(cgroup_version=1))
    assert (str(found.severity), found.code) == ("warning", "pod-level-on-cgroup-v1")
    assert findings("{containers: [{name: a}]}", rules(cgroup_version=1)) == []


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        (32, None),
        (33, "pods with pod-level resources cannot be resized"),
        (34, "pods with pod-level resources cannot be resized"),
        (35, LATER),
        (36, LATER),
    ],
)
def test_resizes_that_are_rejected_later(minor: int, words: str | None) -> None:
    found = findings(SPEC, rules(minor, resizable=False))
    want = [] if words is None else [("note", f"a later resize is rejected: {words}")]
    assert [(str(each.severity), each.message) for each in found] == want


CONTAINER = "resources: {limits: {cpu: 1, memory: 1Gi}}"


@pytest.mark.parametrize(
    ("pod_level", "container", "server", "node", "class_of_containers"),
    [
        ("{}", CONTAINER, 36, 36, "Guaranteed"),
        ("{requests: {}, limits: {}}", "resources: {requests: {cpu: 1}}", 36, 36, "Burstable"),
        ("{}", CONTAINER, 36, 37, "Guaranteed"),
        ("{limits: {cpu: 0}}", CONTAINER, 36, 36, None),
        ("{}", CONTAINER, 37, 37, None),
        ("{}", "image: x", 36, 36, None),
        ("null", CONTAINER, 36, 36, None),
        ("{limits: {cpu: 1, memory: 1Gi}}", CONTAINER, 36, 36, None),
    ],
)
def test_empty_resources_make_best_effort(
    pod_level: str, container: str, server: int, node: int, class_of_containers: str | None
) -> None:
    """``ComputePodQOS`` up to 1.36; the API server of the older release stores the class."""
    spec = f"{{resources: {pod_level}, containers: [{{name: a, {container}}}]}}"
    found = [
        each for each in findings(spec, rules(server=server, node=node)) if each.severity is Severity.WARNING
    ]
    want = (
        []
        if class_of_containers is None
        else [
            f"present but empty: the pod is BestEffort, although its containers alone would make it {class_of_containers} (up to 1.36, and without feature gate PodLevelResourcesFixKubeletQOSClass)"
        ]
    )
    assert [each.message for each in found] == want


def test_zeros_make_best_effort_in_any_release() -> None:
    """Without pod-level limits nothing is derived from the containers."""
    spec = "{resources: {requests: {cpu: 0}}, containers: [{name: a, resources: {requests: {memory: 1Gi}}}]}"
    (found,) = findings(spec, rules(38))
    assert found.code == "pod-level-best-effort"
    assert found.message == (
        "sets neither cpu nor memory: the pod is BestEffort, although its containers alone would make it Burstable"
    )


@pytest.mark.parametrize(("static", "want"), [(False, 1536 << 20), (True, None)])
def test_the_kubelet_gets_amounts_as_the_api_server_writes_them(static: bool, want: int | None) -> None:
    """``1.5Gi`` arrives as ``1536Mi``, which can be counted; a static pod arrives unchanged."""
    spec = "{containers: [{name: a, resources: {limits: {memory: 1.5Gi}}}]}"
    (one,) = linted(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {spec}}}", rules(static=static)
    )
    assert one.pod is not None
    assert one.pod.containers[0].resources.requests["memory"].exact_int64 == want
