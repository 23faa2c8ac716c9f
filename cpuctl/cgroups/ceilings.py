"""The CPUs that control groups leave to pods: the groups above all pods, and above the pods of a class.

Files: *Documentation/admin-guide/cgroup-v2.rst* and *Documentation/admin-guide/cgroup-v1/cpusets.rst*.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cgroups.hierarchies import Hierarchies
from cpuctl.cgroups.names import KUBEPODS, QOS_COMPONENTS, Driver, group_path, root_components
from cpuctl.cpuset import CPUSet
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.machine.tree import Tree


def ceilings(tree: Tree, at: Hierarchies, cgroup_root: str) -> Iterator[tuple[str, CPUSet, str]]:
    """Yield groups with their CPUs and the class of their pods, an empty text for all pods of the node.

    Of the groups above all pods, only the lowest is included: a kernel leaves a group no more than it
    leaves those above it, except in a partition.
    """
    parts = (*root_components(cgroup_root), KUBEPODS)
    above = (_paths(parts[:end]) for end in range(len(parts), 0, -1))
    for path in [*(path for level in above for path in level), ""]:
        if cpus := _cpus(tree, at, path):
            yield path or "/", cpus, ""
            break
    for qos, component in QOS_COMPONENTS.items():
        for path in _paths((*parts, component)):
            if cpus := _cpus(tree, at, path):
                yield path, cpus, str(qos)


def partitioned_cpus(tree: Tree, at: Hierarchies) -> CPUSet:
    """Return the CPUs of isolated partitions: as with isolcpus, the kernel balances no threads over them."""
    return _read(tree, f"{at.cpuset}/cpuset.cpus.isolated") if at.version == 2 else CPUSet()


def _paths(components: tuple[str, ...]) -> Iterator[str]:
    for driver in Driver:
        try:
            yield group_path(components, driver)
        except ValueError:
            return


def _cpus(tree: Tree, at: Hierarchies, path: str) -> CPUSet:
    name = "cpuset.cpus.effective" if at.version == 2 else "cpuset.effective_cpus"
    return _read(tree, f"{at.cpuset}{path}/{name}") if at.cpuset else CPUSet()


def _read(tree: Tree, path: str) -> CPUSet:
    try:
        return parse_cpu_list(tree.read(path) or "")
    except ValueError:
        return CPUSet()
