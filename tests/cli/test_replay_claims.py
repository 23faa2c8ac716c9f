"""Pods with resource claims over time: they wait for devices, and run on the CPUs that the driver assigns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.documents.loading import load_documents
from cpuctl.dra.node import NodeClaims
from cpuctl.engine.outcome import Pending, Undetermined
from cpuctl.pods.model import Pod
from tests.cli.conftest import Cpuctl
from tests.dra.claims import claim, cpus, pod

WEB = """
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main}]}
"""


def replayed(
    cpuctl: Cpuctl,
    directory: Path,
    text: str,
    *events: dict[str, Any],
    flags: str = "",
    kubelet: dict[str, Any] | None = None,
) -> Any:
    objects = [document.value for document in load_documents(text, "test.yaml")]
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": "synthetic:2n16c2t",
        "pods": objects,
        "events": list(events),
        **({"kubelet": kubelet} if kubelet else {}),
    }
    file = directory / "timeline.yaml"
    file.write_text(yaml.safe_dump(timeline))
    words = ("--driver-args", flags) if flags else ()
    result = cpuctl("replay", str(file), *words, "-o", "json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def admission_of(name: str, at: str = "0s") -> dict[str, Any]:
    return {"at": at, "admit": {"pod": f"default/{name}"}}


def removal_of(name: str, at: str) -> dict[str, Any]:
    return {"at": at, "remove": f"default/{name}"}


def texts(document: Any, name: str) -> list[str]:
    return [
        f"{each['at']} {each['text']}" for each in document["entries"] if each["pod"] == f"default/{name}"
    ]


def test_containers_run_on_cpus_of_claims_and_others_make_room(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = claim("c", cpus(4)) + pod("a", "c") + WEB
    found = replayed(
        cpuctl, tmp_path, text, admission_of("web"), admission_of("a", "1s"), removal_of("a", "2s")
    )
    admitted, started, *_ = texts(found, "a")
    assert admitted.endswith("because the CPU Manager policy is none; claim default/c 0-1,16-17")
    assert started == "1s starts on CPUs 0-1,16-17"
    assert "1s moves from CPUs 0-31 to CPUs 2-15,18-31, to make way for a claim" in texts(found, "web")
    assert found["final"]["containers"]["default/web/main"]["cgroup"] == "2-15,18-31", "it stays so"


def test_a_pod_waits_for_devices_until_others_are_gone(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = "".join(claim(name, cpus(12)) + pod(f"p{name}", name) for name in "abc")
    events = (admission_of("pa"), admission_of("pb"), admission_of("pc", "1s"), removal_of("pa", "5s"))
    found = replayed(cpuctl, tmp_path, text, *events[:3])
    assert found["final"]["pods"]["default/pc"]["phase"] == "Unscheduled"
    assert found["final"]["pods"]["default/pc"]["reason"] == "Unschedulable"
    found = replayed(cpuctl, tmp_path, text, *events)
    lines = texts(found, "pc")
    assert lines[0].startswith("1s waits for the scheduler: claim default/c, request cpus: requests 1 device")
    assert [line for line in lines if "starts on" in line] == ["5s starts on CPUs 0-5,16-21"]


COUNTING = {"version": "1.37", "config": {"featureGates": {"DRANodeAllocatableResources": True}}}


def test_claims_of_a_waiting_pod_are_tried_once_per_attempt(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On arrival, in the scheduler's three rounds until the pod is bound, and at admission by the kubelet."""
    tried: list[str] = []
    allocate = NodeClaims.allocate

    def counted(claims: NodeClaims, pod: Pod) -> Pending | Undetermined | None:
        tried.append(pod.name)
        return allocate(claims, pod)

    monkeypatch.setattr(NodeClaims, "allocate", counted)
    text = "".join(claim(name, cpus(12)) + pod(f"p{name}", name) for name in "abc")
    found = replayed(
        cpuctl,
        tmp_path,
        text,
        admission_of("pa"),
        admission_of("pb"),
        admission_of("pc", "1s"),
        removal_of("pa", "5s"),
    )
    assert found["final"]["pods"]["default/pc"]["phase"] == "Running"
    assert tried.count("pc") == 5


def test_the_scheduler_counts_resources_of_claims_if_mapped(cpuctl: Cpuctl, tmp_path: Path) -> None:
    plain = WEB.replace("{name: main}", "{name: main, resources: {requests: {cpu: 24}}}")
    text = claim("c", cpus(12)) + pod("a", "c") + plain
    mapped = "--publish-node-allocatable-resource-mapping"

    def events(first: str, second: str) -> list[dict[str, Any]]:
        return [{"at": "0s", "schedule": first}, {"at": "1s", "schedule": second}, removal_of(first, "5s")]

    for first, second in (("a", "web"), ("web", "a")):
        found = replayed(cpuctl, tmp_path, text, *events(first, second), flags=mapped, kubelet=COUNTING)
        assert texts(found, second)[0] == "1s waits for the scheduler"
        assert texts(found, second)[1].startswith("5s is bound to the node")
    uncounted = replayed(cpuctl, tmp_path, text, *events("web", "a"), kubelet=COUNTING)
    assert texts(uncounted, "a")[1].startswith("1s is bound to the node")


def test_claims_survive_a_restart_of_the_kubelet(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = claim("c", cpus(4)) + claim("d", cpus(4)) + pod("a", "c") + pod("b", "d")
    restart = {"at": "1s", "kubelet": {"action": "restart"}}
    found = replayed(cpuctl, tmp_path, text, admission_of("a"), restart, admission_of("b", "20s"))
    assert found["final"]["containers"]["default/a/c"]["cgroup"] == "0-1,16-17"
    assert found["final"]["containers"]["default/b/d"]["cgroup"] == "2-3,18-19"


def test_a_second_pod_with_the_same_claim_does_not_start(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = claim("c", cpus(4)) + pod("a", "c") + pod("b", "c")
    found = replayed(
        cpuctl, tmp_path, text, admission_of("a"), admission_of("b"), flags="--reserved-cpus 0,16"
    )
    assert found["final"]["containers"]["default/a/c"]["cgroup"] == "1-2,17-18"
    assert found["final"]["containers"]["default/b/c"]["state"] == "waiting"
    assert "does not start: claim default/c is already in use by pod default/a" in texts(found, "b")[-1]
