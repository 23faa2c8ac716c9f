"""plan, explain, resize, replay and pods show quote the API server's rejection of a pod, and exit with 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import ROOT, Cpuctl
from tests.support.schemas import follow_schema

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
    follow_schema(document, schema)
    return document


def test_plan(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", "plan", *NODE)
    found = {pod["name"]: pod.get("rejections", [None])[0] for pod in document["pods"]}
    assert found == {**REFUSALS, "fine": None}
    assert document["summary"]["forbidden"] == 3
    assert [pod["containers"] for pod in document["pods"][:3]] == [[], [], []]
    assert document["summary"]["exclusiveCPUs"] == 2


def test_the_kubelet_can_be_asked_regardless(cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", "plan", *NODE, "--skip-apiserver", code=0)
    assert document["summary"]["admitted"] == 4


def test_copies_and_both_sides_of_a_comparison_are_rejected(cpuctl: Cpuctl) -> None:
    repeated = answered(cpuctl, "plan", "plan", *NODE, "--repeat", "2")
    assert repeated["summary"]["forbidden"] == 6
    compared = answered(cpuctl, "plancomparison", "plan", *NODE, "--compare", ".", "pod")
    assert compared["pods"][0]["b"]["rejections"] == [REFUSALS["below"]]


@pytest.mark.parametrize("pod", REFUSALS)
def test_explain(pod: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "explanation", "explain", pod, *NODE)
    assert document["decision"]["rule"] == "apiServer"
    assert document["pod"]["rejections"] == [REFUSALS[pod]]
    out = cpuctl("explain", "-q", pod, *NODE, columns=300).out
    assert (
        f"rejected by the API server (--skip-apiserver shows the kubelet's decision): {REFUSALS[pod]}" in out
    )


@pytest.mark.parametrize("pod", REFUSALS)
def test_resize(pod: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "resize", "resize", *NODE, "--set", f"{pod}/app:memory=512Mi")
    (resized,) = document["pods"]
    assert (resized["outcome"], resized["decidedBy"]) == ("Forbidden", "apiServer")
    assert resized["message"] == f"the API server rejects the pod itself: {REFUSALS[pod]}"
    reported = {(each["isolation"], each["whyShared"], each["cpus"]) for each in resized["containers"]}
    assert reported == {(None, None, None)}
    assert "shared" not in cpuctl("resize", "-q", *NODE, "--set", f"{pod}/app:memory=512Mi").out.casefold()


def test_a_resize_above_the_pods_total_is_rejected(cpuctl: Cpuctl) -> None:
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
    words = ("--skip-apiserver",) if skip else ()
    out = cpuctl("replay", "-", *words, stdin=yaml.safe_dump(timeline).encode(), columns=300).out
    for pod in ("below", "sums"):
        assert (f"default/{pod} is rejected by the API server: {REFUSALS[pod]}" in out) is not skip


def test_pods_show(cpuctl: Cpuctl) -> None:
    result = cpuctl("pods", "show", "-q", "-f", PODS, "-o", "json")
    found = {pod["name"]: pod["apiServer"]["rejections"] for pod in json.loads(result.out)["pods"]}
    assert found == {name: [text] for name, text in REFUSALS.items()} | {"fine": []}


GOVERNED = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {requests.cpu: "3", pods: "2"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: bounds}
spec: {limits: [{type: Container, max: {cpu: "2"}}, {type: Pod, max: {cpu: "3"}}]}
"""
SIZES = {"web": ("1", "1"), "wrong": ("4", "3"), "late": ("2", "2"), "last": ("1", "1")}


def a_pod(name: str, request: str, limit: str) -> dict[str, Any]:
    amounts = {"requests": {"cpu": request, "memory": "1Gi"}, "limits": {"cpu": limit, "memory": "1Gi"}}
    container = {"name": "app", "image": "app", "resources": amounts}
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def governed(tmp_path: Path) -> str:
    pods = [a_pod(name, *amounts) for name, amounts in SIZES.items()]
    (tmp_path / "pods.yaml").write_text(GOVERNED + "---\n" + yaml.safe_dump_all(pods))
    return str(tmp_path / "pods.yaml")


QUOTA = 'pods "{}" is forbidden: exceeded quota: small, requested: {}, used: {}, limited: {}'
BEYOND = {
    "web": [],
    "wrong": [
        (
            'Pod "wrong" is invalid: spec.containers[0].resources.requests: Invalid value: "4": must be less '
            "than or equal to cpu limit of 3"
        ),
        (
            'pods "wrong" is forbidden: [maximum cpu usage per Container is 2, but limit is 3, maximum cpu '
            "usage per Pod is 3, but request is 4]"
        ),
        QUOTA.format("wrong", "requests.cpu=4", "requests.cpu=1", "requests.cpu=3"),
    ],
    "late": [],
    "last": [
        QUOTA.format("last", "pods=1,requests.cpu=1", "pods=2,requests.cpu=3", "pods=2,requests.cpu=3"),
    ],
}
MACHINE = ("-m", "synthetic:1s2n8c2t")


