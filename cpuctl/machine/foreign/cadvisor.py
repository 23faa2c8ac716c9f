"""cAdvisor's machine information as JSON: the kubelet's own input, recorded (``/api/v1.3/machine``).

Field names: cAdvisor ``info/v1/machine.go``. The file yields the kubelet's view as given and, as far as it
contains it, the kernel's.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.errors import InputError
from cpuctl.machine.findings import note, topology_findings, without_files
from cpuctl.machine.foreign.form import CADVISOR, FormContent, MachineFact
from cpuctl.machine.foreign.rows import ForeignMachine
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from cpuctl.machine.model import CPU, MAX_CPUS, Cache, Machine, NumaNode, distinct_caches
from cpuctl.records import replace

_LARGEST = (1 << 63) - 1
_NOTE = note(
    "cadvisor",
    "",
    "read from cAdvisor's machine information, which omits offline CPUs and caches without IDs",
)


def read_machine_info(cursor: Cursor, source: str) -> ForeignMachine:
    """Read the single object in a file; raise InputError with file, line and path."""
    info = decode_machine_info(cursor)
    machine = decode_machine(cursor, info, source)
    info = replace(info, caches_known=machine.caches_known)
    return ForeignMachine(machine, info, FormContent(CADVISOR, frozenset(_facts(machine))))


def _facts(machine: Machine) -> Iterator[MachineFact]:
    yield from (MachineFact.NUMA, MachineFact.BARE_NODES, MachineFact.SOCKETS, MachineFact.CORES)
    if machine.caches_known:
        yield from (MachineFact.CACHES, MachineFact.CACHE_IDS, MachineFact.CACHE_SIZES)
    if all(node.distances for node in machine.numa_nodes):
        yield MachineFact.DISTANCES
    if all(node.memory_bytes is not None for node in machine.numa_nodes):
        yield MachineFact.NODE_MEMORY
    if machine.memory_bytes is not None:
        yield MachineFact.MEMORY
    if machine.hugepages_known:
        yield MachineFact.HUGE_PAGES


def decode_machine_info(cursor: Cursor) -> MachineInfo:
    """Decode the kubelet's view; absent totals are 0, as in Go.

    Raise InputError with line and path for anything but machine information (cAdvisor ``info/v1``).
    """
    if not isinstance(cursor.value, dict) or cursor.value.get("topology") is None:
        hint = "an object with num_cores and topology, as the kubelet serves at /api/v1/nodes/NODE/proxy/spec"
        raise cursor.expected("cAdvisor's machine information", hint=hint)
    return MachineInfo(
        nodes=tuple(_decode_node(node) for node in cursor.required("topology").items()),
        num_cpus=_number(cursor, "num_cores"),
        num_sockets=_number(cursor, "num_sockets"),
        memory_bytes=_number(cursor, "memory_capacity"),
        hugepages_known=all(_has(node, "hugepages") for node in cursor.required("topology").items()),
    )


def _has(cursor: Cursor, key: str) -> bool:
    """Return whether a member exists: a kubelet writes all members, including null ones."""
    return isinstance(cursor.value, dict) and key in cursor.value


def _number(cursor: Cursor, key: str) -> int:
    return cursor.optional(key, lambda value: value.integer(minimum=0, maximum=_LARGEST), 0)


def _items(cursor: Cursor, key: str) -> list[Cursor]:
    return cursor.optional(key, Cursor.items, [])


def _decode_node(node: Cursor) -> InfoNode:
    return InfoNode(
        id=node.required("node_id").integer(minimum=-1, maximum=MAX_CPUS - 1),
        cores=tuple(_decode_core(core) for core in _items(node, "cores")),
        memory_bytes=_number(node, "memory"),
        hugepages={
            _number(pages, "page_size"): _number(pages, "num_pages") for pages in _items(node, "hugepages")
        },
        distances=tuple(item.integer(minimum=0, maximum=_LARGEST) for item in _items(node, "distances")),
        memory_known=_has(node, "memory"),
    )


def _decode_core(core: Cursor) -> InfoCore:
    return InfoCore(
        socket_id=core.optional("socket_id", lambda value: value.integer(minimum=-1, maximum=_LARGEST), 0),
        core_id=core.optional("core_id", lambda value: value.integer(minimum=-1, maximum=_LARGEST), 0),
        threads=tuple(item.integer(minimum=0, maximum=MAX_CPUS - 1) for item in _items(core, "thread_ids")),
        uncore_cache_ids=tuple(_number(cache, "id") for cache in _items(core, "uncore_caches")),
    )


def decode_machine(cursor: Cursor, info: MachineInfo, source: str) -> Machine:
    """Build the kernel's view as far as the kubelet's view allows; raise InputError on contradictions."""
    _refuse_repeated_cpus(cursor)
    try:
        caches = distinct_caches(cache for cache in _caches(cursor, info) if cache.cpus)
        machine = Machine(
            cpus=tuple(sorted(_cpus(info), key=lambda cpu: cpu.number)),
            numa_nodes=tuple(sorted(_nodes(info), key=lambda node: node.id)),
            caches=caches,
            memory_bytes=info.memory_bytes or None,
            cpuinfo_sockets=info.num_sockets,
            caches_known=bool(caches),
            hugepages_known=info.hugepages_known,
        ).checked()
    except ValueError as error:
        raise InputError(str(error), where=source) from None
    return replace(machine, findings=(_NOTE, *without_files(topology_findings(machine, info))))


def _refuse_repeated_cpus(cursor: Cursor) -> None:
    seen: set[object] = set()
    for node in _items(cursor, "topology"):
        for core in _items(node, "cores"):
            for thread in _items(core, "thread_ids"):
                if thread.value in seen:
                    raise thread.error(f"CPU {thread.value} is listed twice")
                seen.add(thread.value)


def _cpus(info: MachineInfo) -> Iterator[CPU]:
    for node in info.nodes:
        for core in node.cores:
            siblings = CPUSet.of(core.threads)
            for number in core.threads:
                yield CPU(
                    number=number,
                    siblings=siblings,
                    numa_node=node.id if node.id >= 0 else None,
                    package_id=core.socket_id,
                    core_id=core.core_id,
                )


def _nodes(info: MachineInfo) -> Iterator[NumaNode]:
    # If all have 0 they are packages, listed in place of nodes that the kernel does not show.
    counted = any(node.memory_bytes for node in info.nodes)
    for node in info.nodes:
        if node.id >= 0:  # -1 is a package of unknown number, listed if the kernel does not show nodes
            yield NumaNode(
                id=node.id,
                cpus=_node_cpus(node),
                memory_bytes=node.memory_bytes if node.memory_known and counted else None,
                hugepages=node.hugepages,
                distances=node.distances,
            )


def _node_cpus(node: InfoNode) -> CPUSet:
    return CPUSet.of(cpu for core in node.cores for cpu in core.threads)


def _caches(cursor: Cursor, info: MachineInfo) -> Iterator[Cache]:
    uncore: dict[Cache, CPUSet] = {}
    for node_cursor, node in zip(_items(cursor, "topology"), info.nodes, strict=True):
        cpus = _node_cpus(node)
        yield from (_cache(cache, cpus) for cache in _items(node_cursor, "caches"))
        for core_cursor, core in zip(_items(node_cursor, "cores"), node.cores, strict=True):
            threads = CPUSet.of(core.threads)
            yield from (_cache(cache, threads) for cache in _items(core_cursor, "caches"))
            for cache in _items(core_cursor, "uncore_caches"):
                key = _cache(cache, CPUSet())
                uncore[key] = uncore.get(key, CPUSet()) | threads
    yield from (cache._replace(cpus=cpus) for cache, cpus in uncore.items())


def _cache(cursor: Cursor, cpus: CPUSet) -> Cache:
    return Cache(
        level=_number(cursor, "level"),
        kind=cursor.optional("type", Cursor.text, "Unified"),
        cpus=cpus,
        id=cursor.optional("id", lambda value: value.integer(minimum=0, maximum=_LARGEST), None),
        size_bytes=_number(cursor, "size") or None,
    )
