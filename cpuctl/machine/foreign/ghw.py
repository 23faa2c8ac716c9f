"""What ``ghwc topology -f json`` prints, and ``ghwc -f json`` (ghw ``pkg/topology``, ``cpu``, ``memory``).

Only the full report has sockets: its processor section lists their CPUs. Core ids are counted per NUMA node
or per socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.machine.foreign.form import GHW, FormContent, MachineFact
from cpuctl.machine.foreign.rows import CPURow, ForeignMachine, PrintedMachine, build
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES, Cache, NumaNode

_LARGEST = (1 << 63) - 1
_KINDS = {"unified": "Unified", "instruction": "Instruction", "data": "Data"}
_SPLIT = "a cache shared by several NUMA nodes is reported, and read, as one cache per node"


def is_report(value: object) -> bool:
    """Return whether a JSON value is such a report."""
    if not isinstance(value, dict):
        return False
    topology = value.get("topology", value)
    return isinstance(topology, dict) and "nodes" in topology


def read_report(cursor: Cursor, source: str) -> ForeignMachine:
    """Read a report or its topology section; raise InputError with file, line and path."""
    topology = cursor.get("topology") or cursor
    nodes = topology.required("nodes").items()
    if len(nodes) > MAX_NUMA_NODES:
        raise topology.error(f"found {len(nodes)} NUMA nodes, expected at most {MAX_NUMA_NODES}")
    sockets, model = _processors(cursor.get("cpu"))
    rows = list(_rows(nodes, sockets))
    online = CPUSet.of(row.cpu for row in rows)
    memory = cursor.get("memory")
    printed = PrintedMachine(
        rows=rows,
        nodes=[_node(node, online) for node in nodes],
        caches=[_cache(cache, online) for node in nodes for cache in _items(node, "caches")],
        memory_bytes=_usable(memory) if memory else None,
        model_name=model,
    )
    return build(printed, _content(nodes, printed), source)


def _content(nodes: Sequence[Cursor], printed: PrintedMachine) -> FormContent:
    roughly = (_SPLIT,) if printed.caches and len(nodes) > 1 else ()
    return FormContent(GHW, frozenset(_facts(nodes, printed)), notes=roughly)


def _facts(nodes: Iterable[Cursor], printed: PrintedMachine) -> Iterator[MachineFact]:
    yield from (MachineFact.NUMA, MachineFact.BARE_NODES, MachineFact.CORES)
    if all(row.socket is not None for row in printed.rows):
        yield MachineFact.SOCKETS
    if printed.caches:
        yield from (MachineFact.CACHES, MachineFact.CACHE_SIZES)
    if all(node.distances for node in printed.nodes):
        yield MachineFact.DISTANCES
    if all(node.memory_bytes is not None for node in printed.nodes):
        yield MachineFact.NODE_MEMORY
    if printed.memory_bytes is not None:
        yield MachineFact.MEMORY
    areas = [node.get("memory") for node in nodes]
    if all(area and area.get("huge_page_amounts_by_size") for area in areas):
        yield MachineFact.HUGE_PAGES
    if printed.model_name is not None:
        yield MachineFact.MODEL


def _items(cursor: Cursor, key: str) -> list[Cursor]:
    return cursor.optional(key, Cursor.items, [])


def _cpus(cursor: Cursor) -> Iterator[tuple[int, Cursor]]:
    for item in _items(cursor, "logical_processors"):
        yield item.integer(minimum=0, maximum=MAX_CPUS - 1), item


def _id(cursor: Cursor) -> int:
    return cursor.required("id").integer(minimum=0, maximum=_LARGEST)


def _processors(section: Cursor | None) -> tuple[Mapping[int, int], str | None]:
    """Return the socket of every CPU, and the name of the first processor."""
    sockets: dict[int, int] = {}
    model = None
    for processor in _items(section, "processors") if section else ():
        model = model or processor.optional("model", Cursor.text, None)
        number = _id(processor)
        for core in _items(processor, "cores"):
            sockets.update((cpu, number) for cpu, _ in _cpus(core))
    return sockets, model


def _rows(nodes: Iterable[Cursor], sockets: Mapping[int, int]) -> Iterator[CPURow]:
    seen = 0
    for node in nodes:
        number = _node_id(node)
        for core in _items(node, "cores"):
            core_id = _id(core)
            for cpu, place in _cpus(core):
                if seen >> cpu & 1:
                    raise place.error(f"CPU {cpu} is listed twice")
                seen |= 1 << cpu
                socket = sockets.get(cpu)
                key = number, socket, core_id
                yield CPURow(cpu, node=number, socket=socket, core=key, core_id=core_id)


def _node_id(node: Cursor) -> int:
    return node.required("id").integer(minimum=0, maximum=MAX_CPUS - 1)


def _node(node: Cursor, online: CPUSet) -> NumaNode:
    area = node.get("memory")
    cpus = CPUSet.of(cpu for core in _items(node, "cores") for cpu, _ in _cpus(core))
    pages = area.get("huge_page_amounts_by_size") if area else None
    return NumaNode(
        id=_node_id(node),
        cpus=cpus & online,
        memory_bytes=_usable(area) if area else None,
        hugepages=_pages(pages, "total") if pages else {},
        free_hugepages=_pages(pages, "free") if pages else {},
        distances=tuple(item.integer(minimum=0, maximum=_LARGEST) for item in _items(node, "distances")),
    )


def _usable(area: Cursor) -> int | None:
    return area.optional("total_usable_bytes", lambda value: value.integer(minimum=0, maximum=_LARGEST), None)


def _pages(amounts: Cursor, counter: str) -> dict[int, int]:
    """Count pages by page size in KiB; the report gives the size in bytes."""
    pages = {}
    for size, amount in amounts.members().items():
        if not (size.isascii() and size.isdecimal() and len(size) < 19):
            raise amount.error(f"expected a page size in bytes, found {size[:40]!r}")
        pages[int(size) >> 10] = amount.required(counter).integer(minimum=0, maximum=_LARGEST)
    return dict(sorted(pages.items()))


def _cache(cache: Cursor, online: CPUSet) -> Cache:
    kind = cache.required("type").one_of(_KINDS)
    return Cache(
        level=cache.required("level").integer(minimum=0, maximum=255),
        kind=_KINDS[kind],
        cpus=CPUSet.of(cpu for cpu, _ in _cpus(cache)) & online,
        size_bytes=cache.required("size_bytes").integer(minimum=0, maximum=_LARGEST) or None,
    )