def test_every_violation_of_limit_ranges_and_quotas_is_reported_at_once(
    governed: str, cpuctl: Cpuctl
) -> None:
    document = answered(cpuctl, "plan", "plan", *MACHINE, "-f", governed)
    assert {pod["name"]: pod.get("rejections", []) for pod in document["pods"]} == BEYOND
    document = answered(cpuctl, "podsshow", "pods", "show", "-f", governed, code=0)
    assert {pod["name"]: pod["apiServer"]["rejections"] for pod in document["pods"]} == BEYOND
    document = answered(cpuctl, "explanation", "explain", "last", *MACHINE, "-f", governed)
    assert document["pod"]["rejections"] == BEYOND["last"]
    document = answered(cpuctl, "podslint", "pods", "lint", "-f", governed)
    assert [(each["object"]["name"], each["code"]) for each in document["findings"]] == [
        ("wrong", "limit-range"),
        ("wrong", "resource-quota"),
        ("wrong", "limit-below-request"),
        ("last", "resource-quota"),
    ]
    stated = {each["message"] for each in document["findings"]}
    assert stated >= {*BEYOND["wrong"][1:], *BEYOND["last"]}
    assert document["summary"]["others"] == 0


def test_copies_are_charged_one_after_the_other(governed: str, cpuctl: Cpuctl) -> None:
    document = answered(cpuctl, "plan", "plan", *MACHINE, "-f", governed, "--repeat", "2")
    assert document["summary"]["forbidden"] == 6
    assert document["pods"][4]["name"] == "web-2"
    assert document["pods"][4]["rejections"][0].startswith('pods "web-2" is forbidden: exceeded quota: small')


def test_resizes_are_charged_only_for_what_grows(governed: str, cpuctl: Cpuctl) -> None:
    words = ("resize", *MACHINE, "-f", governed)
    (grown,) = answered(cpuctl, "resize", *words, "--set", "web/app:cpu=2")["pods"]
    assert (grown["outcome"], grown["message"]) == (
        "Forbidden",
        QUOTA.format("web", "requests.cpu=1", "requests.cpu=3", "requests.cpu=3"),
    )
    sets = ("--set", "late/app:cpu=1", "--set", "web/app:cpu=2")
    found = answered(cpuctl, "resize", *words, *sets, code=0)["pods"]
    assert [each["outcome"] for each in found] == ["Admitted"] * 2


def played(
    cpuctl: Cpuctl, pods: list[Any], *events: dict[str, Any], code: int, words: tuple[str, ...] = ()
) -> str:
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": "synthetic:1s2n8c2t",
        "pods": pods,
        "events": list(events),
    }
    result = cpuctl("replay", "-", *words, stdin=yaml.safe_dump(timeline).encode(), columns=2000)
    assert result.code == code, result.err
    return result.out


def test_replays_enforce_limit_ranges_and_quotas(cpuctl: Cpuctl) -> None:
    pods = [*yaml.safe_load_all(GOVERNED), *(a_pod(name, *amounts) for name, amounts in SIZES.items())]
    admitted = [{"at": f"{at}s", "admit": name} for at, name in enumerate(SIZES)]
    out = played(cpuctl, pods, *admitted, code=3)
    assert "; ".join(BEYOND["wrong"]) in out
    assert BEYOND["last"][0] in out
    assert played(cpuctl, pods, *admitted, code=0, words=("--exit-zero",)) == out
    skipped = played(cpuctl, pods, *admitted, code=0, words=("--skip-apiserver",))
    assert "is rejected by the API server" not in skipped


def test_in_replays_removed_pods_free_their_quota(cpuctl: Cpuctl) -> None:
    quota, _ = yaml.safe_load_all(GOVERNED)
    pods = [quota, *(a_pod(name, "1", "1") for name in "abc")]
    taken = [{"at": "0s", "admit": "a"}, {"at": "1s", "admit": "b"}]
    resize = {"at": "2s", "resize": {"pod": "a", "cpu": 3}}
    out = played(cpuctl, pods, *taken, resize, {"at": "3s", "remove": "b"}, resize | {"at": "4s"}, code=0)
    refused = QUOTA.format("a", "requests.cpu=2", "requests.cpu=2", "requests.cpu=3")
    assert out.count(f"resize is rejected by the API server: {refused}") == 1
    assert "resize is accepted: app 1 to 3 CPUs" in out


def test_replays_fill_in_defaults_of_limit_ranges(cpuctl: Cpuctl) -> None:
    spec = {"limits": [{"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}}]}
    given = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "filled"}, "spec": spec}
    bare = {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "app"}]}}
    resize = {"at": "1s", "resize": {"pod": "bare", "cpu": 3}}
    out = played(cpuctl, [given, bare], {"at": "0s", "admit": "bare"}, resize, code=0)
    assert "resize is accepted: app 2 to 3 CPUs" in out


def test_running_pods_use_up_a_quota(governed: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """With or without a phase: kubectl's list has one, a list written by hand may not."""
    old = a_pod("old", "1", "1")
    for status in ({}, {"status": {"phase": "Running"}}):
        (tmp_path / "running.json").write_text(json.dumps({**old, **status}))
        words = ("-f", governed, "--pods", str(tmp_path / "running.json"))
        document = answered(cpuctl, "plan", "plan", *MACHINE, *words)
        assert [pod["name"] for pod in document["pods"] if "rejections" not in pod] == ["web"]
