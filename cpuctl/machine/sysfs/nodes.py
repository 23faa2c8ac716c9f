"""The NUMA nodes of a machine out of ``/sys/devices/system/node``.

Files: *Documentation/ABI/stable/sysfs-devices-node*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_distances, parse_meminfo
from cpuctl.machine.model import MAX_NUMA_NODES, NumaNode
from cpuctl.machine.sysfs.cpus import CPU_DIRECTORY
from cpuctl.machine.sysfs.kernel_files import KernelFiles
from cpuctl.machine.tree import Tree
from cpuctl.machine.wording import have, named

NODE_DIRECTORY = "sys/devices/system/node"


def read_nodes(files: KernelFiles, online: CPUSet) -> tuple[NumaNode, ...]:
    """Read every node that has a directory; a CPU that several nodes list belongs to the lowest.

    Where no node has one, links of the CPUs tell which nodes these are in, if there are any.
    Raise InputError for a file that makes no sense, and for more than MAX_NUMA_NODES nodes.
    """
    nodes: list[NumaNode] = []
    claimed = repeating = unlisted = CPUSet()
    node_ids = files.numbered(NODE_DIRECTORY, "node")
    if len(node_ids) > MAX_NUMA_NODES:
        message = f"found {len(node_ids)} NUMA nodes, expected at most {MAX_NUMA_NODES}"
        raise InputError(message, where=NODE_DIRECTORY)
    for node_id in node_ids:
        directory = f"{NODE_DIRECTORY}/node{node_id}"
        itself = CPUSet(1 << node_id)
        entries = files.numbered(directory, "cpu") & online
        listed = files.cpu_set(f"{directory}/", ("cpulist",), ("cpumap",))
        cpus = entries if listed is None else listed & online
        unlisted |= itself if listed is None else CPUSet()
        repeating |= CPUSet() if cpus.isdisjoint(claimed) else itself
        nodes.append(_read_node(files, node_id, cpus - claimed, entries))
        claimed |= cpus
    files.notes.extend(_notes(repeating, unlisted))
    return tuple(nodes) or _linked_nodes(files, online)


def _linked_nodes(files: KernelFiles, online: CPUSet) -> tuple[NumaNode, ...]:
    """Gather the nodes that directories of CPUs link to: ``cpu3/node1``."""
    linked: dict[int, int] = {}
    for cpu in online:
        for node_id in islice(files.numbered(f"{CPU_DIRECTORY}/cpu{cpu}", "node"), 1):
            linked[node_id] = linked.get(node_id, 0) | 1 << cpu
    if linked:
        files.notes.append(
            "Links of CPUs tell of NUMA nodes whose directories are missing: of others nothing is known."
        )
    return tuple(NumaNode(node_id, CPUSet(linked[node_id])) for node_id in sorted(linked))


def kernel_has_nodes(tree: Tree) -> bool | None:
    """Tell by other files than those of nodes whether the kernel has any; None where nothing tells.

    Kernels with CONFIG_NUMA have a bus of nodes (*drivers/base/node.c*) and count hits (*mm/vmstat.c*).
    """
    buses, counters = tree.names("sys/bus"), tree.read("proc/vmstat")
    if "node" in buses or tree.names(NODE_DIRECTORY) or tree.names("sys/kernel/mm/numa"):
        return True
    if counters:
        return "numa_hit" in counters
    # A recording of some buses only would have no reason to leave out nodes and to take CPUs.
    return False if "cpu" in buses else None


def _notes(repeating: CPUSet, unlisted: CPUSet) -> Iterator[str]:
    if repeating:
        listing = named(repeating, "NUMA node")
        yield f"CPUs of {listing} are listed by a lower node too: the lower one has them."
    if unlisted:
        yield f"{have(unlisted, 'NUMA node')} no list of CPUs: the entries in the directories tell."


def _read_node(files: KernelFiles, node_id: int, cpus: CPUSet, entries: CPUSet) -> NumaNode:
    directory = f"{NODE_DIRECTORY}/node{node_id}"
    memory = files.value(f"{directory}/meminfo", parse_meminfo)
    return NumaNode(
        id=node_id,
        cpus=cpus,
        memory_bytes=memory.total if memory else None,
        free_bytes=memory.free if memory else None,
        hugepages=read_hugepages(files, f"{directory}/hugepages", "nr_hugepages"),
        free_hugepages=read_hugepages(files, f"{directory}/hugepages", "free_hugepages"),
        distances=files.value(f"{directory}/distance", parse_distances) or (),
        directory_cpus=entries if entries and entries != cpus else None,
    )


def read_hugepages(files: KernelFiles, directory: str, counter: str) -> Mapping[int, int]:
    """Read one counter of every huge page size: pages by size in KiB."""
    pages: dict[int, int] = {}
    for name in files.tree.names(directory):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        if name == f"hugepages-{size}kB" and size.isascii() and size.isdecimal() and len(size) < 19:
            count = files.number(f"{directory}/{name}/{counter}")
            if count is not None:
                pages[int(size)] = count
    return dict(sorted(pages.items()))
