"""The schema of pod resources for editors: it accepts what Kubernetes accepts, and detects typical slips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cpuctl.pods.reading.workloads import WORKLOADS
from cpuctl.schemas import schema_text

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(schema_text("podresources"))
MANIFESTS = sorted((ROOT / "fixtures" / "pods").iterdir())
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}


def paths(document: object) -> list[str]:
    """Return the places of the schema's errors."""
    found = jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)
    return [error.json_path for error in found]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_shipped_manifests_follow_it(path: Path) -> None:
    assert [paths(document) for document in yaml.safe_load_all(path.read_text())] == [[]] * len(
        list(yaml.safe_load_all(path.read_text()))
    )


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ("{containers: [{name: a, image: x, resources: {limits: {cpu: 0.5, memory: 1Gi, a.io/b: 1}}}]}", []),
        ("{containers: [{name: a}], resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}, tolerations: []}", []),
        ("{containers: []}", ["$.spec.containers"]),
        ("{}", ["$.spec"]),
        ("{containers: [{image: x}]}", ["$.spec.containers[0]"]),
        ("{containers: [{name: a, resources: {limit: {}}}]}", ["$.spec.containers[0].resources"]),
        (
            "{containers: [{name: a, resources: {limits: {cpu: two}}}]}",
            ["$.spec.containers[0].resources.limits.cpu"],
        ),
        ("{containers: [{name: a}], resources: {requests: {a.io/b: 1}}}", ["$.spec.resources.requests"]),
        ("{containers: [{name: a}], resources: {claims: [{name: a}]}}", ["$.spec.resources.claims"]),
        ("{containers: [{name: a}], overhead: {cpu: [1]}}", ["$.spec.overhead.cpu"]),
    ],
)
def test_slips_are_found_at_their_place(spec: str, want: list[str]) -> None:
    assert paths(POD | {"spec": yaml.safe_load(spec)}) == want


@pytest.mark.parametrize("kind", WORKLOADS)
def test_templates_of_every_workload_are_checked(kind: str) -> None:
    spec: dict[str, object] = {
        "template": {"spec": {"containers": [{"name": "a", "resources": {"limit": {}}}]}}
    }
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    (path,) = paths({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec})
    assert path.endswith(".template.spec.containers[0].resources")


def test_other_objects_are_ignored() -> None:
    assert (
        paths({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": 3}}) == []
    )


def test_every_part_has_a_type_that_accepts_null() -> None:
    """Kubernetes does not distinguish null from absent; only objects themselves are required."""
    for name, part in SCHEMA["$defs"].items():
        assert "null" in part["type"] or name in ("pod", "workload", "cronJob")
