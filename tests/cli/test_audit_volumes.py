"""What containers read about their CPUs: captured on one machine, compared on another."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.audit.node_tree import DATABASE, PODS, clean_node, with_kubelet_files
from tests.capture.node_texts import written
from tests.cli.conftest import Cpuctl

VOLUME = f"var/lib/kubelet/pods/{DATABASE}/volumes/kubernetes.io~downward-api/podinfo"
GATES = "DownwardAPIAssignedResources=true"


@pytest.fixture
def reported(tmp_path: Path) -> tuple[str, ...]:
    """Write a node whose database reads outdated CPUs, and its pods; return the options to audit it."""
    node = with_kubelet_files(clean_node())
    node.files |= {f"{VOLUME}/cpus": "1-2,5", f"{VOLUME}/labels": 'app="SECRET"'}
    written(node.files, tmp_path / "node")
    pods: dict[str, Any] = copy.deepcopy(PODS)
    ref = {"containerName": "server", "resource": "assigned.cpuset"}
    items = [{"path": "cpus", "resourceFieldRef": ref}]
    pods["items"][0]["spec"]["volumes"] = [{"name": "podinfo", "downwardAPI": {"items": items}}]
    (tmp_path / "pods.json").write_text(json.dumps(pods))
    return ("--pods", str(tmp_path / "pods.json"), "--check", "volumes", "-q")


def found(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    answer = json.loads(cpuctl("audit", *words, "-o", "json").out)
    return {each["code"]: each["detected"] for each in answer["findings"]} | {
        f"unchecked {number}": each["missing"] for number, each in enumerate(answer["unchecked"])
    }


def test_a_captured_node_is_as_stale_as_the_node(
    reported: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    root, archive = str(tmp_path / "node"), str(tmp_path / "node.tar")
    words = (*reported, "--kubelet-version", "1.37", "--feature-gates", GATES)
    assert found(cpuctl, "--root", root, *words) == {"assigned-cpuset-stale": "1-2,5"}
    assert cpuctl("capture", "--root", root, archive, "-q").code == 0
    assert found(cpuctl, "-m", archive, *words) == {"assigned-cpuset-stale": "1-2,5"}
    assert b"SECRET" not in (tmp_path / "node.tar").read_bytes()
    older = (*reported, "--kubelet-version", "1.36")
    assert found(cpuctl, "-m", archive, *older) == {"assigned-cpuset-unserved": "1-2,5"}


def test_an_anonymous_capture_has_no_volumes(
    reported: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    archive = tmp_path / "node.tar"
    result = cpuctl("capture", "--root", str(tmp_path / "node"), "--anonymize", str(archive), "-o", "json")
    (area,) = (each for each in json.loads(result.out)["manifest"]["areas"] if each["name"] == "volumes")
    assert area["notes"] == ["volume files are left out because their names may be confidential"]
    assert b"podinfo" not in archive.read_bytes()
    missing = found(cpuctl, "-m", str(archive), *reported, "--kubelet-version", "1.37")
    assert any(text.startswith("volume files") for text in missing.values())


@pytest.mark.parametrize(
    ("delay", "code"), [("0s", "assigned-cpuset-stale"), ("5s", "assigned-cpuset-pending")]
)
def test_fewer_cpus_are_pending_only_with_a_delay(
    delay: str, code: str, reported: tuple[str, ...], tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "node" / VOLUME / "cpus").write_text("1")
    gates = f"{GATES},CPUManagerPolicyAlphaOptions=true,InPlacePodVerticalScalingExclusiveCPUs=true"
    config = tmp_path / "node/var/lib/kubelet/config.yaml"
    text = config.read_text()
    config.write_text(
        text.replace("cpuManagerPolicyOptions: {", f"cpuManagerPolicyOptions: {{scale-delay-time: {delay}, ")
    )
    words = (*reported, "--kubelet-version", "1.37", "--feature-gates", gates)
    assert found(cpuctl, "--root", str(tmp_path / "node"), *words) == {code: "1"}
