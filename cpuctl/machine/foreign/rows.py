"""A machine and the kubelet's view of it, built from rows of CPUs as other tools print them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.findings import note, topology_findings, warning, without_files
from cpuctl.machine.foreign.form import FormContent, MachineFact
from cpuctl.machine.machine_info import MachineInfo, kubelet_view
from cpuctl.machine.model import CPU, Cache, Machine, MachineFinding, NumaNode, distinct_caches
from cpuctl.phrases import named
from cpuctl.records import replace

_SAID_OF_FORMS = frozenset({"unrecorded-memory", "unrecorded-hugepages"})
"""Findings that would repeat what the form does not contain."""


class CPURow(NamedTuple):
    """One online CPU; None for what a tool does not print.

    CPUs with equal ``core``, which can be any value, are siblings; ``core_id`` is the number that a kubelet
    sees. ``package`` are the CPUs of the socket, if sockets may have no numbers.
    """

    cpu: int
    node: int | None = None
    socket: int | None = None
    package: CPUSet | None = None
    core: Hashable = None
    core_id: int | None = None
    die: int | None = None
    cluster: int | None = None
    book: int | None = None
    drawer: int | None = None
    capacity: int | None = None
    max_khz: int | None = None
    min_khz: int | None = None


class PrintedMachine(NamedTuple):
    """Everything in a file; ``memory_bytes`` is the total of the machine."""

    rows: Sequence[CPURow]
    nodes: Sequence[NumaNode] = ()
    caches: Iterable[Cache] = ()
    offline: CPUSet = CPUSet()
    performance: CPUSet | None = None
    efficiency: CPUSet | None = None
    memory_bytes: int | None = None
    model_name: str | None = None
    architecture: str | None = None


class ForeignMachine(NamedTuple):
    """A machine, the kubelet's view of it, and which parts of both the file contains."""

    machine: Machine
    info: MachineInfo
    content: FormContent


def nodes_of(rows: Iterable[CPURow]) -> tuple[NumaNode, ...]:
    """Collect the NUMA nodes in the rows; other nodes, and all memory, are unknown."""
    members: dict[int, int] = {}
    for row in rows:
        if row.node is not None:
            members[row.node] = members.get(row.node, 0) | 1 << row.cpu
    return tuple(NumaNode(node, CPUSet(members[node])) for node in sorted(members))


def build(printed: PrintedMachine, content: FormContent, source: str) -> ForeignMachine:
    """Build the machine; raise InputError if no CPU is online or parts contradict each other.

    What the file does not contain is unknown in the machine. What a kubelet could not start without is
    assumed in its view of the machine, and reported.
    """
    if not printed.rows:
        raise InputError("contains no online CPU, expected at least one", where=source)
    try:
        machine = _machine(printed, content.facts).checked()
    except ValueError as error:
        raise InputError(str(error), where=source) from None
    content = content._replace(
        assumed=tuple(_assumptions(machine, content.facts)),
        notes=(*content.notes, *_notes(machine, content.facts)),
    )
    completed = _completed(machine)
    info = kubelet_view(completed)
    unusual = (each for each in topology_findings(completed, info) if each.code not in _SAID_OF_FORMS)
    findings = (*_findings(content), *without_files(unusual))
    return ForeignMachine(replace(machine, findings=findings), info, content)


def _machine(printed: PrintedMachine, facts: Collection[MachineFact]) -> Machine:
    rows = sorted(printed.rows)
    siblings = _siblings(rows)
    online = CPUSet.of(row.cpu for row in rows)
    sizes = [node.memory_bytes for node in printed.nodes]
    together = None if None in sizes else sum(filter(None, sizes))
    return Machine(
        cpus=tuple(_cpu(row, siblings) for row in rows),
        numa_nodes=tuple(sorted(printed.nodes, key=lambda node: node.id)),
        caches=distinct_caches(cache for cache in printed.caches if cache.cpus),
        present=online | printed.offline if MachineFact.OFFLINE in facts else None,
        offline=printed.offline,
        performance_cpus=printed.performance,
        efficiency_cpus=printed.efficiency,
        memory_bytes=(together or None) if printed.memory_bytes is None else printed.memory_bytes,
        model_name=printed.model_name,
        architecture=printed.architecture,
        cores_known=MachineFact.CORES in facts,
        caches_known=MachineFact.CACHES in facts,
        hugepages_known=MachineFact.HUGE_PAGES in facts,
        numa_known=MachineFact.NUMA in facts,
    )


