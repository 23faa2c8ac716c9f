"""Pod templates in unknown kinds: where they are found, how many pods they make, what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.manifest import manifest_of
from cpuctl.pods.reading.manifests import decode_manifests

SPEC: dict[str, object] = {
    "containers": [{"name": "main", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]
}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": SPEC}
UNNAMED = {"spec": {"containers": [{"image": "x"}]}}


def resource(api_version: str, kind: str, spec: object) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "namespace": "train"},
        "spec": spec,
    }


def pods_of(*objects: dict[str, Any]) -> list[str]:
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    found = decode_manifests(json.dumps(items), "x.json")
    return [pod.full_name for pod in found.pods]


CASES = {
    "PyTorchJob": (
        resource(
            "kubeflow.org/v1",
            "PyTorchJob",
            {
                "pytorchReplicaSpecs": {
                    "Master": {"replicas": 1, "template": TEMPLATE},
                    "Worker": {"replicas": 2, "template": TEMPLATE},
                }
            },
        ),
        ["x-master-0", "x-worker-0", "x-worker-1"],
    ),
    "Rollout": (
        resource("argoproj.io/v1alpha1", "Rollout", {"replicas": 2, "template": TEMPLATE, "strategy": {}}),
        ["x-0", "x-1"],
    ),
    "JobSet": (
        resource(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {"template": TEMPLATE}}},
                    {
                        "name": "workers",
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE}},
                    },
                ]
            },
        ),
        ["x-driver-0", "x-workers-0", "x-workers-1", "x-workers-2", "x-workers-3"],
    ),
    "LeaderWorkerSet": (
        resource(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {
                "replicas": 2,
                "leaderWorkerTemplate": {"size": 3, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE},
            },
        ),
        ["x-leader-0", "x-leader-1", "x-worker-0", "x-worker-1", "x-worker-2", "x-worker-3"],
    ),
    "LeaderWorkerSet without its own leader": (
        resource(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}},
        ),
        ["x-worker-0", "x-worker-1"],
    ),
    "a job of another group": (
        resource(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {"tasks": [{"name": "mpi", "replicas": 2, "template": TEMPLATE}]},
        ),
        ["x-mpi-0", "x-mpi-1"],
    ),
    "no replicas at all": (resource("example.com/v1", "Thing", {"replicas": 0, "template": TEMPLATE}), []),
    "a policy's pattern": (
        resource("kyverno.io/v1", "ClusterPolicy", {"rules": [{"validate": {"pattern": {"spec": SPEC}}}]}),
        [],
    ),
    "invalid containers": (
        resource("example.com/v1", "Thing", {"template": {"spec": {"containers": ["a", "b"]}}}),
        [],
    ),
    "a template that cannot be read": (
        resource("serving.knative.dev/v1", "Service", {"template": UNNAMED}),
        [],
    ),
    "Kubernetes' own kinds": (resource("apps/v1", "ControllerRevision", {"template": TEMPLATE}), []),
    "a spec that is a list": (resource("example.com/v1", "Thing", [TEMPLATE]), []),
}


@pytest.mark.parametrize(("object_", "want"), CASES.values(), ids=CASES)
def test_templates_are_found_by_their_shape(object_: dict[str, Any], want: list[str]) -> None:
    assert pods_of(object_) == [f"train/{name}" for name in want]


def test_objects_without_pods_are_counted() -> None:
    found = decode_manifests(json.dumps(CASES["a policy's pattern"][0]), "x.json")
    assert [item.kind for item in found.skipped] == ["ClusterPolicy"]


def test_the_owner_is_named_as_kubectl_names_it() -> None:
    (pod, *_) = decode_manifests(json.dumps(CASES["a job of another group"][0]), "x.json").pods
    assert pod.owner == "Job.batch.volcano.sh/x"


def test_a_pods_origin_is_its_own_template() -> None:
    """Its manifest is validated like any other, and messages name its place."""
    found = decode_manifests(json.dumps(CASES["PyTorchJob"][0]), "x.json")
    places = [str(pod.origin) for pod in found.pods]
    assert places[1:] == ["x.json: spec.pytorchReplicaSpecs.Worker.template"] * 2
    written = manifest_of(found.pods[1])
    assert written is not None
    assert (written.metadata, written.spec) == ({}, SPEC)


def test_why_a_template_cannot_be_read() -> None:
    wrong = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2x"}}}]}
    found = decode_manifests(
        json.dumps(resource("example.com/v1", "Thing", {"template": {"spec": wrong}})), "x.json"
    )
    (skipped,) = found.skipped
    assert skipped.kind == "Thing"
    assert skipped.why.startswith(
        "x.json:1: spec.template.spec.containers[0].resources.limits.cpu: expected a quantity, found"
    )


def test_replicas_that_multiply_are_bounded() -> None:
    many = {"replicas": 5_000, "groups": [{"name": "a", "replicas": 5_000, "template": TEMPLATE}]}
    with pytest.raises(InputError, match="expected at most 10000 pods per Thing"):
        pods_of(resource("example.com/v1", "Thing", many))


def test_names_that_multiply_are_bounded() -> None:
    groups = [{"name": "a" * 1_000_000, "replicas": 10_000, "template": TEMPLATE}]
    names = pods_of(resource("example.com/v1", "Thing", {"groups": groups}))
    assert len(names) == 10_000
    assert max(map(len, names)) < 300


def test_depth_is_bounded() -> None:
    deep: object = {"template": TEMPLATE}
    for _ in range(50):
        deep = {"below": deep}
    assert pods_of(resource("example.com/v1", "Thing", deep)) == []
