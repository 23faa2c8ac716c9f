"""The report of ``dracpu gatherinfo``, what the DRA driver for CPUs knows about a node's CPUs, in YAML.

Source: ``kubernetes-sigs/dra-driver-cpu``, ``internal/gatherinfo`` (layout v1) and ``pkg/cpuinfo``: online
CPUs, each with its sibling if it has exactly one. A core is identified by socket, cluster and core id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.machine.findings import without_files
from cpuctl.machine.model import CPU_DIRECTORY, MAX_CPUS, MAX_NUMA_NODES, NODE_DIRECTORY, Machine
from cpuctl.machine.support.view import SupportArchive, not_collected
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from cpuctl.records import replace

_LAYOUT = "v1"
_UNKNOWN = -1
_MOST_IDS = 1 << 31


class _CPU(NamedTuple):
    """One entry; -1 is an id that the kernel does not report."""

    number: int
    socket: int
    cluster: int
    core: int
    node: int
    cache: int
    kind: str


def read_gatherinfo(data: bytes, source: str) -> tuple[Machine, SupportArchive]:
    """Read the report of one node; raise InputError with its place for anything else."""
    documents = load_documents(data, source)
    if len(documents) > 1:
        raise InputError(f"contains the reports of {len(documents)} nodes, expected one", where=source)
    root = Cursor.at_root(documents[0])
    layout = root.required("layoutVersion")
    if layout.text() != _LAYOUT:
        raise layout.expected(_LAYOUT)
    listed = root.required("cpuDetails").required("cpus")
    cpus = [_cpu(item) for item in listed.items()]
    if not cpus or len({cpu.number for cpu in cpus}) < len(cpus):
        raise listed.error("expected CPUs, each listed once")
    tree = MemoryTree(dict(_files(cpus)))
    machine = read_machine_files(tree)
    gathered = SupportArchive("a report of dracpu gatherinfo")
    findings = (*machine.findings, *not_collected(machine, tree, gathered))
    return replace(machine, findings=without_files(findings)), gathered


def _cpu(item: Cursor) -> _CPU:
    return _CPU(
        number=item.required("cpuID").integer(minimum=0, maximum=MAX_CPUS - 1),
        socket=item.required("socketID").integer(minimum=0, maximum=_MOST_IDS),
        cluster=item.optional("clusterID", _id, _UNKNOWN),
        core=item.required("coreID").integer(minimum=0, maximum=_MOST_IDS),
        node=item.required("numaNodeID").integer(minimum=0, maximum=MAX_NUMA_NODES - 1),
        cache=item.optional("uncoreCacheID", _id, _UNKNOWN),
        kind=item.optional("coreType", Cursor.text, ""),
    )


def _id(value: Cursor) -> int:
    return value.integer(minimum=_UNKNOWN, maximum=_MOST_IDS)


def _files(cpus: list[_CPU]) -> Iterator[tuple[str, str]]:
    """Yield the files in which a kernel would report the same."""
    cores: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    caches: dict[int, list[int]] = defaultdict(list)
    nodes: dict[int, list[int]] = defaultdict(list)
    for cpu in cpus:
        cores[cpu.socket, cpu.cluster, cpu.core].append(cpu.number)
        caches[cpu.cache].append(cpu.number)
        nodes[cpu.node].append(cpu.number)
    yield f"{CPU_DIRECTORY}/online", str(CPUSet.of(cpu.number for cpu in cpus))
    for cpu in cpus:
        directory = f"{CPU_DIRECTORY}/cpu{cpu.number}"
        topology = f"{directory}/topology"
        yield f"{topology}/physical_package_id", str(cpu.socket)
        yield f"{topology}/core_id", str(cpu.core)
        yield f"{topology}/thread_siblings_list", str(CPUSet.of(cores[cpu.socket, cpu.cluster, cpu.core]))
        if cpu.cluster != _UNKNOWN:
            yield f"{topology}/cluster_id", str(cpu.cluster)
        if cpu.cache != _UNKNOWN:
            cache = f"{directory}/cache/index3"
            yield f"{cache}/level", "3"
            yield f"{cache}/type", "Unified"
            yield f"{cache}/id", str(cpu.cache)
            yield f"{cache}/shared_cpu_list", str(CPUSet.of(caches[cpu.cache]))
    for node, members in nodes.items():
        yield f"{NODE_DIRECTORY}/node{node}/cpulist", str(CPUSet.of(members))
    for kind, file in (("p-core", "cpu_core"), ("e-core", "cpu_atom")):
        if members := [cpu.number for cpu in cpus if cpu.kind == kind]:
            yield f"sys/devices/{file}/cpus", str(CPUSet.of(members))
