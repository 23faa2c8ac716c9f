"""A machine as hwloc's XML version 2, which lstopo and programs that use hwloc 2 and 3 read.

hwloc nests everything that has CPUs: what contradicts that, or has no object type, is left out and reported.
I/O devices are not part of a machine here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.phrases import some_of

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
_OUTERMOST_FIRST = ("Machine", "Drawer", "Book", "Memory", "Package", "Die", "Cluster", "Cache", "Core", "PU")
_GROUPS = {"Drawer": 111, "Book": 110, "Memory": 1001, "Cluster": 222}
"""What hwloc does not have a type for, and its numbers for these kinds of Group (``private/private.h``)."""
_CACHES = {"Unified": ("", 5, 0), "Data": ("", 5, 1), "Instruction": ("i", 3, 2)}
"""hwloc's notation for a kind of cache: its letter, the highest level, ``cache_type``."""
_VALUES_IN_A_LINE = 10
_BASE_PAGE = 4096
_X86 = frozenset({None, "x86_64", "i386", "i686"})

_Attributes: TypeAlias = Mapping[str, int | str | None]


class _Object(NamedTuple):
    """Something that has CPUs; of those with the same CPUs, the lowest ``rank`` is outermost."""

    rank: tuple[int, int, str]
    type: str
    caption: str
    cpus: CPUSet
    attributes: _Attributes

    @property
    def outermost_first(self) -> tuple[int, tuple[int, int, str]]:
        """The sort key of the objects that contain one CPU."""
        return -len(self.cpus), self.rank

    def contradicts(self, other: _Object) -> bool:
        """Return whether the two cannot be nested."""
        same = self.rank == other.rank and self.cpus == other.cpus
        return same or not (self.cpus <= other.cpus or other.cpus <= self.cpus)


def as_hwloc_xml(machine: Machine) -> tuple[str, tuple[str, ...]]:
    """Write a topology; return it, and what was left out or assumed."""
    tree = _Tree(machine)
    return _HEAD + "".join(f"{line}\n" for line in _Writer(machine, tree).lines()), tuple(
        _notes(machine, tree)
    )


