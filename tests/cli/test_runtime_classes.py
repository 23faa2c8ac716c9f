"""All commands count the overhead of RuntimeClasses in the manifests, and report an unknown one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

NODE = ("--kubelet-config", "fixtures/kubelet/static.yaml", "--kubelet-version", "1.35")
ONE = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", *NODE)
CLASS = """apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: "4"}}
---
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: vm}
spec:
  runtimeClassName: kata
  containers: [{name: main, resources: {limits: {cpu: "26", memory: 512Mi}}}]
"""
LIMITED = POD.replace("spec:\n", 'spec:\n  overhead: {cpu: "1"}\n')
UNKNOWN = (
    "warning: the overhead of pods with RuntimeClass kata is unknown and not counted: "
    "specify the RuntimeClass with -f (kubectl get runtimeclass kata -o yaml)"
)
TOO_MUCH = "OutOfcpu: Node didn't have enough resource: cpu, requested: 30000, used: 0, capacity: 28000"
LACKING = "0/1 nodes are available: 1 Insufficient cpu."
REFUSED = (
    """pods "vm" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"""
)
COMMANDS = [
    ("plan", *ONE),
    ("explain", "vm", *ONE),
    ("pods", "lint", *ONE),
    ("fleet", "plan", "fixtures/machines/2s-2numa-32cpu.tar.xz", *NODE),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_the_overhead_counts(cpuctl: Cpuctl, command: tuple[str, ...]) -> None:
    result = cpuctl(*command, "-f", "-", stdin=(CLASS + POD).encode())
    assert result.code == 3
    assert (LACKING if command[0] == "fleet" else TOO_MUCH) in result.out
    assert "RuntimeClass" not in result.err


@pytest.mark.parametrize("command", [*COMMANDS, ("pods", "show")], ids=lambda each: " ".join(each[:2]))
def test_unknown_overhead_is_reported_once(cpuctl: Cpuctl, command: tuple[str, ...]) -> None:
    result = cpuctl(*command, "-f", "-", stdin=(POD + "---\n" + POD.replace("vm", "vm2")).encode())
    assert result.err.count(UNKNOWN) == 1


def test_pods_show_names_the_class(cpuctl: Cpuctl) -> None:
    result = cpuctl("pods", "show", "-f", "-", stdin=(CLASS + POD).encode())
    assert "the overhead of RuntimeClass kata" in result.out
    assert UNKNOWN not in result.err


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2]], ids=["plan", "lint"])
def test_other_overhead_is_refused(cpuctl: Cpuctl, command: tuple[str, ...]) -> None:
    result = cpuctl(*command, "-f", "-", stdin=(CLASS + LIMITED).encode())
    assert result.code == 3
    assert REFUSED in result.out


def test_the_kubelet_can_be_asked_regardless(cpuctl: Cpuctl) -> None:
    result = cpuctl("plan", *ONE, "--skip-apiserver", "-f", "-", stdin=(CLASS + LIMITED).encode())
    assert REFUSED not in result.out
    assert "1 pod: 1 admitted" in result.out


def test_created_pods_keep_their_overhead(cpuctl: Cpuctl) -> None:
    created = POD + "status: {phase: Running}\n"
    for text in (CLASS + created, created):
        result = cpuctl("plan", *ONE, "-f", "-", stdin=text.encode())
        assert result.code == 0, result.out
        assert "RuntimeClass" not in result.err


def test_an_unreadable_class_is_reported_at_its_place(cpuctl: Cpuctl, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(CLASS.replace('"4"', '"4x"') + POD, encoding="utf-8")
    planned = cpuctl("plan", *ONE, "-f", str(path))
    assert planned.code == 4
    assert f"{path}:5:" in planned.err
    linted = cpuctl("pods", "lint", "-f", str(path), "-o", "json")
    assert [each["code"] for each in json.loads(linted.out)["findings"]] == ["bad-runtime-class"]
