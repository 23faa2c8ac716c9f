"""Whether a pod has ended, by its phase or its containers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.manifests import read_pods


def status(name: str, **state: Any) -> dict[str, Any]:
    return {"name": name, "state": state}


def ended(code: int) -> dict[str, Any]:
    return {"terminated": {"exitCode": code}}


RUNS: dict[str, Any] = {"running": {}}


@pytest.mark.parametrize(
    ("spec", "states", "phase", "wanted"),
    [
        ({}, {}, "Succeeded", True),
        ({}, {}, "Failed", True),
        ({}, {}, "Running", False),
        ({"restartPolicy": "Never"}, {"a": ended(0), "b": ended(1)}, "Running", True),
        ({"restartPolicy": "Never"}, {"a": ended(0), "b": RUNS}, "Running", False),
        ({"restartPolicy": "Never"}, {"a": ended(0)}, "Running", False),
        ({"restartPolicy": "OnFailure"}, {"a": ended(0), "b": ended(0)}, "Running", True),
        ({"restartPolicy": "OnFailure"}, {"a": ended(0), "b": ended(1)}, "Running", False),
        ({}, {"a": ended(0), "b": ended(0)}, "Running", False),
        ({"restartPolicy": "Always"}, {"a": ended(0), "b": ended(0)}, "", False),
    ],
)
def test_a_pod_has_ended(spec: dict[str, Any], states: dict[str, Any], phase: str, wanted: bool) -> None:
    statuses = [status(name, **state) for name, state in states.items()]
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], **spec},
        "status": {"phase": phase, "containerStatuses": statuses},
    }
    (pod,) = read_pods(json.dumps(manifest), "pod.json").pods
    assert pod.terminal is wanted


def test_a_container_may_have_its_own_restart_policy() -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "a", "restartPolicy": "Always"}]}
    statuses = {"containerStatuses": [status("a", **ended(0))]}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": spec,
        "status": statuses,
    }
    (pod,) = read_pods(json.dumps(manifest), "pod.json").pods
    assert not pod.terminal
