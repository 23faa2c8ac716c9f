"""hwloc's XML, as ``lstopo --of xml`` writes it: versions 2 and 3 (hwloc ``topology-xml.c``, ``hwloc2.dtd``).

Numbers are the kernel's. A CPU's place in the tree shows what it belongs to; NUMA nodes are children of the
object whose CPUs are near them, so the kernel's own list of a node's CPUs is not among the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import HWLOC_2, HWLOC_3, FormContent, MachineFact, MachineFormat
from cpuctl.machine.foreign.rows import CPURow, ForeignMachine, PrintedMachine, build
from cpuctl.machine.kernel_text import shown, within_limit
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES, Cache, NumaNode

_BITMAP = re.compile(r"0x[0-9a-fA-F]{1,8}(?:,(?:0x[0-9a-fA-F]{1,8})?)*", re.ASCII)
_INFINITE = "0xf...f"
_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)
_CACHE = re.compile(r"L([1-9])(i?)Cache", re.ASCII)
_KINDS = {0: "Unified", 1: "Data", 2: "Instruction"}
_IDS = {"Package": "package", "Die": "die", "Core": "core"}
_GROUPS = {"Cluster": "cluster", "Book": "book", "Drawer": "drawer"}
_LARGEST_ID = (1 << 31) - 1
_HIDDEN = "CPUs that hwloc was not allowed to see look like offline CPUs"
_NEAREST = "a CPU is assumed to be in the first of its nearest NUMA nodes"
_HINT = "create it with lstopo --of xml (hwloc 2 or 3)"


class _Above(NamedTuple):
    """The elements above an object, by type."""

    package: Element | None = None
    die: Element | None = None
    core: Element | None = None
    cluster: Element | None = None
    book: Element | None = None
    drawer: Element | None = None


def read_xml(data: bytes, source: str) -> ForeignMachine:
    """Read a topology; raise InputError with file and line."""
    root = read_xml_tree(data, source)
    return _Topology(root, source).machine()


class _Topology:
    def __init__(self, root: Element, source: str) -> None:
        self._root = root
        self._source = source
        self._rows: list[CPURow] = []
        self._caches: list[Element] = []
        self._nodes: list[Element] = []
        self._cores = self._packages = False

    def machine(self) -> ForeignMachine:
        """Build the machine that the elements describe."""
        form = self._form()
        objects = [each for each in self._root.below("object") if each.attributes.get("type") == "Machine"]
        if not objects:
            raise self._error(self._root, "found no Machine object")
        top = objects[0]
        self._walk(top, _Above())
        online = CPUSet.of(row.cpu for row in self._rows)
        nodes = self._numa_nodes(online) if self._has_nodes() else ()
        node_of = {cpu: node.id for node in nodes for cpu in node.cpus}
        performance, efficiency, rows = self._kinds(
            [row._replace(node=node_of.get(row.cpu)) for row in self._rows]
        )
        printed = PrintedMachine(
            rows=rows,
            nodes=nodes,
            caches=[self._cache(each, online) for each in self._caches],
            offline=self._cpus(top, "complete_cpuset") - online,
            performance=performance,
            efficiency=efficiency,
            memory_bytes=None if self._has_nodes() else self._memory(),
            model_name=_info(top, "CPUModel") or self._package_model(top),
            architecture=_info(top, "Architecture"),
        )
        shared = any(not node.cpus for node in nodes)
        notes = (*([_HIDDEN] if printed.offline else []), *([_NEAREST] if shared else []))
        return build(
            printed, FormContent(form, frozenset(self._facts(form, printed)), notes=notes), self._source
        )

    def _form(self) -> MachineFormat:
        version = self._root.attributes.get("version", "")
        if self._root.name != "topology" or version.partition(".")[0] not in {"2", "3"}:
            found = f"version {version}" if version else f"<{self._root.name}> without a version"
            raise self._error(
                self._root, f"found {found}, expected a topology of hwloc version 2 or 3", hint=_HINT
            )
        return HWLOC_2 if version.startswith("2") else HWLOC_3

    def _facts(self, form: MachineFormat, printed: PrintedMachine) -> Iterator[MachineFact]:
        yield from (MachineFact.OFFLINE, MachineFact.NUMA, MachineFact.BARE_NODES)
        if self._packages:
            yield MachineFact.SOCKETS
        if self._cores:
            yield MachineFact.CORES
        if self._caches:
            yield from (MachineFact.CACHES, MachineFact.CACHE_SIZES)
        if self._caches and all("os_index" in each.attributes for each in self._caches):
            yield MachineFact.CACHE_IDS
        if printed.nodes and all(node.distances for node in printed.nodes):
            yield MachineFact.DISTANCES
        if all(node.memory_bytes is not None for node in printed.nodes):
            yield MachineFact.NODE_MEMORY
        if form is HWLOC_2 and all(any(each.below("page_type")) for each in self._nodes):
            yield MachineFact.HUGE_PAGES
        if any(row.max_khz for row in printed.rows) or printed.performance:
            yield MachineFact.CORE_KINDS
        if printed.model_name:
            yield MachineFact.MODEL

    def _walk(self, element: Element, above: _Above) -> None:
        kind = element.attributes.get("type", "")
        subtype = _GROUPS.get(element.attributes.get("subtype", "")) if kind == "Group" else None
        if name := _IDS.get(kind) or subtype:
            above = above._replace(**{name: element})
        if kind == "PU":
            self._rows.append(self._row(element, above))
        elif _CACHE.fullmatch(kind):
            self._caches.append(element)
        elif kind == "NUMANode":
            self._nodes.append(element)
        for child in element.below("object"):
            self._walk(child, above)

    def _row(self, element: Element, above: _Above) -> CPURow:
        self._packages |= above.package is not None
        self._cores |= above.core is not None
        cpu = self._number(element, "os_index", MAX_CPUS - 1)
        if cpu is None:
            raise self._error(element, "found a PU without os_index, expected a CPU number")
        return CPURow(
            cpu=cpu,
            socket=self._id(above.package),
            package=self._cpus(above.package, "cpuset") if above.package else None,
            core=None if above.core is None else id(above.core),
            core_id=self._id(above.core),
            die=self._id(above.die),
            cluster=self._id(above.cluster),
            book=self._id(above.book),
            drawer=self._id(above.drawer),
        )

    def _id(self, element: Element | None) -> int | None:
        return None if element is None else self._number(element, "os_index", _LARGEST_ID)

    def _cache(self, element: Element, online: CPUSet) -> Cache:
        level, instruction = _CACHE.fullmatch(element.attributes["type"]).groups()  # type: ignore[union-attr]
        kind = self._number(element, "cache_type", 2)
        return Cache(
            level=int(level),
            kind="Instruction" if instruction else _KINDS[kind or 0],
            cpus=self._cpus(element, "cpuset") & online,
            id=self._number(element, "os_index", _LARGEST_ID),
            size_bytes=self._number(element, "cache_size", 1 << 62) or None,
        )

    def _has_nodes(self) -> bool:
        """Return whether the kernel shows nodes; if it does not, hwloc adds one and reports that."""
        support = {each.attributes.get("name") for each in self._root.below("support")}
        return "custom.exported_support" not in support or "discovery.numa" in support

    def _memory(self) -> int | None:
        sizes = [self._number(each, "local_memory", 1 << 62) for each in self._nodes]
        return sum(filter(None, sizes)) or None

    def _numa_nodes(self, online: CPUSet) -> tuple[NumaNode, ...]:
        if len(self._nodes) > MAX_NUMA_NODES:
            raise self._error(self._nodes[-1], f"more than {MAX_NUMA_NODES} NUMA nodes")
        found = [(self._node_id(each), self._cpus(each, "cpuset") & online, each) for each in self._nodes]
        distances = self._distances([number for number, _, _ in found])
        claimed = CPUSet()
        nodes = []
        for number, cpus, element in sorted(found, key=lambda each: (len(each[1]), each[0])):
            nodes.append(self._node(element, number, cpus - claimed, distances.get(number, ())))
            claimed |= cpus
        return tuple(nodes)

    def _node_id(self, element: Element) -> int:
        number = self._number(element, "os_index", MAX_CPUS - 1)
        if number is None:
            raise self._error(element, "found a NUMANode without os_index, expected a NUMA node number")
        return number

    def _node(self, element: Element, number: int, cpus: CPUSet, distances: tuple[int, ...]) -> NumaNode:
        pages = {}
        for page in list(element.below("page_type"))[1:]:  # the first is the base page
            size, count = self._number(page, "size", 1 << 62), self._number(page, "count", 1 << 62)
            if size and count is not None:
                pages[size >> 10] = count
        return NumaNode(
            id=number,
            cpus=cpus,
            memory_bytes=self._number(element, "local_memory", 1 << 62),
            hugepages=dict(sorted(pages.items())),
            distances=distances,
        )

    def _distances(self, ids: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
        """Return the rows of the kernel's latencies in the order of the nodes; empty without them."""
        for table in self._root.below("distances2"):
            names = table.attributes
            if names.get("type") != "NUMANode" or names.get("name", "NUMALatency") != "NUMALatency":
                continue
            order, values = self._numbers(table, "indexes"), self._numbers(table, "u64values")
            if len(values) != len(order) ** 2:
                message = f"found {len(values)} distances of {len(order)} NUMA nodes"
                raise self._error(table, message)
            if sorted(order) == sorted(ids):
                width, places = len(order), [order.index(number) for number in sorted(ids)]
                return {order[a]: tuple(values[a * width + b] for b in places) for a in places}
        return {}  # also for a single node

    def _numbers(self, table: Element, name: str) -> list[int]:
        words = " ".join(each.text for each in table.below(name)).split(maxsplit=MAX_NUMA_NODES**2)
        if wrong := next((word for word in words if not _NUMBER.fullmatch(word)), None):
            raise self._error(table, f"found {shown(wrong)}, expected a number")
        return [int(word) for word in words]

    def _kinds(self, rows: Sequence[CPURow]) -> tuple[CPUSet | None, CPUSet | None, list[CPURow]]:
        """Read kinds of cores: performance and efficiency CPUs, and frequencies and capacities of all."""
        kinds: dict[str, CPUSet] = {}
        facts: dict[int, tuple[int | None, int | None]] = {}
        for kind in self._root.below("cpukind"):
            cpus = self._cpus(kind, "cpuset")
            if word := _info(kind, "CoreType"):
                kinds[word] = kinds.get(word, CPUSet()) | cpus
            megahertz, capacity = _info(kind, "FrequencyMaxMHz"), _info(kind, "LinuxCapacity")
            figures = (_figure(megahertz, 1000), _figure(capacity, 1))
            facts.update(dict.fromkeys(cpus, figures))
        limits = [(row, facts.get(row.cpu, (None, None))) for row in rows]
        described = [row._replace(max_khz=khz, capacity=capacity) for row, (khz, capacity) in limits]
        return kinds.get("IntelCore"), kinds.get("IntelAtom"), described

    def _package_model(self, top: Element) -> str | None:
        packages = (each for each in top.below("object") if each.attributes.get("type") == "Package")
        return next((model for each in packages if (model := _info(each, "CPUModel"))), None)

    def _cpus(self, element: Element, name: str) -> CPUSet:
        """Read a bitmap: words of 32 bits, highest first; an empty word is 0."""
        text = element.attributes.get(name, "0x0")
        if not _BITMAP.fullmatch(text):
            endless = " (infinite)" if text.startswith(_INFINITE) else ""
            raise self._error(
                element, f"{name}: found {shown(text)}{endless}, expected a bitmap such as 0x0000000f"
            )
        words = (word.removeprefix("0x").rjust(8, "0") for word in text.split(","))
        try:
            return within_limit(CPUSet(int("".join(words), 16)))
        except ValueError as error:
            raise self._error(element, f"{name}: {error}") from None

    def _number(self, element: Element, name: str, largest: int) -> int | None:
        text = element.attributes.get(name)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text) or int(text) > largest:
            raise self._error(element, f"{name}: found {shown(text)}, expected a number of at most {largest}")
        return int(text)

    def _error(self, element: Element, message: str, *, hint: str = "") -> InputError:
        return InputError(message, where=f"{self._source}:{element.line}", hint=hint)


