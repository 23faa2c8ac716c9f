"""Which CPUs the cgroups above pods have, by cgroup version, driver and root."""

from __future__ import annotations

import pytest

from cpuctl.cgroups.ceilings import ceilings, partitioned_cpus
from cpuctl.cgroups.hierarchies import find_hierarchies
from cpuctl.machine.tree import MemoryTree

ROOT = "sys/fs/cgroup"
V2 = {f"{ROOT}/cgroup.controllers": "cpuset cpu memory\n"}


def found(files: dict[str, str], cgroup_root: str = "/") -> list[tuple[str, str, str]]:
    tree = MemoryTree(files)
    at = find_hierarchies(tree)
    assert at is not None
    return [(path, str(cpus), owner) for path, cpus, owner in ceilings(tree, at, cgroup_root)]


@pytest.mark.parametrize(
    ("groups", "root", "reported"),
    [
        # Within LXC the root is the container's own cgroup.
        ({"": "0-5"}, "/", [("/", "0-5", "")]),
        ({"": "0-7", "/kubepods.slice": "0-5"}, "/", [("/kubepods.slice", "0-5", "")]),
        # A partition has CPUs that the root does not have.
        ({"": "0-3", "/kubepods": "4-7"}, "/", [("/kubepods", "4-7", "")]),
        ({"": "0-7", "/pods.slice": "0-3"}, "/pods", [("/pods.slice", "0-3", "")]),
        (
            {"": "0-7", "/pods.slice": "0-3", "/pods.slice/pods-kubepods.slice": "0-1"},
            "/pods",
            [("/pods.slice/pods-kubepods.slice", "0-1", "")],
        ),
        (
            {"/kubepods": "0-7", "/kubepods/burstable": "0-1", "/kubepods/besteffort": "7"},
            "",
            [("/kubepods", "0-7", ""), ("/kubepods/burstable", "0-1", "Burstable"),
             ("/kubepods/besteffort", "7", "BestEffort")],
        ),
        ({"": "0-x"}, "/", []),
        ({"": "0-3"}, "/odd_name", [("/", "0-3", "")]),
    ],
)  # fmt: skip
def test_groups_of_version_2(groups: dict[str, str], root: str, reported: list[tuple[str, str, str]]) -> None:
    files = V2 | {f"{ROOT}{path}/cpuset.cpus.effective": f"{cpus}\n" for path, cpus in groups.items()}
    assert found(files, root) == reported


def test_groups_of_version_1() -> None:
    files = {f"{ROOT}/cpuset/kubepods/cpuset.effective_cpus": "0-3\n", f"{ROOT}/cpuset/tasks": ""}
    assert found(files) == [("/kubepods", "0-3", "")]


@pytest.mark.parametrize(("text", "reported"), [("2-5\n", "2-5"), ("", ""), (None, "")])
def test_isolated_partitions(text: str | None, reported: str) -> None:
    tree = MemoryTree(V2 if text is None else V2 | {f"{ROOT}/cpuset.cpus.isolated": text})
    at = find_hierarchies(tree)
    assert at is not None
    assert str(partitioned_cpus(tree, at)) == reported
