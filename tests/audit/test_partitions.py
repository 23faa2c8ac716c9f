"""Partitions of CPUs: how the kernel treats them, as its documentation says, and whose CPUs they take."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from tests.audit.node_tree import OWN, POOL, NodeTree, clean_node
from tests.audit.test_faults import a_partition_of_a_neighbour, a_partition_of_reserved_cpus


def taken_by_a_neighbour(node: NodeTree) -> None:
    """Take CPU 3 from the shared pool and from its effective CPUs."""
    a_partition_of_a_neighbour(node)
    node.cpuset(node.front, cpus=POOL, effective="0,2,4,6-7")
    node.process(95, "nginx", node.front, "0,2,4,6-7")


def test_a_partition_next_to_the_kubelets_groups_is_reported_as_the_reason() -> None:
    node = clean_node()
    taken_by_a_neighbour(node)
    effective, partition = node.findings("cpusets")
    assert (effective.code, partition.code) == ("effective-differs", "partition")
    assert effective.message == (
        "the container is assigned CPUs 0,2-4,6-7, but the kernel lets it run on 0,2,4,6-7, "
        "because partition /machine.slice has taken CPU 3"
    )
    assert (
        effective.fix == partition.fix == "echo member > /sys/fs/cgroup/machine.slice/cpuset.cpus.partition"
    )
    assert partition.message == (
        "the group is a partition, which the kubelet never creates: it has taken CPU 3 from / "
        "and all groups outside, "
        "including CPU 3 of the shared pool"
    )


def test_a_partition_of_cpus_that_no_pod_may_have_is_not_a_finding() -> None:
    node = clean_node()
    a_partition_of_reserved_cpus(node)
    assert node.findings() == ()
    assert node.snapshot().partitions == {"/machine.slice": CPUSet.parse("4")}


def test_a_partition_inside_a_pod_takes_nothing_from_it() -> None:
    """As when systemd in a container creates one below its own cgroup: its CPUs are still the container's."""
    node = clean_node()
    below = f"{node.server}/init.scope"
    node.cpuset(node.server, cpus=OWN, effective="1", mems="0")
    node.cpuset(below, cpus="5", effective="5", mems="0")
    node.put("cpuset", below, "cpuset.cpus.partition", "root")
    (found,) = node.findings("cpusets")
    assert found.code == "partition"
    assert found.message.endswith(f"it has taken CPU 5 from {node.server} and all groups outside")


def test_lists_on_the_path_to_a_remote_partition_are_in_effect() -> None:
    """A remote partition needs them all the way from the root (cgroup-v2, since Linux 6.7)."""
    node = clean_node()
    for group in ("/kubepods.slice", node.server.rpartition("/")[0], node.server):
        node.put("cpuset", group, "cpuset.cpus.exclusive", OWN)
    idle = [each.place.path for each in node.findings("cpusets") if each.code == "exclusive-idle"]
    assert len(idle) == 3
    node.put("cpuset", node.server, "cpuset.cpus.exclusive.effective", OWN)
    node.put("cpuset", node.server, "cpuset.cpus.partition", "root")
    assert [each.code for each in node.findings("cpusets")] == ["partition"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_node_that_is_limited_to_fewer_cpus_from_outside_is_reported(version: int) -> None:
    """As in LXC: the cgroups above the node's root are not visible, but the root's effective CPUs are."""
    node = clean_node(version)
    name = "cpuset.cpus.effective" if version == 2 else "cpuset.effective_cpus"
    node.files[f"{node.at('cpuset')}/{name}"] = "0-4\n"
    node.cpuset(node.server, cpus=OWN, effective="1", mems="0")
    (found,) = node.findings("cpusets")
    assert found.message.endswith(", because this node's host allows it only 0-4")
    assert found.fix.startswith("cat /sys/fs/cgroup/")
