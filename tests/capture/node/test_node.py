from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.capture.node import node as cgroup_files
from cpuctl.cgroups.hierarchies import is_interface_file
from tests.capture.node_texts import KUBEPODS, POD, SCOPE, groups_v2, recorded

TOP = "sys/fs/cgroup/"


def groups(texts: dict[str, str]) -> dict[str, object]:
    """Record control groups only, by path below their mount point."""
    members = recorded(texts).members
    return {path.removeprefix(TOP): text for path, text in members.items() if path.startswith(TOP)}


def test_v2_keeps_the_values_of_every_group_of_the_kubelet() -> None:
    kept = groups(groups_v2())
    files = {
        "cpu.weight",
        "cpu.max",
        "cpuset.cpus.effective",
        "cpuset.cpus",
        "hugetlb.2MB.max",
        "memory.max",
    }
    below = {f"{group}/{name}" for group in ("kubepods.slice", KUBEPODS, POD, SCOPE) for name in files}
    assert set(kept) == below | {"cgroup.controllers", "cpuset.cpus.effective"}
    assert kept[f"{SCOPE}/cpuset.cpus"] == "1-2\n"


def test_v1_keeps_them_per_controller() -> None:
    pod = "kubepods/burstable/pod1"
    kept = groups(
        {
            f"{TOP}cpuset/cpuset.cpus": "0-7\n",
            f"{TOP}cpuset/{pod}/cpuset.cpus": "1\n",
            f"{TOP}cpuset/{pod}/tasks": "80\n",
            f"{TOP}cpu,cpuacct/{pod}/cpu.shares": "1024\n",
            f"{TOP}cpu,cpuacct/{pod}/cpuacct.usage": "9\n",
            f"{TOP}cpu/{pod}/cpu.shares": "1024\n",  # on a node, a link to the joined controllers
            f"{TOP}memory/{pod}/memory.limit_in_bytes": "4096\n",
            f"{TOP}blkio/{pod}/blkio.weight": "1\n",
        }
    )
    assert set(kept) == {
        "cpuset/cpuset.cpus",
        f"cpuset/{pod}/cpuset.cpus",
        f"cpu,cpuacct/{pod}/cpu.shares",
        f"memory/{pod}/memory.limit_in_bytes",
    }


def test_groups_of_the_host_with_their_own_cpus_are_recorded() -> None:
    """A partition among them takes its CPUs from all others."""
    lists = (
        "cpuset.cpus",
        "cpuset.cpus.partition",
        "cpuset.cpus.exclusive",
        "cpuset.cpus.exclusive.effective",
    )
    reported = {
        "machine.slice": ("3", "isolated", "3", "3"),
        "machine.slice/vm1.scope": ("", "member", "", ""),
        "system.slice": ("0-1", "member", "", "0-1"),
        "user.slice": ("", "member", "", "0-7"),
    }
    own = {
        f"{TOP}{group}/{name}": f"{text}\n"
        for group in reported
        for name, text in zip(lists, reported[group], strict=True)
    }
    kept = groups(groups_v2() | own)
    assert {path.partition("/")[0] for path in kept} - {"cgroup.controllers", "cpuset.cpus.effective"} == {
        "kubepods.slice",
        "machine.slice",
        "system.slice",
    }
    assert kept["machine.slice/cpuset.cpus.partition"] == "isolated\n"
    assert not [path for path in kept if "vm1" in path]


@dataclass(frozen=True)
class Layout:
    name: str
    file: str
    want: str


LAYOUTS = [
    Layout("v2", "cgroup.controllers", "cgroup version 2"),
    Layout("v1", "cpuset/cpuset.cpus", "cgroup version 1"),
    Layout("hybrid", "unified/cgroup.controllers", "cgroup version 1 and 2 (hybrid)"),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_version_is_named(layout: Layout) -> None:
    areas = {area.name: area for area in recorded({TOP + layout.file: ""}).areas}
    assert areas["cgroups"].notes == (layout.want,)


def test_kubepods_is_found_at_any_depth_with_the_sets_above_it() -> None:
    """As in kind, where a node is a container: the sets above limit those below."""
    inner = "docker/123/kubelet.slice/kubelet-kubepods.slice"
    kept = groups(
        {
            f"{TOP}cgroup.controllers": "cpuset\n",
            f"{TOP}docker/123/cpuset.cpus": "0-3\n",
            f"{TOP}docker/123/cpu.max": "max\n",
            f"{TOP}{inner}/cpuset.cpus": "0-1\n",
            f"{TOP}docker/456/cpuset.cpus": "0-3\n",
        }
    )
    assert set(kept) == {"cgroup.controllers", "docker/123/cpuset.cpus", f"{inner}/cpuset.cpus"}


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("cpuset.cpus", True),
        ("tasks", True),
        ("memory.max", True),
        ("kubepods.slice", False),
        ("cpu.slice", False),
        ("pod1234", False),
        ("init.scope", False),
    ],
)
def test_files_are_distinguished_from_groups(name: str, want: bool) -> None:
    assert is_interface_file(name) is want


def test_the_number_of_groups_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup_files, "MAX_CGROUPS", 2)
    area = {area.name: area for area in recorded(groups_v2()).areas}["cgroups"]
    assert area.counts == {"cgroups": 2}
    assert "only the first 2 kubelet cgroups are recorded" in area.notes


def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup_files, "MAX_VISITED", 2)
    area = {area.name: area for area in recorded(groups_v2()).areas}["cgroups"]
    assert area.counts == {"cgroups": 1}
    assert any("were checked" in note for note in area.notes)
