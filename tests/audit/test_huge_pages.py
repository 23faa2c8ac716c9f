"""Huge pages: the Memory Manager's accounting against the kernel's free pages (kubernetes issue 134395)."""

from __future__ import annotations

import pytest

from cpuctl.audit.checks import unchecked
from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryStateFile, MemoryTable
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, NodeTree, clean_node
from tests.machine.sysfs_writer import NODE_DIR

HUGE, MI = "hugepages-2Mi", 1 << 20
POOL_FILES = f"{NODE_DIR}/node{{}}/hugepages/hugepages-2048kB"


def allocation(node: NodeTree, mib: int, *nodes: int) -> None:
    """Assign the database huge pages in the Memory Manager's state."""
    block = MemoryBlock(numa_affinity=nodes or (0,), type=HUGE, size=mib * MI)
    node.memory = MemoryStateFile(policy_name="Static", entries={DATABASE: {"server": (block,)}})
    mems = ",".join(map(str, nodes or (0,)))
    node.cpuset(node.server, cpus="1,5", mems=mems)


def uses(node: NodeTree, group: str, *by_node: int, reported: bool = True) -> None:
    """Let a cgroup use some MiB of each NUMA node, and reduce the nodes' free pages by that."""
    amounts = [mib * MI for mib in by_node]
    usage = "current" if node.version == 2 else "usage_in_bytes"
    node.put("hugetlb", group, f"hugetlb.2MB.{usage}", str(sum(amounts)))
    if reported:
        nodes = "".join(f" N{number}={amount}" for number, amount in enumerate(amounts))
        text = f"total={sum(amounts)}{nodes}"
        node.put(
            "hugetlb",
            group,
            "hugetlb.2MB.numa_stat",
            f"total=0 N0=0\nhierarchical_{text}" * (node.version == 1) or text,
        )


def free(node: NodeTree, *pages: int) -> None:
    """Set how many of the eight pages of each NUMA node are free."""
    for number, count in enumerate(pages):
        node.files[f"{POOL_FILES.format(number)}/free_hugepages"] = f"{count}\n"


def taken(node: NodeTree) -> None:
    """Plant the issue's case: 12Mi are assigned on node 0, and a Burstable pod uses half of its 16Mi."""
    allocation(node, 12)
    uses(node, node.server, 0, 0)
    uses(node, node.front, 8, 0)
    free(node, 4, 8)


def another_number(node: NodeTree) -> None:
    """Add a page to node 1 after the kubelet has counted."""
    allocation(node, 2)
    free(node, 8, 9)
    table = MemoryTable(total=16 * MI, system_reserved=0, allocatable=16 * MI, reserved=0, free=16 * MI)
    tables = {number: MemoryNode(1, {HUGE: table}, (number,)) for number in (0, 1)}
    assert node.memory
    node.memory = replace(node.memory, machine_state=tables)
    node.files[f"{POOL_FILES.format(1)}/nr_hugepages"] = "9\n"
    node.files[f"{POOL_FILES.format(1)}/surplus_hugepages"] = "1\n"


@pytest.mark.parametrize("version", [1, 2])
def test_assigned_pages_used_by_a_burstable_pod(version: int) -> None:
    node = clean_node(version)
    taken(node)
    (finding,) = node.findings()
    assert finding.code == "huge-pages-taken"
    assert finding.message == (
        "containers are guaranteed 12Mi and have 0 of it, but only 8Mi are free: shop/web-0 (8Mi) has taken "
        "pages; pods that are not Guaranteed are not tracked (kubernetes issue 134395)"
    )
    assert finding.place.subject == "hugepages-2Mi on NUMA node 0"


def test_pages_that_a_container_uses_already_are_not_needed_again() -> None:
    node = clean_node()
    taken(node)
    uses(node, node.server, 8, 0)
    free(node, 2, 8)
    assert node.findings() == ()
    # Pages that it has elsewhere, which it was not assigned, do not count.
    uses(node, node.server, 4, 4)
    assert node.codes() == ["huge-pages-taken"]


