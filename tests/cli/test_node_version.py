"""A node's kubelet version includes its patch: from a recording, a Node object, ``kubelet --version``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.capture.kubelet import running
from tests.cli.conftest import Cpuctl
from tests.cli.test_capture import archive as archive  # noqa: PLC0414  # a fixture
from tests.cli.test_capture import root as root  # noqa: PLC0414
from tests.cli.test_capture import with_version

UNCORE = "--cpu-manager-policy-options=prefer-align-cpus-by-uncorecache=true"
ALPHA = "--feature-gates=CPUManagerPolicyAlphaOptions=true"
FLAGS = f"--cpu-manager-policy=static --reserved-cpus=0-1 {ALPHA} {UNCORE}"
ODD = ("-m", "synthetic:1s1n16c2t,l3=4,near", "-T", "a=7/7,1Gi", "--kubelet-args", FLAGS)


def node(release: object, name: str = "n") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"nodeInfo": {"kubeletVersion": release}},
    }


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    ("release", "known", "cpus"), [("v1.33.4-gke.100", "1.33.4", "2-8"), ("v1.33.13+k3s1", "1.33.13", "8-14")]
)
def test_a_node_object_provides_the_patch(
    release: str, known: str, cpus: str, *, listed: bool, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Between these two patches, an odd request came to be served from one cache (kubernetes 131850)."""
    given = {"kind": "List", "items": [node(release)]} if listed else node(release)
    (tmp_path / "node.json").write_text(json.dumps(given))
    answer = json.loads(
        cpuctl("plan", *ODD, "--kubelet-version", "@node.json", "-o", "json", cwd=tmp_path).out
    )
    assert answer["sources"]["kubeletVersion"] == {"value": release, "from": "given"}
    assert answer["kubelet"]["version"] == known
    assert answer["pods"][0]["containers"][0]["cpus"] == cpus


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "Pod"}, "expected one Node, found 0 Nodes"),
        ({"kind": "List", "items": [node("v1.33.4"), node("v1.33.4")]}, "expected one Node, found 2 Nodes"),
        (node(None), "expected one Node, found none with a kubelet version"),
    ],
)
def test_input_other_than_a_single_node_is_rejected(
    given: dict[str, Any], message: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    (tmp_path / "node.json").write_text(json.dumps(given))
    result = cpuctl("plan", *ODD, "--kubelet-version", "@node.json", cwd=tmp_path)
    assert (result.code, message in result.err) == (4, True), result


def test_a_recording_provides_the_patch(root: str, archive: str, cpuctl: Cpuctl) -> None:
    assert cpuctl("capture", "--root", root, archive).code == 0
    with_version(archive, "v1.33.4-eks-113cf36")
    answer = json.loads(cpuctl("plan", "-m", archive, "-T", "a=1/1,1Gi", "-o", "json").out)
    assert answer["sources"]["kubeletVersion"] == {"value": "v1.33.4-eks-113cf36", "from": "capture"}
    assert answer["kubelet"]["version"] == "1.33.4"


@pytest.mark.parametrize("command", ["plan", "config show", "config check"])
def test_the_installed_kubelet_provides_the_patch(
    command: str, cpuctl: Cpuctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "installed_version", lambda: ("v1.33.4+k3s1", "/usr/bin/kubelet"))
    words = ("-T", "a=1,1Gi") if command == "plan" else ()
    answer = json.loads(cpuctl(*command.split(), *words, "-o", "json").out)
    assert answer["sources"]["kubeletVersion"] == {"value": "v1.33.4+k3s1", "from": "live"}
    assert answer["kubelet"]["version"] == "1.33.4"
    given = json.loads(cpuctl(*command.split(), *words, "--kubelet-version", "1.35.2", "-o", "json").out)
    assert given["kubelet"]["version"] == "1.35.2"


@pytest.mark.parametrize(
    ("status", "warning"),
    [
        (
            {
                "capacity": {"cpu": "16", "memory": "64Gi"},
                "allocatable": {"cpu": "14", "memory": "65436Mi"},
            },
            "",
        ),
        ({"capacity": {"cpu": "16"}, "allocatable": {"cpu": "14000m"}}, ""),
        ({"capacity": {"cpu": "many"}, "allocatable": []}, ""),
        (
            {"capacity": {"cpu": "32"}},
            "the Node has 32 CPUs, but the machine has 16: check that both were recorded at the same time",
        ),
        (
            {"capacity": {"cpu": "16"}, "allocatable": {"cpu": "15"}},
            "the Node has 15 CPUs allocatable, but this configuration leaves 14: the",
        ),
        (
            {"capacity": {"memory": "64Gi"}, "allocatable": {"memory": "63Gi"}},
            "the Node has 63Gi of memory allocatable, but this configuration leaves 65436Mi: the",
        ),
        ({"capacity": {"memory": "63Gi"}, "allocatable": {"memory": "62Gi"}}, ""),  # changes with a reboot
    ],
)
def test_a_nodes_resources_are_compared_with_machine_and_configuration(
    status: dict[str, Any], warning: str, tmp_path: Path, cpuctl: Cpuctl
) -> None:
    given = node("v1.33.4")
    given["status"] |= status
    (tmp_path / "node.json").write_text(json.dumps(given))
    (tmp_path / "configz.json").write_text(
        json.dumps({"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}})
    )
    words = (
        "-m",
        "synthetic:1s1n16c1t",
        "--kubelet-config",
        "configz.json",
        "--kubelet-version",
        "@node.json",
    )
    result = cpuctl("plan", *words, "-T", "a=2/2,1Gi", cwd=tmp_path, columns=300)
    assert result.code == 0
    assert warning in result.err
    assert ("the Node" in result.err) == bool(warning)
