"""Pods that no API server stores: plan, explain, resize, replay and pods show say so in its words, exit 3."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from cpuctl.schemas import schema_text
from tests.cli.conftest import ROOT, Cpuctl

PODS = "fixtures/pod-level/never-stored.yaml"
NODE = ("-m", "synthetic:2s4n32c2t", "--kubelet-config", "fixtures/kubelet/static.yaml", "-f", PODS)
REFUSALS = {
    "below": (
        'Pod "below" is invalid: spec.containers[0].resources.requests: Invalid value: "3": must be less '
        "than or equal to cpu limit of 2"
    ),
    "sums": (
        'Pod "sums" is invalid: spec.resources.requests[cpu]: Invalid value: "1": must be greater than or '
        "equal to aggregate container requests of 2"
    ),
    "windows": 'Pod "windows" is invalid: spec.resources: Forbidden: may not be set for a windows pod',
}


def answered(cpuctl: Cpuctl, schema: str, *words: str, code: int = 3) -> dict[str, Any]:
    result = cpuctl(*words, "-q", "-o", "json")
    assert result.code == code, result.err
    document: dict[str, Any] = json.loads(result.out)
    jsonschema.validate(document, json.loads(schema_text(schema)))
    return document


def test_plan(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", "plan", *NODE)
    found = {pod["name"]: pod.get("refusals", [None])[0] for pod in document["pods"]}
    assert found == {**REFUSALS, "fine": None}
    assert document["summary"]["forbidden"] == 3
    assert [pod["containers"] for pod in document["pods"][:3]] == [[], [], []]
    assert document["summary"]["exclusiveCPUs"] == 2


def test_the_kubelet_can_be_asked_all_the_same(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", "plan", *NODE, "--skip-api-server", code=0)
    assert document["summary"]["admitted"] == 4


def test_copies_and_both_sides_of_a_comparison_are_refused(cpuctl: Cpuctl) -> None:
    repeated = answered(cpuctl, "plan", "plan", *NODE, "--repeat", "2")
    assert repeated["summary"]["forbidden"] == 6
    compared = answered(cpuctl, "plancomparison", "plan", *NODE, "--compare", ".", "pod")
    assert compared["pods"][0]["b"]["refusals"] == [REFUSALS["below"]]


@pytest.mark.parametrize("pod", REFUSALS)
def test_explain(pod: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "explanation", "explain", pod, *NODE)
    assert document["decision"]["rule"] == "apiServer"
    assert document["pod"]["refusals"] == [REFUSALS[pod]]
    out = cpuctl("explain", "-q", pod, *NODE, columns=300).out
    assert f"refused by the API server (--skip-api-server asks the kubelet): {REFUSALS[pod]}" in out


@pytest.mark.parametrize("pod", REFUSALS)
def test_resize(pod: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "resize", "resize", *NODE, "--set", f"{pod}/app:memory=512Mi")
    (resized,) = document["pods"]
    assert (resized["outcome"], resized["decidedBy"]) == ("Forbidden", "apiServer")
    assert resized["message"] == f"the pod itself is never stored: {REFUSALS[pod]}"


def test_a_resize_above_the_pods_total_is_refused(cpuctl: Cpuctl) -> None:
    pods = "fixtures/pod-level/sharing.yaml"
    words = ("resize", *NODE[:-1], pods, "--set", "burstable/app:cpu=3")
    (resized,) = answered(cpuctl, "resize", *words)["pods"]
    assert resized["message"].startswith(
        'spec.resources.requests[cpu]: Invalid value: "2": must be greater than or equal to aggregate '
        "container requests of 3"
    )


@pytest.mark.parametrize("skip", [False, True])
def test_replay(skip: bool, cpuctl: Cpuctl) -> None:
    pods = list(yaml.safe_load_all((ROOT / PODS).read_text()))[:2]
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": "synthetic:1s2n8c2t",
        "kubelet": {"config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}},
        "pods": pods,
        "events": [{"at": f"{n}s", "admit": pod["metadata"]["name"]} for n, pod in enumerate(pods)],
    }
    words = ("--skip-api-server",) if skip else ()
    out = cpuctl("replay", "-", *words, stdin=yaml.safe_dump(timeline).encode(), columns=300).out
    for pod in ("below", "sums"):
        assert (f"default/{pod} is refused by the API server: {REFUSALS[pod]}" in out) is not skip


def test_pods_show(cpuctl: Cpuctl) -> None:
    result = cpuctl("pods", "show", "-q", "-f", PODS, "-o", "json")
    found = {pod["name"]: pod["apiServer"]["refusals"] for pod in json.loads(result.out)["pods"]}
    assert found == {name: [text] for name, text in REFUSALS.items()} | {"fine": []}
