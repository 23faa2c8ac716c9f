# ruff: noqa: E501  # texts stand whole in one line, so that they can be searched for
"""Pod templates: errors of the template, and errors only when pods are created from it."""

from __future__ import annotations

import dataclasses

import pytest

from cpuctl.diagnostics import Component, Severity
from cpuctl.pods.rules import NodeRules
from cpuctl.records import replace
from tests.pods.validation.linting import HEADS, linted, messages, rules, server_rules, template_findings

KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob")
WRONG = "{containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}"


@pytest.mark.parametrize("kind", KINDS)
def test_templates_are_checked_at_once(kind: str) -> None:
    (found,) = template_findings(WRONG, kind)
    inside = "spec.jobTemplate.spec" if kind == "CronJob" else "spec"
    assert str(found) == (
        f'{inside}.template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    )
    assert found.place.path[-3:] == ("resources", "requests", "cpu")
    assert (found.fix, found.note) == ("set limits.cpu: 2, or requests.cpu: 1", "")


def test_errors_due_to_defaults_are_reported_when_pods_are_created() -> None:
    """``SetDefaults_Pod`` sets defaults in pods, not in templates."""
    spec = "{resources: {limits: {memory: 100Gi}}, containers: [{name: a, resources: {limits: {memory: 60Gi}}}, {name: b, resources: {limits: {memory: 60Gi}}}]}"
    (found,) = template_findings(spec)
    assert (
        str(found)
        == 'spec.resources.requests: Invalid value: "120Gi": must be less than or equal to memory limit of 100Gi'
    )
    assert found.place.path == ("spec", "template", "spec", "resources", "requests", "memory")
    assert found.note == (
        "the API server accepts the Deployment, but rejects its pods; "
        "the request defaults to the sum of the containers' requests"
    )


def test_warnings_are_reported_only_for_the_template() -> None:
    found = template_findings("{containers: [{name: a, resources: {limits: {memory: 100m}}}]}")
    assert [(each.severity, each.place.field) for each in found] == [
        (Severity.WARNING, "spec.template.spec.containers[0].resources.limits[memory]")
    ]


def test_pod_level_resources_of_templates_are_dropped_too() -> None:
    by = rules()
    by = dataclasses.replace(by, pods=replace(by.pods, server=server_rules(36, pod_level=False)))
    (found,) = template_findings("{resources: {limits: {gpu: 1}}, containers: [{name: a}]}", by=by)
    assert found.code == "pod-level-dropped"
    assert found.place.field == "spec.template.spec.resources"


def test_ephemeral_containers_are_not_allowed_in_templates() -> None:
    (found,) = template_findings("{containers: [{name: a}], ephemeralContainers: [{name: b}]}")
    assert (
        str(found)
        == "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    )


def test_lists_and_their_items() -> None:
    """Items are sent one by one, so the names of their fields start at the item; places do not."""
    pod = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {WRONG}}}"
    service = "{apiVersion: v1, kind: Service, metadata: {name: s}}"
    first, second, third = linted(f"{{apiVersion: v1, kind: List, items: [{service}, {pod}, 3]}}")
    assert (first.kind, first.looked_at) == ("Service", False)
    (found,) = second.findings
    assert found.place.field == "spec.containers[0].resources.requests"
    assert found.place.path[:3] == ("items", 1, "spec")
    assert messages(list(third.findings)) == ["expected a Kubernetes object, found the number 3"]


def test_items_of_typed_lists_may_leave_out_their_kind() -> None:
    (one,) = linted(
        "{apiVersion: v1, kind: PodList, items: [{metadata: {name: a}, spec: {containers: [{name: a}]}}]}"
    )
    assert (one.kind, one.findings) == ("Pod", ())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}",
            ["error validating data: apiVersion not set"],
        ),
        ("apiVersion: v1\nmetadata: {name: a}", ["error validating data: kind not set"]),
        ("{}", ["error validating data: kind not set", "error validating data: apiVersion not set"]),
        ("- 1", ["expected a Kubernetes object, found a list"]),
    ],
)
def test_invalid_objects(text: str, want: list[str]) -> None:
    found = [finding for one in linted(text) for finding in one.findings]
    assert messages(found) == want
    assert {finding.rejected_by for finding in found} == {"kubectl"}


