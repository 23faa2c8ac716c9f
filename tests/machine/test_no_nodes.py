"""Trees without directories of NUMA nodes: of a kernel without them, or of an incomplete recording."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.machine.sources import MachineSource, read_machine_tree
from cpuctl.machine.tree import MemoryTree
from tests.machine.sysfs_writer import small_machine

CPUS = {
    path: text
    for path, text in small_machine("2s2n2c2t,mem=8Gi").items()
    if not path.startswith(("sys/devices/system/node", "sys/bus"))
}
BY_PACKAGES = "the kubelet treats packages as NUMA nodes and counts 2 NUMA nodes (IDs 0, 1)"
WITHOUT = f"the kernel shows no NUMA nodes: {BY_PACKAGES}, without memory for its Memory Manager"
OPEN = (
    "NUMA nodes are not recorded: they are counted as on a kernel without NUMA support, where "
    f"{BY_PACKAGES}; their CPUs and memory are unknown"
)
MISSING = "other files show that the kernel has NUMA nodes, but they are missing from the recording"


def read(more: Mapping[str, str | None]) -> MachineSource:
    return read_machine_tree(MemoryTree({**CPUS, **more}), "here")


def messages(source: MachineSource) -> list[str]:
    return [finding.message for finding in source.machine.findings]


@pytest.mark.parametrize(
    "more",
    [
        {"sys/bus/cpu/uevent": ""},
        {"sys/bus/cpu": None, "sys/bus/pci": None},
        {"proc/vmstat": "nr_free_pages 7\n"},
    ],
)
def test_a_kernel_without_numa_nodes(more: Mapping[str, str | None]) -> None:
    """``drivers/base/node.c`` creates the bus, ``mm/vmstat.c`` the hit counters, only with CONFIG_NUMA."""
    source = read(more)
    assert WITHOUT in messages(source)
    assert [(node.id, node.memory_bytes, node.memory_known) for node in source.info.nodes] == [
        (0, 0, True),
        (1, 0, True),
    ]
    assert source.info.hugepages_known


@pytest.mark.parametrize("more", [{}, {"sys/bus/pci/devices/x": None}, {"proc/vmstat": ""}])
def test_a_recording_without_any_sign_of_nodes(more: Mapping[str, str | None]) -> None:
    """A kubelet would use packages; the nodes' memory and huge pages are unknown, not 0."""
    source = read(more)
    assert OPEN in messages(source)
    assert MISSING not in messages(source)
    assert source.info.nodes_without_memory == (0, 1)
    assert not source.info.hugepages_known


@pytest.mark.parametrize(
    "more",
    [
        {"sys/bus/node": None, "sys/bus/cpu": None},
        {"proc/vmstat": "nr_free_pages 7\nnuma_hit 9\n"},
        {"sys/devices/system/node/possible": "0-1\n"},
        {"sys/kernel/mm/numa/demotion_enabled": "false\n"},
    ],
)
def test_a_recording_with_signs_of_nodes_but_without_their_directories(
    more: Mapping[str, str | None],
) -> None:
    stated = messages(read(more))
    assert MISSING in stated
    assert OPEN in stated


def test_links_show_the_cpus_of_nodes() -> None:
    """Every CPU's directory has a link to its node's (*Documentation/admin-guide/cputopology.rst*)."""
    links = {f"sys/devices/system/cpu/cpu{cpu}/node{cpu // 4}": None for cpu in range(8)}
    source = read(links)
    assert [(node.id, str(node.cpus)) for node in source.machine.numa_nodes] == [(0, "0-3"), (1, "4-7")]
    assert source.info.nodes_without_memory == (0, 1)
    assert (
        "links of CPUs point to NUMA nodes whose directories are missing: other NUMA nodes are unknown"
        in (messages(source))
    )
    assert not source.info.hugepages_known
