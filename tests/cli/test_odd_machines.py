"""Machines of which a kubelet makes something odd: what is said of them is what it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_schemas import check
from tests.machine.sysfs_writer import small_machine

STATIC = "--cpu-manager-policy=static --reserved-cpus=0"


def recorded(directory: Path, files: Mapping[str, str]) -> str:
    """Write the files of a machine and name the directory."""
    for path, text in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(directory)


def without_sockets(description: str = "1s1n4c1t,mem=8Gi") -> dict[str, str]:
    """Describe a machine whose kernel knows neither NUMA nodes nor packages, as of many virtual ones."""
    files = {path: text for path, text in small_machine(description).items() if "system/node" not in path}
    files |= {path: "-1\n" for path in files if path.endswith("physical_package_id")}
    return files | {"proc/cpuinfo": "processor\t: 0\n"}


def answer(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-q", "-o", "json")
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    check(document)
    return document


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize("pod", ["web=2/2,1Gi", "web=100m/200m,1Gi"])
def test_packages_of_unknown_number_crash_a_kubelet_that_aligns(
    cpuctl: Cpuctl, tmp_path: Path, policy: str, pod: str
) -> None:
    """It takes package -1 for NUMA node -1, which no mask of nodes holds, at the first pod of any kind."""
    kubelet = f"{STATIC} --topology-manager-policy={policy}"
    machine = recorded(tmp_path, without_sockets())
    document = answer(cpuctl, "plan", "-m", machine, "--kubelet-args", kubelet, "-T", pod)
    (found,) = document["pods"]
    assert found["outcome"] == "KubeletFault"
    assert found["fault"] == "crash"
    assert found["why"] == "a mask holds NUMA nodes 0 to 63, and this machine has -1"


def test_packages_of_unknown_number_are_nothing_to_a_kubelet_that_does_not_align(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    machine = recorded(tmp_path, without_sockets())
    document = answer(cpuctl, "plan", "-m", machine, "--kubelet-args", STATIC, "-T", "web=2/2,1Gi")
    assert document["pods"][0]["containers"][0]["cpus"] == "1-2"


@pytest.mark.parametrize(
    "command", ["plan --capacity", "plan --order largest-first", "explain web", "config check"]
)
def test_every_command_answers_for_packages_of_unknown_number(
    cpuctl: Cpuctl, tmp_path: Path, command: str
) -> None:
    machine = recorded(tmp_path, without_sockets())
    pods = () if command.startswith("config") else ("-T", "web=2/2,1Gi", "-T", "two=1/1,1Gi")
    for flags in (STATIC, f"{STATIC} --topology-manager-policy=restricted"):
        result = cpuctl(*command.split(), "-m", machine, "--kubelet-args", flags, *pods)
        assert result.code in (0, 3), result
        assert "shift" not in result.out + result.err
