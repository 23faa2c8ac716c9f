"""Reading control groups: both versions, as the kernel writes them."""

from __future__ import annotations

import pytest

from cpuctl.cgroups.groups import Cgroup, CpusetValues, CpuValues, MemoryValues, PagesUsed, read_groups
from cpuctl.cgroups.hierarchies import Hierarchies, find_hierarchies
from cpuctl.cgroups.names import Level
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.tree import MemoryTree

ROOT = "sys/fs/cgroup"
POD = "kubepods.slice/kubepods-pod1.slice"
CONTAINER = f"{POD}/cri-containerd-{'ab' * 32}.scope"

V2 = {
    f"{ROOT}/cgroup.controllers": "cpuset cpu memory\n",
    f"{ROOT}/cpuset.cpus.effective": "0-15\n",
    f"{ROOT}/system.slice/cpuset.cpus": "\n",
    f"{ROOT}/kubepods.slice/cpuset.cpus": "\n",
    f"{ROOT}/kubepods.slice/cpuset.cpus.effective": "0-15\n",
    f"{ROOT}/{POD}/cpu.max": "400000 100000\n",
    f"{ROOT}/{POD}/cpu.weight": "157\n",
    f"{ROOT}/{CONTAINER}/cpuset.cpus": "2-3,8\n",
    f"{ROOT}/{CONTAINER}/cpuset.cpus.effective": "2-3\n",
    f"{ROOT}/{CONTAINER}/cpuset.cpus.partition": "isolated invalid (Parent is not a partition root)\n",
    f"{ROOT}/{CONTAINER}/cpuset.mems": "0\n",
    f"{ROOT}/{CONTAINER}/cpuset.mems.effective": "0\n",
    f"{ROOT}/{CONTAINER}/cpu.max": "max 100000\n",
    f"{ROOT}/{CONTAINER}/memory.max": "1073741824\n",
    f"{ROOT}/{CONTAINER}/memory.min": "0\n",
    f"{ROOT}/{CONTAINER}/memory.high": "max\n",
    f"{ROOT}/{CONTAINER}/hugetlb.2MB.max": "4194304\n",
    f"{ROOT}/{CONTAINER}/hugetlb.1GB.max": "max\n",
    f"{ROOT}/{CONTAINER}/hugetlb.2MB.rsvd.max": "max\n",
}

V1 = {
    f"{ROOT}/cpuset/{CONTAINER}/cpuset.cpus": "2-3\n",
    f"{ROOT}/cpuset/{CONTAINER}/cpuset.effective_cpus": "2\n",
    f"{ROOT}/cpuset/{CONTAINER}/cpuset.mems": "0,1\n",
    f"{ROOT}/cpu,cpuacct/{CONTAINER}/cpu.shares": "2048\n",
    f"{ROOT}/cpu,cpuacct/{CONTAINER}/cpu.cfs_quota_us": "-1\n",
    f"{ROOT}/cpu,cpuacct/{CONTAINER}/cpu.cfs_period_us": "100000\n",
    f"{ROOT}/cpu": None,
    f"{ROOT}/memory/{CONTAINER}/memory.limit_in_bytes": "9223372036854771712\n",
    f"{ROOT}/hugetlb/{CONTAINER}/hugetlb.2MB.limit_in_bytes": "0\n",
    f"{ROOT}/unified/cgroup.procs": "\n",
}


def groups(files: dict[str, str | None]) -> dict[str, Cgroup]:
    tree = MemoryTree(files)
    hierarchies = find_hierarchies(tree)
    assert hierarchies is not None
    return {group.path: group for group in read_groups(tree, hierarchies).kubelet}


def test_version_2_is_one_hierarchy() -> None:
    found = find_hierarchies(MemoryTree({f"{ROOT}/cgroup.controllers": "cpuset"}))
    assert found == Hierarchies(version=2, cpuset=ROOT, cpu=ROOT, memory=ROOT, hugetlb=ROOT)


def test_hybrid_counts_as_version_1_and_joined_controllers_are_found() -> None:
    found = find_hierarchies(MemoryTree(dict(V1)))
    assert found == Hierarchies(
        version=1,
        cpuset=f"{ROOT}/cpuset",
        cpu=f"{ROOT}/cpu,cpuacct",
        memory=f"{ROOT}/memory",
        hugetlb=f"{ROOT}/hugetlb",
        hybrid=True,
    )


@pytest.mark.parametrize("files", [{}, {f"{ROOT}/systemd/cgroup.procs": "1"}])
def test_a_node_without_controllers_has_none(files: dict[str, str | None]) -> None:
    assert find_hierarchies(MemoryTree(files)) is None


def test_version_2_values() -> None:
    group = groups(dict(V2))[f"/{CONTAINER}"]
    assert group.role.level is Level.CONTAINER
    assert group.cpuset == CpusetValues(
        cpus=CPUSet.parse("2-3,8"),
        effective=CPUSet.parse("2-3"),
        mems=CPUSet.parse("0"),
        effective_mems=CPUSet.parse("0"),
        partition="isolated invalid (Parent is not a partition root)",
    )
    assert group.cpu == CpuValues(quota=None, period=100000)
    assert group.memory == MemoryValues(limit=1 << 30, minimum=0, hugepages={2 << 20: 4 << 20, 1 << 30: None})
    assert group.parent == f"/{POD}"


def test_version_1_values() -> None:
    group = groups(dict(V1))[f"/{CONTAINER}"]
    assert group.cpuset == CpusetValues(
        cpus=CPUSet.parse("2-3"), effective=CPUSet.parse("2"), mems=CPUSet.parse("0-1")
    )
    assert group.cpu == CpuValues(shares=2048, quota=None, period=100000)
    assert group.memory == MemoryValues(limit=None, hugepages={2 << 20: 0})


def test_parents_come_first_and_other_groups_are_left_out() -> None:
    assert list(groups(dict(V2))) == ["/kubepods.slice", f"/{POD}", f"/{CONTAINER}"]
    assert groups(dict(V2))[f"/{POD}"].cpu == CpuValues(weight=157, quota=400000, period=100000)


@pytest.mark.parametrize(
    ("name", "text"), [("cpuset.cpus", "0-x"), ("cpu.weight", "heavy"), ("memory.max", "1" * 30)]
)
def test_text_that_no_kernel_writes_is_an_error_with_its_place(name: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        groups({**V2, f"{ROOT}/{CONTAINER}/{name}": text})
    assert name in caught.value.where


@pytest.mark.parametrize(
    ("root", "usage", "stat"),
    [
        (ROOT, "current", "total=6291456 N0=2097152 N1=4194304"),
        (
            f"{ROOT}/hugetlb",
            "usage_in_bytes",
            "total=2097152 N0=2097152 N1=0\nhierarchical_total=6291456 N0=2097152 N1=4194304",
        ),
    ],
    ids=["v2", "v1"],
)
def test_huge_pages_in_use_are_listed_by_node(root: str, usage: str, stat: str) -> None:
    """Including those of the cgroups below; before Linux 5.17 there is no such file."""
    file = f"{root}/{CONTAINER}/hugetlb.2MB"
    files = {**(V2 if root == ROOT else V1), f"{file}.{usage}": "6291456\n"}
    page = 2 << 20
    assert groups(files)[f"/{CONTAINER}"].memory.hugepages_used == {page: PagesUsed(3 * page)}
    files[f"{file}.numa_stat"] = f"{stat}\n"
    used = groups(files)[f"/{CONTAINER}"].memory.hugepages_used
    assert used == {page: PagesUsed(3 * page, {0: page, 1: 2 * page})}