def _siblings(rows: Iterable[CPURow]) -> Mapping[Hashable, CPUSet]:
    cores: dict[Hashable, int] = {}
    for row in rows:
        cores[row.core] = cores.get(row.core, 0) | 1 << row.cpu
    return {core: CPUSet(mask) for core, mask in cores.items()}


def _cpu(row: CPURow, siblings: Mapping[Hashable, CPUSet]) -> CPU:
    return CPU(
        number=row.cpu,
        siblings=CPUSet(1 << row.cpu) if row.core is None else siblings[row.core],
        numa_node=row.node,
        package_id=row.socket,
        package_cpus=row.package,
        die_id=row.die,
        cluster_id=row.cluster,
        core_id=row.core_id,
        book_id=row.book,
        drawer_id=row.drawer,
        capacity=row.capacity,
        max_khz=row.max_khz,
        min_khz=row.min_khz,
    )


def _completed(machine: Machine) -> Machine:
    """Fill in what a kubelet reads on every machine, as ``_assumptions`` reports."""
    sockets = machine.socket_of
    numbers: dict[tuple[int | None, str], int] = {}
    caches = []
    for cache in machine.caches:
        key = cache.level, cache.kind
        numbers[key] = number = numbers.get(key, -1) + 1
        caches.append(
            cache._replace(
                id=number if cache.id is None else cache.id,
                size_bytes=1 if cache.size_bytes is None else cache.size_bytes,
            )
        )
    return replace(
        machine,
        cpus=tuple(_completed_cpu(cpu, sockets[cpu.number]) for cpu in machine.cpus),
        caches=tuple(caches),
    )


def _completed_cpu(cpu: CPU, socket: int | None) -> CPU:
    return cpu._replace(
        core_id=cpu.number if cpu.core_id is None else cpu.core_id,
        package_id=socket if socket is not None else cpu.numa_node or 0,
    )


def _assumptions(machine: Machine, facts: Collection[MachineFact]) -> Iterator[str]:
    if not machine.cores_known:
        yield "cores are not reported: every CPU is assumed to be a core"
    if unplaced := CPUSet.of(cpu for cpu, socket in machine.socket_of.items() if socket is None):
        owner = f" of {named(unplaced)}" if machine.sockets else ""
        instead = (
            "every NUMA node is assumed to be a socket"
            if machine.numa_nodes
            else "a single socket is assumed"
        )
        yield f"sockets{owner} are not reported: {instead}"
    if MachineFact.CACHE_IDS not in facts and machine.l3_groups:
        yield "cache IDs are not reported: all caches are assumed to have one, as on x86"


def _notes(machine: Machine, facts: Collection[MachineFact]) -> Iterator[str]:
    if MachineFact.MEMORY not in facts and machine.memory_bytes is not None and machine.numa_nodes:
        yield "total memory is assumed to be the sum of the NUMA nodes"


def _findings(content: FormContent) -> Iterator[MachineFinding]:
    missing, left_out = ", ".join(content.missing), ", ".join(content.leaves_out)
    yield note("not-described", "", f"read as {content.form.name}, which does not include {missing}")
    if left_out:
        yield note("left-out", "", f"this output does not include what {content.form.name} can: {left_out}")
    yield from (warning("assumed", "", each) for each in content.assumed)
    yield from (note("approximate", "", each) for each in content.notes)
