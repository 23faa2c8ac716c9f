"""plan, explain, pods show, resize and replay give the same reason why a container shares CPUs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.cli.conftest import ROOT, Cpuctl

MACHINE = "synthetic:1s2n8c2t"
PODS = "fixtures/pod-level/sharing.yaml"
CONFIG = "fixtures/pod-level/kubelet.yaml"
KUBELET = ("-m", MACHINE, "--kubelet-config", CONFIG, "-f", PODS)
FRACTION = (
    "the pod's cpu request 2500m (spec.resources) is not a whole number of CPUs, and scope pod allocates it "
    "as a whole or not at all (KEP-5526)"
)
BURSTABLE = "the pod is Burstable, not Guaranteed: spec.resources has cpu request 2 but limit 4"
NO_CLAIM = "its own requests of cpu and memory do not equal its limits"
REASONS = {
    "fraction": {"app": ("host", FRACTION), "log": ("host", FRACTION)},
    "burstable": {"app": ("host", BURSTABLE)},
    "pool": {"app": ("container", None), "log": ("pod", NO_CLAIM)},
}


def answered(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-q", "-o", "json")
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    return document


def reported(containers: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["name"]: (each["isolation"], each.get("whyShared")) for each in containers}


def test_plan(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", *KUBELET)
    assert {pod["name"]: reported(pod["containers"]) for pod in document["pods"]} == REASONS


@pytest.mark.parametrize("pod", REASONS)
def test_explain(pod: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "explain", f"default/{pod}", *KUBELET)
    assert reported(document["pod"]["containers"]) == REASONS[pod]


def test_pods_show(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "pods", "show", *KUBELET)
    found = {
        pod["name"]: reported(
            [{"name": each["name"], **each["exclusiveCPUs"]} for each in pod["containers"]],
        )
        for pod in document["pods"]
    }
    assert found == REASONS


def test_a_container_with_a_fraction_of_a_cpu_keeps_its_quota(cpuctl: Cpuctl) -> None:
    """Only a container with exclusive CPUs has no quota here."""
    document = answered(cpuctl, "pods", "show", *KUBELET)
    (app, _) = document["pods"][0]["containers"]
    assert app["cgroup"]["cpuQuota"] == 100_000


@pytest.mark.parametrize("pod", REASONS)
def test_resize(pod: str, cpuctl: Cpuctl) -> None:
    # No manager reacts to more memory, so every pod stays as it is.
    document = answered(cpuctl, "resize", *KUBELET, "--set", f"{pod}/app:memory=1100Mi")
    assert reported(document["pods"][0]["containers"]) == REASONS[pod]


def test_resize_names_the_pods_pool(cpuctl: Cpuctl) -> None:
    out = cpuctl("resize", "-q", *KUBELET, "--set", "pool/app:cpu=1", columns=160).out
    (row,) = (line for line in out.splitlines() if line.startswith("log   "))
    assert row.split()[-2:] != ["-", "-"]
    assert row.count("pod: 2,10") == 2


def test_replay(cpuctl: Cpuctl) -> None:
    pods = list(yaml.safe_load_all((ROOT / PODS).read_text()))
    config = yaml.safe_load((ROOT / CONFIG).read_text())
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": MACHINE,
        "kubelet": {"config": config},
        "pods": pods,
        "events": [{"at": f"{n}s", "admit": pod["metadata"]["name"]} for n, pod in enumerate(pods)],
    }
    out = cpuctl("replay", "-", stdin=yaml.safe_dump(timeline).encode(), columns=300).out
    assert f"is admitted: no exclusive CPUs, because {FRACTION}" in out
    assert f"is admitted: no exclusive CPUs, because {BURSTABLE}" in out
    assert "is admitted: app 1,9; log in the pod's pool 2,10" in out


def test_the_result_of_a_change_names_the_pods_pool(cpuctl: Cpuctl) -> None:
    """Scope pod admits what scope container rejects: ``explain`` shows where each container would be."""
    words = ("explain", "-q", "pool", *KUBELET, "--kubelet-args", "--topology-manager-scope=container")
    out = cpuctl(*words, columns=200).out
    assert "app: CPUs 1,9 (node 0); log: in its pod's pool, CPUs 2,10" in out


def test_tooltips_name_the_pool_and_all_containers_that_share_it(cpuctl: Cpuctl) -> None:
    """Of the three containers, only one has its own CPUs; the others share the pod's pool."""
    amounts = "resources: {requests: {cpu: 4, memory: 4Gi}, limits: {cpu: 4, memory: 4Gi}}"
    own = "resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}"
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: pool}\nspec:\n"
        f"  {amounts}\n  containers:\n  - {{name: app, {own}}}\n  - {{name: log}}\n  - {{name: cache}}\n"
    )
    words = ("plan", "-q", "-m", MACHINE, "--kubelet-config", CONFIG, "-f", "-", "--svg", "-")
    svg = cpuctl(*words, stdin=pod.encode()).out
    tips = {tip.partition(";")[0]: tip for tip in re.findall("<title>(CPU .*?)</title>", svg)}
    for cpu in ("CPU 2", "CPU 10"):
        assert "default/pool (whole pod), its pool shared by cache, log" in tips[cpu]
    for cpu in ("CPU 1", "CPU 9"):
        assert "default/pool app" in tips[cpu]
