"""``audit --pod-resources``: a socket, a file, no value, and what is reported if nothing answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl

NODE = ("audit", "-m", "fixtures/nodes/v2-2-numa/node.tar.xz", "--pods", "fixtures/nodes/v2-2-numa/pods.json")
ANSWERS = ("--check", "answers", "-o", "json")


def audited(cpuctl: Cpuctl, where: Path) -> tuple[int, list[Any], list[Any]]:
    result = cpuctl(*NODE, "--pod-resources", str(where), *ANSWERS)
    document = json.loads(result.out)
    return result.code, [each["code"] for each in document["findings"]], document["unchecked"]


def test_a_file_of_answers(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The kubelet lists no pods and no allocatable CPUs, but the state file has pods with CPUs."""
    path = tmp_path / "answers.json"
    path.write_text('{"podResources": []}\n---\n{"cpuIds": []}\n')
    code, codes, unchecked = audited(cpuctl, path)
    assert (code, unchecked) == (3, [])
    assert set(codes) == {"pod-not-listed", "allocatable-differs"}


def test_a_socket_that_does_not_answer_is_reported(cpuctl: Cpuctl, tmp_path: Path) -> None:
    code, codes, unchecked = audited(cpuctl, tmp_path / "kubelet.sock")
    assert (code, codes) == (3, [])
    assert {"no such file or socket" in each["missing"] for each in unchecked} == {True}
    assert unchecked[0]["checks"] == ["answers"]
    missing = cpuctl(*NODE, "--pod-resources", "nope.json")
    assert "nope.json: no such file or socket" in missing.out
    assert "nope.json" not in missing.err


@pytest.mark.parametrize(
    "words", [("--pod-resources",), ("--pod-resources", "-q"), ("--pod-resources=live",)]
)
def test_without_a_value_it_is_the_kubelets_own_socket(cpuctl: Cpuctl, words: tuple[str, ...]) -> None:
    result = cpuctl(*NODE, *words)
    assert (result.code, "a recording has no running kubelet" in result.err) == (2, True)
