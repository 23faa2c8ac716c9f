"""What containers see of resources through the downward API, in answers about pods, plans and resizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl

POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    resources: {limits: {cpu: 4, memory: 1Gi}}
    env:
    - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: LOG, valueFrom: {resourceFieldRef: {containerName: log, resource: requests.cpu, divisor: 1m}}}
  - name: log
    resources: {limits: {cpu: 150m, memory: 1Gi}}
  volumes:
  - name: podinfo
    downwardAPI:
      items:
      - {path: cpus, resourceFieldRef: {containerName: app, resource: limits.cpu}}
      - {path: own, resourceFieldRef: {containerName: app, resource: assigned.cpuset}}
      - {path: shared, resourceFieldRef: {containerName: log, resource: assigned.cpuset}}
"""
GATES = "DownwardAPIAssignedResources=true,InPlacePodVerticalScalingExclusiveCPUs=true"
KUBELET = ("--kubelet-version", "1.38", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
RESIZED = ("--feature-gates", GATES, "--set", "web/app:cpu=6")
NODE = ("-q", "-m", "synthetic:8c", *KUBELET)


@pytest.fixture
def pods(tmp_path: Path) -> str:
    (tmp_path / "pods.yaml").write_text(POD)
    return str(tmp_path / "pods.yaml")


def reported(cpuctl: Cpuctl, *words: str, member: str = "text") -> dict[str, Any]:
    """Return the values in every variable and file of the only pod."""
    (pod,) = json.loads(cpuctl(*words, "-o", "json").out)["pods"]
    return {
        (each["variable"] or {}).get("name") or each["file"]["path"]: each[member]
        for each in pod["downwardAPI"]
    }


def test_pods_show_has_what_does_not_depend_on_the_node(cpuctl: Cpuctl, pods: str) -> None:
    words = ("pods", "show", "-f", pods, *NODE, "--feature-gates", GATES)
    assert reported(cpuctl, *words) == {"CPUS": "4", "LOG": "150", "cpus": "4", "own": None, "shared": ""}
    out = cpuctl(*words, columns=200).out
    assert "app $LOG        requests.cpu of log / 1m" in out
    assert "podinfo/own     assigned.cpuset of app    unknown  the CPU Manager's exclusive CPUs" in out


def test_an_api_server_with_its_gate_off_drops_assigned_cpus(cpuctl: Cpuctl, pods: str) -> None:
    words = ("pods", "show", "-f", pods, *NODE)
    assert reported(cpuctl, *words).keys() == {"CPUS", "LOG", "cpus"}
    assert "the API server drops assigned.cpuset: it has DownwardAPIAssignedResources" in cpuctl(*words).out


def test_an_older_api_server_rejects_the_pod(cpuctl: Cpuctl, pods: str) -> None:
    words = ("plan", "-f", pods, "-q", "-m", "synthetic:8c", "--kubelet-version", "1.36")
    result = cpuctl(*words, columns=900)
    assert result.code == 3
    assert 'resourceFieldRef.resource: Unsupported value: "assigned.cpuset": supported values' in result.out


def test_a_plan_shows_the_assigned_cpus(cpuctl: Cpuctl, pods: str) -> None:
    words = ("plan", "-f", pods, *NODE, "--feature-gates", GATES)
    assert reported(cpuctl, *words) == {"CPUS": "4", "LOG": "150", "cpus": "4", "own": "1-4", "shared": ""}
    assert 'podinfo/shared  assigned.cpuset of log    ""' in cpuctl(*words, "-o", "wide", columns=200).out
    assert "podinfo" not in cpuctl(*words).out


def test_a_resize_updates_files_but_not_variables(cpuctl: Cpuctl, pods: str) -> None:
    words = ("resize", "-f", pods, *NODE, *RESIZED)
    before, after = (
        {name: each["text"] for name, each in reported(cpuctl, *words, member=time).items()}
        for time in ("before", "after")
    )
    assert before == {"CPUS": "4", "LOG": "150", "cpus": "4", "own": "1-4", "shared": ""}
    assert after == {"CPUS": "4", "LOG": "150", "cpus": "6", "own": "1-6", "shared": ""}
    assert reported(cpuctl, *words, member="note")["CPUS"].startswith("variables stay unchanged")


def test_a_file_shows_requests_that_are_not_granted(cpuctl: Cpuctl, pods: str) -> None:
    words = ("resize", "-f", pods, "-T", "filler=2/2,1Gi", *NODE, *RESIZED)
    assert reported(cpuctl, *words, member="after")["cpus"]["text"] == "6"
    assert reported(cpuctl, *words, member="after")["own"]["text"] == "1-4"
    assert (
        reported(cpuctl, *words, member="note")["cpus"]
        == "volumes show what is requested, whether granted or not"
    )


def test_variables_change_if_the_container_restarts(cpuctl: Cpuctl, tmp_path: Path) -> None:
    restarts = "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]\n    env:"
    (tmp_path / "pods.yaml").write_text(POD.replace("env:", restarts))
    words = ("resize", "-f", str(tmp_path / "pods.yaml"), *NODE, *RESIZED)
    assert reported(cpuctl, *words, member="after")["CPUS"]["text"] == "6"
    assert reported(cpuctl, *words, member="note")["CPUS"] == "its container restarts"


def test_pods_diff_compares_the_downward_api(cpuctl: Cpuctl, pods: str, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(POD.replace("cpu: 150m", "cpu: 250m"))
    words = ("pods", "diff", pods, str(tmp_path / "other.yaml"), "-q", "-o", "wide")
    assert "downward API, variable LOG of app: requests.cpu of log" in cpuctl(*words, columns=200).out


def test_an_explanation_has_the_same_downward_api_as_the_plan(cpuctl: Cpuctl, pods: str) -> None:
    words = ("explain", "web", "-f", pods, *NODE, "--feature-gates", GATES, "-o", "json")
    reported = json.loads(cpuctl(*words).out)["pod"]["downwardAPI"]
    assert [each["text"] for each in reported] == ["4", "150", "4", "1-4", ""]
