"""A machine as its kernel describes it: sysfs and procfs files to one ``Machine``.

Files: *Documentation/ABI/testing/sysfs-kernel-mm-hugepages*, and for hybrid CPUs
*tools/perf/Documentation/intel-hybrid.txt*; the others are those of the readers that are put together here.
"""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.machine.findings import machine_findings
from cpuctl.machine.kernel_text import ProcessorSummary, parse_cpuinfo, parse_meminfo, parse_word
from cpuctl.machine.model import Machine, NumaNode
from cpuctl.machine.sysfs.caches import read_caches
from cpuctl.machine.sysfs.cpus import read_cpu_states, read_cpus
from cpuctl.machine.sysfs.kernel_files import KernelFiles
from cpuctl.machine.sysfs.nodes import NODE_DIRECTORY, kernel_has_nodes, read_hugepages, read_nodes
from cpuctl.machine.tree import Tree

_L3 = 3
_MEMORY_MANAGEMENT = "sys/kernel/mm"
_HUGEPAGES = f"{_MEMORY_MANAGEMENT}/hugepages"


def read_machine_files(tree: Tree) -> Machine:
    """Read the machine that a tree with ``sys`` and ``proc`` describes.

    Only the CPU directory is needed; what else is absent is None or empty in the machine. Raise InputError,
    with the path inside the tree, for a file that makes no sense and for an online CPU that cannot be read.
    """
    files = KernelFiles(tree)
    states = read_cpu_states(files)
    nodes = read_nodes(files, states.online)
    caches = read_caches(files, states.online)
    memory = files.value("proc/meminfo", parse_meminfo)
    numa_known = bool(nodes) or _tells_of_nodes(files)
    processor = files.large_value("proc/cpuinfo", parse_cpuinfo) or ProcessorSummary()
    machine = Machine(
        cpus=read_cpus(files, states.online, {cpu: node.id for node in nodes for cpu in node.cpus}),
        numa_nodes=nodes,
        caches=caches,
        present=states.present,
        possible=states.possible,
        offline=states.offline,
        isolated=states.isolated,
        nohz_full=states.nohz_full,
        performance_cpus=files.cpu_list("sys/devices/cpu_core/cpus"),
        efficiency_cpus=files.cpu_list("sys/devices/cpu_atom/cpus"),
        memory_bytes=memory.total if memory else None,
        hugepages=read_hugepages(files, _HUGEPAGES, "nr_hugepages"),
        cpuinfo_sockets=processor.sockets,
        model_name=processor.model_name,
        architecture=files.value("proc/sys/kernel/arch", parse_word),
        caches_known=any(cache.level is not None for cache in caches)
        and all(cache.told for cache in caches if cache.level == _L3),
        hugepages_known=_tells_hugepages(tree, nodes, numa_known=numa_known),
        numa_known=numa_known,
    ).checked()
    return machine._replace(findings=(*files.notes, *machine_findings(machine)))


def _tells_of_nodes(files: KernelFiles) -> bool:
    """Tell whether it is known that the kernel has no NUMA nodes; note where it has, and they are missing."""
    has_nodes = kernel_has_nodes(files.tree)
    if has_nodes:
        files.notes.append(
            "The kernel has NUMA nodes, as other files tell: what is recorded of the machine lacks them."
        )
    return has_nodes is False


def _tells_hugepages(tree: Tree, nodes: Iterable[NumaNode], *, numa_known: bool) -> bool:
    """Tell whether the huge pages of all nodes are known; a kernel built without them shows other files."""
    others = tree.names(_MEMORY_MANAGEMENT)
    if others and "hugepages" not in others:
        return True
    return numa_known and all(tree.names(f"{NODE_DIRECTORY}/node{node.id}/hugepages") for node in nodes)
