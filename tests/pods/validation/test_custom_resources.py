"""Pods that controllers create from custom resources: what is rejected, and at which place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.diagnostics import Component, Severity
from cpuctl.documents.document import Origin
from cpuctl.pods.reading.manifests import decode_manifests
from cpuctl.pods.validation.lint import Linted
from tests.pods.reading.test_custom_resources import CASES, SPEC, TEMPLATE, resource
from tests.pods.validation.linting import linted, messages

_LATER = "the API server rejects its pods, even if it accepts the PyTorchJob itself"


def template(resources: object = None, **more: object) -> dict[str, Any]:
    container: dict[str, object] = {"name": "main"} | ({} if resources is None else {"resources": resources})
    return {"spec": {"containers": [container | more]}}


def training(worker: object) -> dict[str, Any]:
    specs = {"Master": {"template": TEMPLATE}, "Worker": {"template": worker}}
    return resource("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": specs})


def lint(object_: object) -> list[Linted]:
    return linted(json.dumps(object_))


@pytest.mark.parametrize(("object_", "want"), CASES.values(), ids=CASES)
def test_a_linter_checks_the_same_pods_as_a_plan(object_: dict[str, Any], want: list[str]) -> None:
    """Replicas are equal, and an object without pods is linted like any other."""
    found = lint(object_)
    assert [one.kind for one in found] == [object_["kind"]] * max(len(found), 1)
    planned = decode_manifests(json.dumps(object_), "x.json").pods
    assert [pod.full_name.partition("/")[2] for pod in planned] == want
    looked_at = {str(one.draft.spec.path[:-1]) for one in found if one.draft and one.pod}
    assert {str(pod.origin.path) for pod in planned if isinstance(pod.origin, Origin)} <= looked_at


def test_findings_point_into_their_own_template() -> None:
    wrong = template({"requests": {"cpu": 4}, "limits": {"cpu": 2}})
    master, worker = lint(training(wrong))
    assert master.findings == ()
    assert (master.looked_at, worker.looked_at) == (True, True)
    assert (master.again, worker.again) == (False, True)
    (finding,) = worker.findings
    assert str(finding) == (
        'spec.containers[0].resources.requests: Invalid value: "4": must be less than or equal to '
        "cpu limit of 2"
    )
    assert finding.place.path == (
        *("spec", "pytorchReplicaSpecs", "Worker", "template"),
        *("spec", "containers", 0, "resources", "requests", "cpu"),
    )
    assert (finding.rejected_by, finding.note) == (Component.API_SERVER, _LATER)


def test_paths_through_lists_contain_numbers() -> None:
    jobs = [{"name": "a", "template": {"spec": {"template": template({"limits": {"cpu": -1}})}}}]
    object_ = resource("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    (one,) = lint({"apiVersion": "v1", "kind": "List", "items": [object_]})
    (finding, *_) = one.findings
    assert finding.place.path[:5] == ("items", 0, "spec", "replicatedJobs", 0)


def test_a_kind_with_the_name_of_a_builtin_kind() -> None:
    """The schema of a Job of batch/v1 is not applied to another group's."""
    (one,) = lint(CASES["a job of another group"][0])
    assert one.findings == ()


def test_the_name_of_the_object_is_reported_once() -> None:
    object_ = training(TEMPLATE)
    object_["metadata"]["name"] = "Train"
    found = [finding for one in lint(object_) for finding in one.findings]
    assert [finding.place.path for finding in found] == [("metadata", "name")]


def test_fields_that_pods_do_not_have() -> None:
    """Whether the API server rejects them depends on the custom resource's schema; no pod has them."""
    _, worker = lint(training(template(resource={"limits": {"cpu": 2}})))
    (finding,) = worker.findings
    assert (finding.severity, finding.rejected_by) == (Severity.WARNING, None)
    assert finding.message == (
        'unknown field "spec.containers[0].resource": rejected or dropped, '
        "depending on the schema of the PyTorchJob"
    )
    assert finding.fix == "did you mean resources?"


def test_fields_that_a_controller_may_fill_in() -> None:
    (one,) = lint(resource("serving.knative.dev/v1", "Service", {"template": {"spec": {"containers": [{}]}}}))
    (finding,) = one.findings
    assert (finding.severity, finding.rejected_by) == (Severity.NOTE, None)
    assert messages([finding]) == ["spec.containers[0].name: Required value"]
    assert finding.note == "the Service controller may set it"
    assert one.pod is None


def test_pods_are_validated_as_created_and_not_as_templates() -> None:
    """Ephemeral containers are rejected with the message for a Pod: custom templates are not validated."""
    odd = {"spec": SPEC | {"ephemeralContainers": [{"name": "b"}]}}
    _, worker = lint(training(odd))
    assert messages(list(worker.findings)) == ["spec.ephemeralContainers: Forbidden: cannot be set on create"]
