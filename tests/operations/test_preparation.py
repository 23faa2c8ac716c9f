"""The preparation of an apply: where it may write, and whose threads it checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.cgroups.hierarchies import Hierarchies
from cpuctl.cgroups.writes import CPUS, PlannedWrite
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.operations.cgroups.preparation import occupied, require_kernel
from tests.audit.node_tree import DATABASE, clean_node
from tests.cli.group_node import V1, real_kernel


def test_threads_below_a_container_are_checked_if_they_inherit_its_cpus() -> None:
    """As with crun on v2: the processes are in a cgroup below the container's, which has no list."""
    node = clean_node()
    for group, cpus in (("container", ""), ("container/deep", ""), ("own", "5"), ("own/deep", "")):
        node.cpuset(f"{node.server}/{group}", cpus=cpus)
    pod = node.container(DATABASE, "x").rpartition("/")[0]
    writes = [PlannedWrite(path, CPUS, "", "1-2", "make room") for path in (node.server, pod)]
    assert occupied(writes, node.snapshot()) == dict.fromkeys(
        (node.server, f"{node.server}/container", f"{node.server}/container/deep"), CPUSet.parse("1-2")
    )


@real_kernel
def test_quotas_are_written_only_to_a_real_hierarchy(tmp_path: Path) -> None:
    """The hierarchy with the CPU sets may be the kernel's, while the other one is files in a directory."""
    (tmp_path / "cpu").mkdir()
    cpuset, cpu = (str(each).lstrip("/") for each in (V1, tmp_path / "cpu"))
    at = Hierarchies(version=1, cpuset=cpuset, cpu=cpu, memory="", hugetlb="")
    snapshot = clean_node(version=1).snapshot()._replace(hierarchies=at)
    assert require_kernel(Path("/"), snapshot, quota=False) == at
    with pytest.raises(InputError, match=r"expected the kernel's cgroup file system \(cgroup\)"):
        require_kernel(Path("/"), snapshot, quota=True)


@pytest.mark.parametrize("target", ["/proc", "../../../../../proc"])
def test_the_hosts_own_groups_are_never_used_as_a_nodes(target: str, tmp_path: Path) -> None:
    """A link below the root starts at the root: it does not lead to the cgroups of this host."""
    root = tmp_path / "root"
    (root / "sys/fs").mkdir(parents=True)
    (root / "sys/fs/cgroup").symlink_to(target)
    at = Hierarchies(version=2, cpuset="sys/fs/cgroup", cpu="sys/fs/cgroup", memory="", hugetlb="")
    snapshot = clean_node().snapshot()._replace(hierarchies=at)
    with pytest.raises(InputError, match="is a link to"):
        require_kernel(root, snapshot, quota=False)


def test_the_hierarchy_of_the_cpu_sets_is_named_first(tmp_path: Path) -> None:
    at = Hierarchies(version=1, cpuset="sys/fs/cgroup/cpuset", cpu="sys/fs/cgroup/cpu", memory="", hugetlb="")
    snapshot = clean_node(version=1).snapshot()._replace(hierarchies=at)
    with pytest.raises(InputError) as refused:
        require_kernel(tmp_path, snapshot, quota=True)
    assert refused.value.where.endswith("/cpuset")