@pytest.mark.parametrize(
    ("kind", "version"),
    [("Deployment", "example.com/v1"), ("Pod", "metrics.k8s.io/v1"), ("Job", "batch.volcano.sh/v1")],
)
def test_kinds_of_other_groups_are_skipped(kind: str, version: str) -> None:
    (one,) = linted(f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: a}}, spec: {WRONG}}}")
    assert not one.looked_at
    assert HEADS["Pod"] == "v1"


def test_static_pods_are_rejected_by_the_kubelet() -> None:
    """A kubelet runs the API server's checks on the files it reads, by its own release and gates."""
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {WRONG}}}"
    (one,) = linted(text, rules(static=True, server=31))
    assert [(each.rejected_by, each.code) for each in one.findings] == [("kubelet", "limit-below-request")]


STATIC_CLAIMS = "static pods may not use ResourceClaims"
CLAIMS = "resourceClaims: [{name: c, resourceClaimName: c}]"
BUNDLE = "volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]"


def of_static_pod(members: str, node: NodeRules, container: str = "") -> list[str]:
    spec = f"{{{members}, containers: [{{name: a, image: x{container}}}]}}"
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {spec}}}"
    static = rules(static=True)
    (one,) = linted(text, dataclasses.replace(static, pods=replace(static.pods, node=node)))
    found = [each for each in one.findings if each.code == "static-reference"]
    assert all(each.rejected_by == Component.KUBELET for each in found)
    assert (one.pod is None) == bool(found)
    return list(map(str, found))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (
            f"serviceAccountName: s, {CLAIMS}",
            "serviceAccountName: static pods may not reference serviceaccounts",
        ),
        ("serviceAccount: s", "serviceAccount: static pods may not reference serviceaccounts"),
        ("imagePullSecrets: [{name: s}]", "imagePullSecrets: static pods may not reference secrets"),
        (
            f"volumes: [{{name: v, secret: {{secretName: s}}}}], {CLAIMS}",
            "volumes: static pods may not reference secrets",
        ),
        ("volumes: [{name: v, configMap: {name: m}}]", "volumes: static pods may not reference configmaps"),
        (CLAIMS, "resourceClaims: static pods may not reference resourceclaims"),
        (
            "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]",
            "volumes: static pods may not reference persistentvolumeclaims",
        ),
        (
            "volumes: [{name: v, csi: {driver: d}}]",
            "volumes: static pods may not reference csidrivers (via CSI volumes)",
        ),
        (BUNDLE, "volumes: static pods may not reference clustertrustbundles"),
    ],
)
def test_a_kubelet_rejects_a_static_pod_that_references_other_objects(members: str, words: str) -> None:
    """From 1.34 on; only the first of them is reported."""
    assert of_static_pod(members, NodeRules(static_references=True)) == [f"spec.{words}"]


def test_volumes_that_a_static_pod_may_have() -> None:
    local = "volumes: [{name: v, hostPath: {path: /a}}, {name: w, emptyDir: {}}, {name: u, projected: {sources: [{downwardAPI: {}}]}}]"
    assert not of_static_pod(local, NodeRules(static_references=True))
    env = ", env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]"
    assert of_static_pod(local, NodeRules(static_references=True), env) == [
        "spec.containers: static pods may not reference configmaps"
    ]


def test_kubelets_that_check_only_some_references() -> None:
    """Trust bundles from 1.29 on, claims from 1.32.6 and 1.33.2 on."""
    some = NodeRules(minor=33, static_claims=STATIC_CLAIMS)
    assert of_static_pod(f"serviceAccountName: s, {CLAIMS}", some) == [
        f"spec.resourceClaims: {STATIC_CLAIMS}"
    ]
    bundle = "spec.volumes: static pods may not use ClusterTrustBundle projected volume sources"
    assert of_static_pod(f"{BUNDLE}, {CLAIMS}", some) == [bundle]
    assert not of_static_pod(CLAIMS, NodeRules(minor=31))
    assert not of_static_pod(BUNDLE, NodeRules(minor=28))


@pytest.mark.parametrize("kind", ["Deployment", "Service"])
def test_a_kubelet_rejects_other_kinds_in_its_files(kind: str) -> None:
    text = f"{{apiVersion: v1, kind: {kind}, metadata: {{name: web}}, spec: {{}}}}"
    (one,) = linted(text, rules(static=True))
    (finding,) = one.findings
    assert (finding.code, finding.rejected_by, finding.place.path) == (
        "static-kind",
        Component.KUBELET,
        ("kind",),
    )
    assert str(finding) == f"kind: static pods must be of kind Pod, but this is a {kind}"