def bitmap(cpus: CPUSet) -> str:
    """Write a set as hwloc does: words of 32 bits, highest first; zeros are left out except the last."""
    digits = f"{cpus.mask:x}"
    digits = digits.rjust(-(-len(digits) // 8) * 8, "0")
    words = [digits[start : start + 8] for start in range(0, len(digits), 8)]
    *leading, last = [f"0x{word}" if int(word, 16) else "" for word in words]
    return ",".join([*leading, last or "0x0"])


class _Tree:
    """Objects, each below the smallest one that contains all its CPUs.

    ``left_out`` are those that contradict an earlier one.
    """

    def __init__(self, machine: Machine) -> None:
        self.top = _made("Machine", machine.online)
        self.left_out: list[_Object] = []
        self.below: dict[int, list[_Object]] = {id(self.top): []}
        holding: dict[int, list[_Object]] = {cpu: [] for cpu in machine.online}
        for each in _objects(machine):
            around = {id(other): other for cpu in each.cpus for other in holding[cpu]}
            if any(each.contradicts(other) for other in around.values()):
                self.left_out.append(each)
                continue
            for cpu in each.cpus:
                holding[cpu].append(each)
        for cpu in machine.online:
            self._nest(sorted(holding[cpu], key=lambda each: each.outermost_first))
        self.memory = self._memory(machine)

    def _nest(self, path: Iterable[_Object]) -> None:
        above = self.top
        for each in path:
            if id(each) not in self.below:
                self.below[id(each)] = []
                self.below[id(above)].append(each)
            above = each

    def _memory(self, machine: Machine) -> Mapping[int, Sequence[NumaNode]]:
        """Return NUMA nodes by ``id`` of the outermost object of their CPUs, else of the machine."""
        if not machine.numa_nodes:
            # hwloc adds one if the kernel does not show any; ``discovery.numa`` distinguishes the two.
            return {id(self.top): [NumaNode(0, machine.online, memory_bytes=machine.memory_bytes)]}
        outermost: dict[CPUSet, _Object] = {}
        for each in self.walk(self.top):
            outermost.setdefault(each.cpus, each)
        children: dict[int, list[NumaNode]] = {}
        for node in machine.numa_nodes:
            children.setdefault(id(outermost.get(node.cpus, self.top)), []).append(node)
        return children

    def walk(self, each: _Object) -> Iterator[_Object]:
        """Yield an object and all objects below it, outermost first."""
        yield each
        for child in self.below[id(each)]:
            yield from self.walk(child)


def _objects(machine: Machine) -> Iterator[_Object]:
    """Yield everything that hwloc has objects for, the most important for a kubelet first."""
    cpus, sockets = machine.cpu_by_number, machine.socket_of
    ids = {
        socket: cpu.package_id
        for number, cpu in cpus.items()
        if (socket := sockets[number]) == cpu.package_id
    }
    yield from (_made("PU", CPUSet(1 << cpu), os_index=cpu) for cpu in cpus)
    yield from (_made("Memory", node.cpus) for node in machine.numa_nodes if _needs_group(node, machine))
    yield from (_made("Package", held, os_index=ids.get(socket)) for socket, held in machine.sockets.items())
    if machine.cores_known:
        yield from (_made("Core", core, os_index=_known(cpus[core.lowest].core_id)) for core in machine.cores)
    if machine.caches_known:
        yield from (_cache(each) for each in machine.caches if _has_object(each))
    yield from _equivalent(machine, "Drawer", lambda cpu: (cpu.drawer_id,))
    yield from _equivalent(machine, "Book", lambda cpu: (cpu.drawer_id, cpu.book_id))
    yield from _equivalent(machine, "Die", lambda cpu: (sockets[cpu.number], cpu.die_id))
    yield from _equivalent(machine, "Cluster", lambda cpu: (sockets[cpu.number], cpu.die_id, cpu.cluster_id))


def _known(number: int | None) -> int | None:
    """Return a kernel's number, None for -1, which it writes for an unknown one."""
    return None if number is None or number < 0 else number


def _made(kind: str, cpus: CPUSet, **attributes: int | str | None) -> _Object:
    if group := _GROUPS.get(kind):
        attributes |= {"kind": group, "subkind": 0, "subtype": None if kind == "Memory" else kind}
    return _Object(
        rank=(_OUTERMOST_FIRST.index(kind), 0, ""),
        type="Group" if group else kind,
        caption="NUMA node" if kind == "Memory" else kind.lower(),
        cpus=cpus,
        attributes=attributes,
    )


def _needs_group(node: NumaNode, machine: Machine) -> bool:
    return bool(node.cpus) and node.cpus != machine.online and node.cpus not in machine.sockets.values()


def _has_object(cache: Cache) -> bool:
    _, highest, _ = _CACHES.get(cache.kind, ("", 0, 0))
    return cache.sharing_known and bool(cache.cpus) and 0 < (cache.level or 0) <= highest


def _cache(cache: Cache) -> _Object:
    letter, _, kind = _CACHES[cache.kind]
    level = cache.level or 0
    attributes = {
        "os_index": _known(cache.id),
        "cache_size": cache.size_bytes or 0,
        "depth": level,
        "cache_linesize": 0,
        "cache_associativity": 0,
        "cache_type": kind,
    }
    rank = (_OUTERMOST_FIRST.index("Cache"), -level, letter)
    return _Object(rank, f"L{level}{letter}Cache", f"L{level}{letter} cache", cache.cpus, attributes)


def _equivalent(
    machine: Machine, kind: str, place: Callable[[CPU], tuple[int | None, ...]]
) -> Iterator[_Object]:
    """Group CPUs with the same place, whose last part is the number; CPUs without one are left out."""
    members: dict[tuple[int | None, ...], int] = {}
    for cpu in machine.cpus:
        *around, number = place(cpu)
        if number is not None and number >= 0:
            members[(*around, number)] = members.get((*around, number), 0) | 1 << cpu.number
    for (*_, number), mask in members.items():
        yield _made(kind, CPUSet(mask), os_index=number)


class _Writer:
    def __init__(self, machine: Machine, tree: _Tree) -> None:
        self._machine = machine
        self._tree = tree
        self._numbers = count(1)
        self._packages = bool(machine.sockets)

    def lines(self) -> Iterator[str]:
        """Write everything but the header."""
        nodes = self._machine.numa_nodes
        yield '<topology version="2.0">'
        yield from self._object(self._tree.top, CPUSet(), "  ")
        if len(nodes) > 1 and all(len(node.distances) == len(nodes) for node in nodes):
            yield from _distances(nodes)
        yield '  <support name="discovery.pu"/>'
        if nodes:
            yield '  <support name="discovery.numa"/>'
        yield '  <support name="custom.exported_support"/>'
        yield from _kinds(self._machine)
        yield "</topology>"

    def _object(self, each: _Object, near: CPUSet, indent: str) -> Iterator[str]:
        """Write an object and its content; *near* are the NUMA nodes of the objects around it."""
        memory = self._tree.memory.get(id(each), ())
        near |= CPUSet.of(node.id for node in memory)
        nodes = near | self._nodes_within(each)
        attributes: dict[str, int | str | None] = {**each.attributes, **_sets(each.cpus, nodes)}
        if each is self._tree.top:
            attributes |= {
                "os_index": 0,
                "complete_cpuset": bitmap(self._machine.online | self._machine.offline),
                "allowed_cpuset": bitmap(each.cpus),
                "allowed_nodeset": bitmap(nodes),
            }
        attributes["gp_index"] = next(self._numbers)
        inner = f"{indent}  "
        parts = chain(
            self._infos(each, inner),
            *(self._node(node, inner) for node in memory),
            *(self._object(child, near, inner) for child in self._tree.below[id(each)]),
        )
        yield from _element(f"object type={_quoted(each.type)}", attributes, parts, indent)

    def _nodes_within(self, each: _Object) -> CPUSet:
        memory = self._tree.memory
        return CPUSet.of(node.id for one in self._tree.walk(each) for node in memory.get(id(one), ()))

    def _infos(self, each: _Object, indent: str) -> Iterator[str]:
        machine = self._machine
        if machine.model_name and each.type == ("Package" if self._packages else "Machine"):
            yield _info("CPUModel", machine.model_name, indent)
        if machine.architecture and each is self._tree.top:
            yield _info("Architecture", machine.architecture, indent)

    def _node(self, node: NumaNode, indent: str) -> Iterator[str]:
        attributes: dict[str, int | str | None] = {
            "os_index": node.id,
            **_sets(node.cpus, CPUSet(1 << node.id)),
            "gp_index": next(self._numbers),
            "local_memory": node.memory_bytes,
        }
        pages = self._pages(node) if self._machine.hugepages_known and self._machine.numa_nodes else {}
        lines = (f'{indent}  <page_type size="{size}" count="{number}"/>' for size, number in pages.items())
        yield from _element('object type="NUMANode"', attributes, lines, indent)

    def _pages(self, node: NumaNode) -> Mapping[int, int]:
        """Return pages by size in bytes; hwloc lists base pages first."""
        huge = {size << 10: number for size, number in sorted(node.hugepages.items())}
        rest = (node.memory_bytes or 0) - sum(size * number for size, number in huge.items())
        return {_BASE_PAGE: max(rest, 0) // _BASE_PAGE, **huge}


def _sets(cpus: CPUSet, nodes: CPUSet) -> dict[str, str]:
    """Return the sets of an object; hwloc gives a NUMA node without CPUs those it is near."""
    sets = {"cpuset": bitmap(cpus), "nodeset": bitmap(nodes)}
    return {name: text for key, text in sets.items() for name in (key, f"complete_{key}")}


def _element(name: str, attributes: _Attributes, inside: Iterable[str], indent: str) -> Iterator[str]:
    attribute_text = "".join(
        f" {key}={_quoted(str(value))}" for key, value in attributes.items() if value is not None
    )
    lines = list(inside)
    yield f"{indent}<{name}{attribute_text}{'' if lines else '/'}>"
    if lines:
        yield from lines
        yield f"{indent}</{name.partition(' ')[0]}>"


def _quoted(text: str) -> str:
    """Write a value; XML does not allow control characters, and hwloc leaves out all non-ASCII ones."""
    kept = "".join(char for char in text if " " <= char <= "~")
    for char, name in {"&": "amp", "<": "lt", ">": "gt", '"': "quot"}.items():
        kept = kept.replace(char, f"&{name};")
    return f'"{kept}"'


def _info(name: str, value: str, indent: str) -> str:
    return f'{indent}<info name="{name}" value={_quoted(value)}/>'


def _distances(nodes: Sequence[NumaNode]) -> Iterator[str]:
    """Write the kernel's latencies; hwloc reads ``length`` characters."""
    attributes = f'nbobjs="{len(nodes)}" kind="5" name="NUMALatency" indexing="os"'
    yield f'  <distances2 type="NUMANode" {attributes}>'
    yield from _numbers("indexes", (node.id for node in nodes))
    yield from _numbers("u64values", chain.from_iterable(node.distances for node in nodes))
    yield "  </distances2>"


def _numbers(name: str, values: Iterable[int]) -> Iterator[str]:
    words = [f"{value} " for value in values]
    for start in range(0, len(words), _VALUES_IN_A_LINE):
        text = "".join(words[start : start + _VALUES_IN_A_LINE])
        yield f'    <{name} length="{len(text)}">{text}</{name}>'


def _kinds(machine: Machine) -> Iterator[str]:
    """Write what distinguishes kinds of cores: the kernel's names for them, frequencies and capacities."""
    kinds: dict[tuple[tuple[str, str], ...], int] = {}
    for cpu in machine.cpus:
        if facts := tuple(_kind(machine, cpu)):
            kinds[facts] = kinds.get(facts, 0) | 1 << cpu.number
    for facts, mask in kinds.items():
        yield f'  <cpukind cpuset="{bitmap(CPUSet(mask))}">'
        yield from (_info(name, value, "    ") for name, value in facts)
        yield "  </cpukind>"


def _kind(machine: Machine, cpu: CPU) -> Iterator[tuple[str, str]]:
    if cpu.number in (machine.performance_cpus or CPUSet()):
        yield "CoreType", "IntelCore"
    elif cpu.number in (machine.efficiency_cpus or CPUSet()):
        yield "CoreType", "IntelAtom"
    if cpu.max_khz is not None:
        yield "FrequencyMaxMHz", str(cpu.max_khz // 1000)
    if cpu.capacity is not None:
        yield "LinuxCapacity", str(cpu.capacity)


def _notes(machine: Machine, tree: _Tree) -> Iterator[str]:
    captions: dict[str, list[str]] = {}
    for each in tree.left_out:
        captions.setdefault(each.caption, []).append(str(each.cpus))
    for caption, sets in captions.items():
        yield (
            f"left out because hwloc requires objects with CPUs to be nested: {caption} of CPUs "
            f"{some_of(sets)}"
        )
    unfit = [each for each in machine.caches if not (machine.caches_known and _has_object(each))]
    if unfit:
        names = sorted({f"L{each.level}" if each.level else "some without a level" for each in unfit})
        why = "the CPUs that share them are not recorded, or hwloc has no such caches"
        yield f"left out because {why}: {', '.join(names)}"
    if not machine.numa_known:
        yield "NUMA nodes are not recorded: one is added, as hwloc does on kernels without NUMA support"
    if machine.architecture not in _X86 and machine.hugepages_known and machine.numa_nodes:
        yield "normal pages are assumed to be 4 KiB"
