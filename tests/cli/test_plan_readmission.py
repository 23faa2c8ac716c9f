"""Plans and explanations for running pods with pod-level resources (KEP-5526)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl, Result
from tests.support.schemas import follow_schema

KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
reservedSystemCPUs: "0"
kubeReserved: {memory: 1Gi}
evictionHard: {memory.available: 0%}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
topologyManagerPolicy: restricted
topologyManagerScope: pod
featureGates: {PodLevelResourceManagers: true}
"""
LOST = (
    "pod telco/gateway is running, but this kubelet allocates resources to it again: CPUs 1-5 and 5Gi of "
    "memory (NUMA node 0) are then lost, and at its next start the kubelet rejects its state files "
    "(kubernetes/kubernetes#140989, kubernetes/kubernetes#140906; fixed in 1.38)"
)
REFUSED = (
    "pod telco/gateway is running, but this kubelet rejects it, ignoring what it already holds "
    "(kubernetes/kubernetes#140989, kubernetes/kubernetes#140906; fixed in 1.38)"
)

Plan = Callable[..., Result]


def pod(*containers: int) -> str:
    """Write a pod of 5 CPUs and 5 GiB; a container given as 0 requests nothing."""
    amounts = [{"cpu": str(count), "memory": f"{count}Gi"} for count in containers]
    whole = {"cpu": "5", "memory": "5Gi"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "gateway", "namespace": "telco", "uid": "u1"},
            "spec": {
                "resources": {"requests": whole, "limits": whole},
                "containers": [
                    {
                        "name": f"c{number}",
                        "image": "x",
                        "resources": {"requests": each, "limits": each} if each["cpu"] != "0" else {},
                    }
                    for number, each in enumerate(amounts)
                ],
            },
        }
    )


@pytest.fixture
def again(tmp_path: Path, cpuctl: Cpuctl) -> Plan:
    """Return a function that asks about a pod on a node that already runs it."""
    (tmp_path / "kubelet.yaml").write_text(KUBELET)
    (tmp_path / "state").mkdir()
    reported = ("-m", "synthetic:2s2n8c1t,mem=16Gi", "--kubelet-config", "kubelet.yaml")

    def ask(verb: str, text: str, version: str, *words: str) -> Result:
        (tmp_path / "pod.json").write_text(text)
        release = (*reported, "--kubelet-version", version)
        cpuctl("plan", *release, "-f", "pod.json", "--write-state", "state", "--force", cwd=tmp_path)
        return cpuctl(verb, *release, "--state", "state", *words, cwd=tmp_path)

    return ask


def warnings(result: Result) -> Any:
    document = json.loads(result.out)
    follow_schema(document, "plan")
    return document["warnings"]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_a_plan_says_what_is_lost(version: str, again: Plan) -> None:
    (found,) = warnings(again("plan", pod(5), version, "-f", "pod.json", "-o", "json"))
    memory = [{"resource": "memory", "bytes": 5 << 30, "numaNodes": "0"}]
    assert (found["pod"], found["readmission"], found["lostCPUs"]) == ("telco/gateway", "lost", "1-5")
    assert (found["lostMemory"], found["message"]) == (memory, LOST)


def test_a_plan_says_that_a_running_pod_is_rejected(again: Plan) -> None:
    result = again("plan", pod(3, 0), "1.36", "-f", "pod.json", "-o", "json")
    (found,) = warnings(result)
    assert (result.code, found["readmission"], found["message"]) == (3, "rejected", REFUSED)


@pytest.mark.parametrize("containers", [(5,), (3, 0)])
def test_from_1_38_there_are_no_warnings(containers: tuple[int, ...], again: Plan) -> None:
    result = again("plan", pod(*containers), "1.38", "-f", "pod.json", "-o", "json")
    assert (result.code, warnings(result)) == (0, [])


def test_the_table_has_the_warning(again: Plan) -> None:
    assert f"warning: {LOST}\n" in again("plan", pod(5), "1.36", "-f", "pod.json").out


@pytest.mark.parametrize("containers", [(5,), (3, 0)])
@pytest.mark.parametrize("version", ["1.36", "1.38"])
def test_an_explanation_names_the_defect(containers: tuple[int, ...], version: str, again: Plan) -> None:
    result = again("explain", pod(*containers), version, "--pods", "pod.json", "gateway", "-o", "json")
    references = {defect["reference"] for defect in json.loads(result.out)["defects"]}
    expected = (
        "kubernetes/kubernetes#140989, kubernetes/kubernetes#140906, "
        "docs/keps.md#restarts-with-pod-level-allocations"
    )
    assert (expected in references) == (version == "1.36")
