"""CPU partitions on a real kernel: cpuctl reports their state in the kernel, and its fixes work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from tests.guest.conftest import CASES, HERE, ROOT, one_boot
from tests.guest.harness.guest import run_in_guest
from tests.support.planted_faults import by_code

pytestmark = pytest.mark.guest
FILES = ("partition_node.py", "audit_node.py", "audit-kubelet.yaml", "audit-pods.yaml")
MACHINES = ["2-sockets-16-cpus"]


@pytest.fixture(scope="module", params=one_boot("partitions", MACHINES))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Boot a machine once, and make all partitions in it."""
    result = run_in_guest(
        "python3 partition_node.py",
        CASES[request.param].machine,
        tmp_path_factory.mktemp("partitions"),
        share=[ROOT / "cpuctl", *(HERE / name for name in FILES)],
    )
    assert result.code == 0, result.stderr
    return result.out_dir


def kernel(folder: Path, name: str) -> dict[str, dict[str, str]]:
    reported: dict[str, dict[str, str]] = json.loads((folder / f"{name}.kernel").read_text())
    return reported


def found(folder: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    return by_code(json.loads((folder / f"{name}.audit").read_text()))


def test_without_partitions_nothing_is_found(folder: Path) -> None:
    assert found(folder, "before") == {}
    assert found(folder, "after") == {}


def test_an_invalid_partition_is_reported_with_the_kernels_reason(folder: Path) -> None:
    reported = kernel(folder, "invalid")["server"]["cpuset.cpus.partition"]
    (finding,) = found(folder, "invalid")["partition-invalid"]
    assert finding["detected"] == reported
    reason = reported.partition("(")[2].rstrip(")")
    assert reason
    assert reason in finding["message"]


def test_a_partition_among_pods_takes_cpus_from_its_ancestors(folder: Path) -> None:
    """Since Linux 6.7: lists of exclusive CPUs alone change nothing."""
    if "cpuset.cpus.exclusive" not in kernel(folder, "before")["server"]:
        assert not (folder / "idle.audit").exists()
        return
    assert {each["severity"] for each in found(folder, "idle")["exclusive-idle"]} == {"note"}
    assert len(found(folder, "idle")["exclusive-idle"]) == 3
    reported = kernel(folder, "remote")
    own = CPUSet.parse(reported["server"]["cpuset.cpus.exclusive.effective"])
    assert own
    assert own.isdisjoint(CPUSet.parse(reported["kubepods"]["cpuset.cpus.effective"]))
    (finding,) = found(folder, "remote")["partition"]
    assert f"it has taken CPUs {own} from " in finding["message"]
    assert "exclusive-idle" not in found(folder, "remote")


def test_a_partition_of_the_host_is_reported_as_the_cause_of_missing_cpus(folder: Path) -> None:
    reported = kernel(folder, "neighbour")
    lost = reported["greedy"]["cpuset.cpus.effective"]
    assert reported["greedy"]["cpuset.cpus.partition"] == "root"
    assert int(lost) not in CPUSet.parse(reported["front"]["cpuset.cpus.effective"])
    (finding,) = found(folder, "neighbour")["effective-differs"]
    assert f"because partition /greedy has taken CPU {lost}" in finding["message"]
    (finding,) = found(folder, "neighbour")["partition"]
    assert finding["path"] == "/greedy"


def test_proposed_commands_could_be_run(folder: Path) -> None:
    for file in folder.glob("*.failed"):
        assert json.loads(file.read_text()) == [], file.name


@pytest.mark.parametrize("name", ["before", "invalid", "idle", "remote", "neighbour"])
def test_the_kernels_values_are_shown(folder: Path, name: str) -> None:
    if not (folder / f"{name}.show").exists():
        return
    shown = {
        each["path"]: each["files"] for each in json.loads((folder / f"{name}.show").read_text())["groups"]
    }
    for file, text in kernel(folder, name)["kubepods"].items():
        if file in ("cpuset.cpus.partition", "cpuset.cpus.exclusive", "cpuset.cpus.exclusive.effective"):
            assert shown["/kubepods.slice"][file]["actual"] == text


def test_the_recording_gives_the_same_answers(folder: Path) -> None:
    words = ("audit", "-m", str(folder / "neighbour.tar.xz"), "--pods", str(folder / "pods.json"))
    done = subprocess.run(
        [sys.executable, "-m", "cpuctl", *words, "--check", "cpusets", "-q", "-o", "json"],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
    )
    live = json.loads((folder / "neighbour.audit").read_text())
    assert json.loads(done.stdout)["findings"] == live["findings"]
