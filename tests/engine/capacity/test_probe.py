"""Probe pods, and the nodes that they are tried on."""

from __future__ import annotations

from itertools import islice

from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.capacity import largest_request
from cpuctl.engine.capacity.probe import copies_of, exclusive_pod, free_cpus, settled
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from tests.support.capacity_nodes import GIB, MACHINE, exclusive, kubelet, named, node_with, shared, whole


def test_a_probe_is_named_probe() -> None:
    probe = exclusive_pod(node_with(), 3)
    assert (probe.name, probe.uid, [each.name for each in probe.containers]) == (
        "probe",
        "probe-0",
        ["probe"],
    )


def test_copies_have_uids_that_are_new_to_the_node() -> None:
    """Running pods may already have these UIDs."""
    node = node_with(exclusive("probe-0", 1), exclusive("probe-2", 1))
    copies = list(islice(copies_of(node, shared("a")), 3))
    assert [(each.name, each.uid) for each in copies] == [
        ("a", "probe-1"),
        ("a", "probe-3"),
        ("a", "probe-4"),
    ]


def test_the_last_byte_of_memory_is_enough_for_cpus() -> None:
    """A node that is nearly out of memory still has exclusive CPUs, and the probe measures only those."""
    node = settled(node_with(shared("a", f"memory={32 * GIB - 1}")))
    assert largest_request(node).cpus == 15


def test_cpus_that_a_rejected_pod_was_given_are_free_again() -> None:
    """Its first container gets CPUs before the second is rejected; a kubelet takes them back later."""
    node = node_with(reported=kubelet("single-numa-node"))
    refused = node.admit(named("a", whole(2, "first"), whole(5, "second")))
    assert not isinstance(refused.verdict, Admitted)
    assert str(CPUSet(free_cpus(node))) == "3-15"
    assert str(CPUSet(free_cpus(settled(node)))) == "1-15"
    assert str(CPUSet(free_cpus(node))) == "3-15"


def test_without_a_static_policy_no_cpu_can_become_exclusive() -> None:
    node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=KubeletConfiguration()))
    assert isinstance(node, Node)
    assert free_cpus(node) == 0