def _info(element: Element, name: str) -> str | None:
    values = (
        each.attributes.get("value") for each in element.below("info") if each.attributes.get("name") == name
    )
    return next((value for value in values if value), None)


def _figure(text: str | None, unit: int) -> int | None:
    return int(text) * unit if text and _NUMBER.fullmatch(text) and len(text) < 10 else None


# XML as plain elements, with limits: nothing is fetched, no entity is declared, nothing expands.
#
# The standard library's expat parses it; ``xml.etree`` would expand what a document type declares.

MAX_DEPTH = 200
"""Levels of elements: hwloc nests about fifteen, and PCI bridges below them."""
MAX_ELEMENTS = 300_000
"""The largest machines have about sixty thousand."""


class Element:
    """One element: ``line`` is the one where it begins."""

    __slots__ = ("attributes", "children", "line", "name", "text")

    def __init__(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def below(self, name: str) -> Iterator[Element]:
        """Yield the children with a name."""
        return (child for child in self.children if child.name == name)


def read_xml_tree(data: bytes, source: str) -> Element:
    """Read a document; raise InputError with file and line for invalid XML, and for unsupported parts."""
    return _Builder(source).read(data)


class _Builder:
    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[Element] = []
        self._root: Element | None = None
        self._count = 0
        # The encoding that the text declares is ignored: all tools write UTF-8.
        self._parser: Any = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity

    def read(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            message = f"not XML: {expat.ErrorString(error.code)}"
            raise InputError(message, where=f"{self._source}:{error.lineno}") from None
        assert self._root is not None
        return self._root

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(message, where=f"{self._source}:{self._parser.CurrentLineNumber}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            self._refuse(f"more than {MAX_ELEMENTS:,} elements")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(f"more than {MAX_DEPTH} levels of elements")
        element = Element(name, attributes, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, _name: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        if text.strip():
            self._open[-1].text += text

    def _doctype(self, _name: str, _system: str | None, _public: str | None, declares: int) -> None:
        # hwloc names a DTD, which is not fetched; an internal one could change the content.
        if declares:
            self._refuse("declares its own document type, which is not supported")

    def _entity(self, *_declaration: object) -> None:
        self._refuse("declares an entity, which is not supported")
