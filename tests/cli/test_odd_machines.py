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


def test_the_map_shows_nodes_without_cpus(cpuctl: Cpuctl) -> None:
    """High-bandwidth and CXL memory, and the nodes of graphics cards."""
    words = ("topology", "map", "-q", "-m", "synthetic:4c,nodes=0-3/4:/5:,mem=8Gi/16Gi/0")
    out = cpuctl(*words).out
    assert "NUMA node 4: no CPUs, 16Gi of memory" in out
    assert "NUMA node 5: no CPUs" in out
    svg = cpuctl(*words, "--svg", "-").out
    assert "NUMA node 4: no CPUs, 16Gi of memory" in svg


def test_the_columns_of_huge_pages_are_in_the_order_of_size(cpuctl: Cpuctl) -> None:
    sizes = (
        "hugepages-2Mi=1",
        "hugepages-16Gi=1",
        "hugepages-1Gi=1",
        "hugepages-64Ki=1",
        "hugepages-512Mi=1",
    )
    machine = f"synthetic:4c,mem=64Gi,{','.join(sizes)}"
    head = next(line for line in cpuctl("topology", "-q", "-m", machine).out.splitlines() if "HUGE" in line)
    assert head.split()[3:-1] == [
        "HUGE",
        "64Ki",
        "HUGE",
        "2Mi",
        "HUGE",
        "512Mi",
        "HUGE",
        "1Gi",
        "HUGE",
        "16Gi",
    ]
    amounts = answer(cpuctl, "topology", "-m", machine, "--memory")["memory"]["amounts"]
    assert [line["resource"].removeprefix("hugepages-") for line in amounts] == [
        "memory", "64Ki", "2Mi", "512Mi", "1Gi", "16Gi",
    ]  # fmt: skip


def test_guessed_core_kinds_are_called_a_guess(cpuctl: Cpuctl, tmp_path: Path) -> None:
    khz = {cpu: "2808000" if cpu < 2 else "3900000" for cpu in range(4)}
    speeds = {f"sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": text for cpu, text in khz.items()}
    machine = recorded(tmp_path, small_machine("1s1n4c1t,mem=8Gi") | speeds)
    document = answer(cpuctl, "topology", "-m", machine)
    assert document["summary"]["efficiencyCPUs"] == "0-1"
    assert document["summary"]["coreKindsGuessed"] is True
    assert (
        "Efficiency CPUs:   0-1, a guess by maximum frequency" in cpuctl("topology", "-q", "-m", machine).out
    )
    assert "e: efficiency core, a guess by maximum frequency" in cpuctl("topology", "map", "-m", machine).out
    kept = cpuctl("config", "reserve", "-m", machine, "--reserved-cpus", "1", "--keep-p-cores")
    assert "that CPUs 2-3 are performance cores is a guess by maximum frequency" in kept.err