def test_pages_assigned_on_several_nodes_count_together() -> None:
    node = clean_node()
    allocation(node, 24, 0, 1)
    uses(node, node.server, 4, 4)
    uses(node, node.front, 0, 0)
    free(node, 2, 6)
    assert node.findings() == ()
    free(node, 2, 5)
    node.files["sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages"] = "3\n"
    (finding,) = node.findings()
    assert (finding.expected, finding.detected) == ("16Mi free", "14Mi free")
    assert "who uses the rest is unknown; 3 of the free pages of the machine are reserved" in (
        finding.message
    )


def test_a_container_that_has_ended_needs_nothing() -> None:
    node = clean_node()
    taken(node)
    assert node.memory
    blocks = node.memory.entries[DATABASE]["server"]
    node.memory = replace(node.memory, entries={DATABASE: {"init-data": blocks}})
    node.cpuset(node.server, cpus="1,5")
    assert node.codes("hugepages") == []


def missing(node: NodeTree) -> list[str]:
    return [each.missing for each in unchecked(node.snapshot(), ["hugepages"])]


def test_pages_that_older_kernels_do_not_locate_are_reported() -> None:
    """Before Linux 5.17 a cgroup's pages are known, but not their nodes: they may be the assigned ones."""
    node = clean_node()
    taken(node)
    uses(node, node.front, 8, 0, reported=False)
    del node.files[f"{node.at('hugetlb')}{node.server}/hugetlb.2MB.numa_stat"]
    assert node.codes("hugepages") == ["huge-pages-taken"]
    node.put("hugetlb", node.server, "hugetlb.2MB.current", str(6 * MI))
    assert node.codes("hugepages") == []
    assert missing(node) == [
        (
            "huge pages in use: how much is left of hugepages-2Mi on NUMA node 0 for pods with guaranteed "
            "huge pages is unknown"
        )
    ]
    free(node, 6, 8)
    assert missing(node) == []


def test_without_the_free_pages_nothing_is_reported() -> None:
    node = clean_node()
    taken(node)
    del node.files[f"{POOL_FILES.format(0)}/free_hugepages"]
    assert node.codes("hugepages") == []
    assert len(missing(node)) == 1


def test_surplus_pages_are_reported_if_the_state_has_fewer() -> None:
    node = clean_node()
    another_number(node)
    (finding,) = node.findings()
    assert finding.code == "huge-pages-differ"
    assert finding.message == (
        "the Memory Manager's state has 8 pages and the kernel 9, 1 of them surplus pages, which are freed "
        "when no longer used: the kubelet would not start with it"
    )


def test_a_missing_memory_state_is_not_clean() -> None:
    node = clean_node()
    node.memory = None
    assert missing(node) == ["the kubelet's memory_manager_state: which huge pages are guaranteed is unknown"]
    node.configured = node.configured._replace(memory_policy="None")
    assert missing(node) == []
    for path in [path for path in node.files if path.startswith("sys/fs/cgroup/")]:
        del node.files[path]
    assert missing(node) == ["cgroups: the settings of containers are unknown"]


@pytest.mark.parametrize("name", ["hugepages-16Mi", "hugepages-x"])
def test_pages_of_a_size_that_the_machine_does_not_have_are_reported(name: str) -> None:
    node = clean_node()
    another_number(node)
    assert node.memory
    table = node.memory.machine_state[0].memory_map[HUGE]
    node.memory = replace(node.memory, machine_state={0: MemoryNode(1, {name: table}, (0,))})
    (finding,) = node.findings()
    assert (finding.code, str(finding.place)) == ("huge-pages-differ", f"{name} on NUMA node 0")
    assert "of a size that this machine does not have" in finding.message
    assert "checkpoint repair" in finding.fix
