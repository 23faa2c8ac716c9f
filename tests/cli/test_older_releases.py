"""Questions from issues about memory and state under older kubelets, asked on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Cpuctl

NODE = ("-m", "synthetic:2s2n4c1t,mem=11Gi", "--kubelet-config", "kubelet.yaml")
PODS = ("-T", "p1=1/1,4Gi", "-T", "p2=5/5,12Gi")
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "topologyManagerPolicy": "best-effort",
    "memoryManagerPolicy": "Static",
    "systemReserved": {"memory": "924Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}
TIMELINE = {
    "apiVersion": "cpuctl/v1alpha1",
    "kind": "Timeline",
    "machine": "synthetic:1s1n4c1t",
    "kubelet": {
        "version": "1.31",
        "config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"},
    },
    "pods": ["a=2/2,1Gi", "b=1/1,1Gi"],
    "events": [
        {"at": "0s", "admit": "a"},
        {"at": "5s", "remove": "a"},
        {"at": "40s", "admit": "b"},
    ],
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "kubelet.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


@pytest.mark.parametrize(("version", "code"), [("1.27", 0), ("1.31", 0), ("1.31.14", 0), ("1.32", 3)])
def test_a_pod_that_ran_is_rejected_after_an_upgrade(
    version: str, code: int, directory: Path, cpuctl: Cpuctl
) -> None:
    """Kubernetes issue 120733."""
    result = cpuctl("plan", *NODE, *PODS, "--kubelet-version", version, "-q", cwd=directory)
    assert result.code == code
    assert ("12Gi (nodes 0,1)" in result.out) == (code == 0)
    assert ("preferred hint violates NUMA node allocation" in result.out) == (code == 3)


def test_comparing_the_releases_shows_the_rejection(directory: Path, cpuctl: Cpuctl) -> None:
    result = cpuctl("plan", *NODE, *PODS, "--compare", "1.31", "1.32", "-q", cwd=directory)
    assert "Pods that differ: 1 of 2" in result.out


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("1.31", "from 1.32 on a kubelet rejects that (preferred hint violates NUMA node allocation)"),
        ("1.32", "kubelets up to 1.31 admit such a pod, and their groups of NUMA nodes overlap"),
    ],
)
def test_the_reason_names_the_release(version: str, known: str, directory: Path, cpuctl: Cpuctl) -> None:
    words = ("explain", "default/p2", *NODE, *PODS, "--kubelet-version", version, "-q")
    assert f"{known} (kubernetes/kubernetes#123443)" in cpuctl(*words, cwd=directory, columns=400).out


@pytest.mark.parametrize(("version", "kept"), [("1.31", True), ("1.32", False)])
def test_a_deleted_pod_stays_in_the_state_until_another_is_admitted(
    version: str, *, kept: bool, directory: Path, cpuctl: Cpuctl
) -> None:
    """Kubernetes issue 107074."""
    kubelet = {**TIMELINE["kubelet"], "version": version}  # type: ignore[dict-item]
    (directory / "timeline.yaml").write_text(yaml.safe_dump({**TIMELINE, "kubelet": kubelet}))
    reported = cpuctl("replay", "timeline.yaml", "-q", cwd=directory, columns=200).out
    assert ("is removed, but keeps CPUs 1-2 until another pod is admitted (up to 1.31)" in reported) == kept
    assert ("CPUs 1-2 returned to the shared pool (container removed)" in reported) != kept
    assert "b    -          is admitted: b 1" in reported
