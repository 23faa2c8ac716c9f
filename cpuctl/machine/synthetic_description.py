"""A synthetic machine as a value between its one-line text and the machine, and how its CPUs lie in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_given_mask, parse_number, within_limit
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES

_SAME_NODE, _SAME_SOCKET, _OTHER_SOCKET = 10, 12, 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The four figures of ``lscpu``: sockets, NUMA nodes in all, cores per socket, CPUs per core.

    Raise ValueError for figures below 1 (NUMA nodes may be 0) and for more CPUs than cpuctl accepts.
    """

    sockets: int
    nodes: int
    cores_per_socket: int
    threads: int

    def __post_init__(self) -> None:
        if min(self.sockets, self.cores_per_socket, self.threads) < 1:
            raise ValueError("sockets, cores and threads must be at least 1")
        if self.cpus > MAX_CPUS or self.nodes > MAX_NUMA_NODES:
            raise ValueError(f"at most {MAX_CPUS} CPUs and {MAX_NUMA_NODES} NUMA nodes are possible")

    @property
    def cores(self) -> int:
        """Cores in all."""
        return self.sockets * self.cores_per_socket

    @property
    def cpus(self) -> int:
        """CPUs in all; their numbers are 0 and up."""
        return self.cores * self.threads

    def __str__(self) -> str:
        return f"{self.sockets}s{self.nodes}n{self.cores_per_socket}c{self.threads}t"


class Numbering(NamedTuple):
    """How CPU numbers run through the machine.

    ``near`` gives the siblings of a core neighbouring numbers, otherwise all cores are counted through once
    per thread. ``interleaved`` deals the cores to sockets, NUMA nodes and L3 groups in turn.
    """

    near: bool = False
    interleaved: bool = False


class Layout(NamedTuple):
    """CPU sets by socket and NUMA node number; cores and L3 groups have no numbers."""

    cores: tuple[CPUSet, ...]
    sockets: Mapping[int, CPUSet]
    nodes: Mapping[int, CPUSet]
    l3_groups: tuple[CPUSet, ...]

    def restricted_to(self, cpus: CPUSet) -> Layout:
        """Return what is left when only *cpus* run; an emptied NUMA node stays, everything else goes."""
        parts = (*self.cores, *self.sockets.values(), *self.l3_groups)
        everything = reduce(or_, (part.mask for part in (*parts, *self.nodes.values())), 0)
        if all(parts) and not everything & ~cpus.mask:
            return self
        sockets = {socket: members & cpus for socket, members in self.sockets.items()}
        return Layout(
            cores=tuple(left for core in self.cores if (left := core & cpus)),
            sockets={socket: members for socket, members in sockets.items() if members},
            nodes={node: members & cpus for node, members in self.nodes.items()},
            l3_groups=tuple(left for group in self.l3_groups if (left := group & cpus)),
        )


def regular_layout(figures: Figures, numbering: Numbering, *, l3_groups: int) -> Layout:
    """Divide the cores evenly into sockets, NUMA nodes and *l3_groups* (in all).

    Raise ValueError where the figures do not divide.
    """
    cores = _cores(figures, near=numbering.near)
    if figures.nodes and figures.nodes % figures.sockets and figures.sockets % figures.nodes:
        raise ValueError(f"{figures.nodes} NUMA nodes and {figures.sockets} sockets do not divide")
    dealt = numbering.interleaved
    return Layout(
        cores=cores,
        sockets=dict(enumerate(_portions(cores, figures.sockets, "sockets", dealt=dealt))),
        nodes=dict(enumerate(_portions(cores, figures.nodes, "NUMA nodes", dealt=dealt))),
        l3_groups=_portions(cores, l3_groups, "L3 groups", dealt=dealt),
    )


def default_distances(
    nodes: Mapping[int, CPUSet], sockets: Mapping[int, CPUSet]
) -> tuple[tuple[int, ...], ...]:
    """Return rows of distances: 10 to itself, 12 inside a socket, 21 to another socket."""
    masks = [members.mask for members in nodes.values()]
    rows = [[_OTHER_SOCKET] * len(masks) for _ in masks]
    for socket in sockets.values():
        inside = [node for node, mask in enumerate(masks) if mask & socket.mask]
        for node in inside:
            for other in inside:
                rows[node][other] = _SAME_SOCKET
    for node, row in enumerate(rows):
        row[node] = _SAME_NODE
    return tuple(map(tuple, rows))


@lru_cache(maxsize=2)  # whoever looks for a description tries both ways again and again
def _cores(figures: Figures, *, near: bool) -> tuple[CPUSet, ...]:
    return tuple(_core(figures, core, near=near) for core in range(figures.cores))


def _core(figures: Figures, core: int, *, near: bool) -> CPUSet:
    if near:
        return CPUSet.of(range(core * figures.threads, (core + 1) * figures.threads))
    return CPUSet.of(range(core, figures.cpus, figures.cores))


def _portions(cores: tuple[CPUSet, ...], count: int, what: str, *, dealt: bool) -> tuple[CPUSet, ...]:
    if not count:
        return ()
    size, rest = divmod(len(cores), count)
    if rest:
        raise ValueError(f"{len(cores)} cores do not divide into {count} {what}")
    if dealt:
        portions = [cores[first::count] for first in range(count)]
    else:
        portions = [cores[first : first + size] for first in range(0, len(cores), size)]
    return tuple(CPUSet(sum(core.mask for core in portion)) for portion in portions)


NONE = "none"
UNKNOWN = "-"

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def parse_natural(text: str) -> int:
    """Read a number that is not negative.

    Raise ValueError for any other text.
    """
    number = parse_number(text)
    if number < 0:
        raise ValueError(f"found {number}, expected no negative number")
    return number


def parse_cpus(text: str) -> CPUSet:
    """Read a CPU list, or a mask, whose parts are joined by a plus: ``0-3+8``, ``0xf+00000000``."""
    text = text.replace("+", ",")
    mask = parse_given_mask(text)
    return within_limit(CPUSet.parse(text)) if mask is None else mask


def write_cpus(cpus: CPUSet) -> str:
    """Write what ``parse_cpus`` reads."""
    return str(cpus).replace(",", "+")


def parse_groups(text: str) -> dict[int, CPUSet]:
    """Read CPU lists parted by slashes, ``0-3/4-7/252:``, by the number before the colon or by position.

    ``none`` is no group at all. Raise ValueError where numbers do not ascend or a CPU is named twice.
    """
    groups: dict[int, CPUSet] = {}
    claimed, last = CPUSet(), -1
    for position, part in enumerate(text.split("/") if text != NONE else ()):
        number, colon, cpus_text = part.rpartition(":")
        cpus = parse_cpus(cpus_text)
        if not cpus.isdisjoint(claimed):
            raise ValueError(f"CPUs {cpus & claimed} are in two groups")
        key = parse_natural(number) if colon else position
        if key <= last:
            raise ValueError(f"number {key} is not above the one before it")
        groups[key] = cpus
        last = key
        claimed |= cpus
    return groups


def write_groups(groups: Mapping[int, CPUSet]) -> str:
    """Write what ``parse_groups`` reads."""
    if not groups:
        return NONE
    return "/".join(
        write_cpus(cpus) if number == position and cpus else f"{number}:{write_cpus(cpus)}"
        for position, (number, cpus) in enumerate(groups.items())
    )


def parse_bytes(text: str) -> int:
    """Read a number of bytes with a binary unit or none: ``64Gi``."""
    for power, unit in reversed(list(enumerate(_UNITS))):
        if text.endswith(unit):
            return parse_natural(text.removesuffix(unit)) << 10 * power
    raise AssertionError("every text ends with the empty unit")


def write_bytes(number: int) -> str:
    """Write what ``parse_bytes`` reads, in the largest unit that is exact."""
    power = 0
    while number and number % 1024 == 0 and power + 1 < len(_UNITS):
        number, power = number // 1024, power + 1
    return f"{number}{_UNITS[power]}"


def parse_row(text: str, parse: Callable[[str], int]) -> tuple[int | None, ...]:
    """Read one value per node, or a single one that holds for all; ``-`` is None."""
    return tuple(None if word == UNKNOWN else parse(word) for word in text.split("/"))


def write_row(values: Sequence[int | None], write: Callable[[int], str]) -> str:
    """Write what ``parse_row`` reads."""
    return "/".join(UNKNOWN if value is None else write(value) for value in values)


DEFAULT_MEMORY = (64 << 30,)
"""The bytes of every NUMA node where a description says nothing."""
CPU_OPTIONS = ("offline", "absent", "isolated", "nohz_full", "pcores", "ecores")
GROUP_OPTIONS = ("cores", "sockets", "nodes", "l3")
L3, HUGEPAGES = UNKNOWN_OPTIONS = ("l3", "hugepages")
"""What may be unknown of a machine as a whole."""
HINT = "for example synthetic:2s4n16c2t,l3=8,mem=64Gi (sockets, NUMA nodes, cores per socket, CPUs per core)"

T = TypeVar("T")
Groups = Mapping[int, CPUSet]
Row = tuple[int | None, ...]
"""One value per NUMA node, or a single one that holds for all; None is unknown or absent."""

_FIGURES = re.compile(r"(?:(\d{1,5})s)?(?:(\d{1,5})n)?(\d{1,5})c(?:(\d{1,5})t)?", re.ASCII)
_HUGEPAGES = f"{HUGEPAGES}-"
_FLAGS = ("far", "near", "interleaved")
_VALUES = (*GROUP_OPTIONS, *CPU_OPTIONS, "mem", "distances", HUGEPAGES)


class Description(NamedTuple):
    """What a synthetic description says; ``groups`` and ``cpus`` are keyed by option name.

    ``memory`` is a row of bytes, ``hugepages`` has a row of page counts for each page size in KiB.
    ``distances`` is None for the regular ones and empty for none. ``unknown`` names options of which
    nothing, or not everything, is recorded.
    """

    figures: Figures
    numbering: Numbering = Numbering()
    l3_count: int | None = None
    groups: Mapping[str, Groups] = {}
    cpus: Mapping[str, CPUSet] = {}
    memory: Row = DEFAULT_MEMORY
    hugepages: Mapping[int, Row] = {}
    distances: tuple[tuple[int, ...], ...] | None = None
    unknown: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> Description:
        """Read figures and options; raise InputError naming the part that makes no sense."""
        first, *words = text.split(",")
        figures = _at(first, _parse_figures, first)
        options = _split_options(words)
        unknown = frozenset(key for key in UNKNOWN_OPTIONS if options.get(key) == UNKNOWN)
        for key in unknown:
            del options[key]
        if HUGEPAGES in options:
            where = f"{HUGEPAGES}={options[HUGEPAGES]}"
            raise InputError(f"expected {UNKNOWN}, or a page size: {_HUGEPAGES}2Mi", where=where, hint=HINT)
        l3 = options.pop("l3", None)
        count = int(l3) if l3 is not None and l3.isascii() and l3.isdecimal() and len(l3) <= 5 else None
        if l3 is not None and count is None:
            options["l3"] = l3
        return cls(
            figures=figures,
            numbering=Numbering(near="near" in options, interleaved="interleaved" in options),
            l3_count=count,
            groups={key: _option(options, key, parse_groups) for key in GROUP_OPTIONS if key in options},
            cpus={key: _option(options, key, parse_cpus) for key in CPU_OPTIONS if key in options},
            memory=_option(options, "mem", _parse_memory) if "mem" in options else DEFAULT_MEMORY,
            hugepages=_parse_hugepages(options),
            distances=_option(options, "distances", _parse_distances) if "distances" in options else None,
            unknown=unknown,
        )

    def __str__(self) -> str:
        return ",".join((str(self.figures), *self._options()))

    def _options(self) -> Iterator[str]:
        if self.numbering.near:
            yield "near"
        if self.numbering.interleaved:
            yield "interleaved"
        for key, groups in self.groups.items():
            yield f"{key}={write_groups(groups)}"
        if self.l3_count is not None:
            yield f"l3={self.l3_count}"
        if self.memory != DEFAULT_MEMORY:
            yield f"mem={write_row(self.memory, write_bytes)}"
        for size, row in self.hugepages.items():
            yield f"{_HUGEPAGES}{write_bytes(size << 10)}={write_row(row, str)}"
        yield from (f"{key}={UNKNOWN}" for key in UNKNOWN_OPTIONS if key in self.unknown)
        if self.distances is not None:
            yield "distances=" + ("/".join("+".join(map(str, row)) for row in self.distances) or NONE)
        for key, cpus in self.cpus.items():
            yield f"{key}={write_cpus(cpus)}"


def _at(where: str, build: Callable[[str], T], text: str) -> T:
    try:
        return build(text)
    except ValueError as error:
        raise InputError(str(error), where=where, hint=HINT) from None


def _option(options: Mapping[str, str], key: str, parse: Callable[[str], T]) -> T:
    return _at(f"{key}={options[key]}", parse, options[key])


def _parse_figures(text: str) -> Figures:
    found = _FIGURES.fullmatch(text)
    if found is None:
        raise ValueError(f"found {text!r}, expected figures such as 2s4n16c2t")
    sockets, nodes, cores, threads = found.groups()
    return Figures(
        sockets=int(sockets or 1),
        nodes=int(nodes or sockets or 1),
        cores_per_socket=int(cores),
        threads=int(threads or 1),
    )


def _split_options(words: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if not _is_option(key, value):
            known = (
                *_FLAGS,
                *GROUP_OPTIONS,
                *CPU_OPTIONS,
                "mem",
                "distances",
                HUGEPAGES,
                f"{_HUGEPAGES}SIZE",
            )
            raise InputError(f"expected one of {', '.join(known)}", where=word, hint=HINT)
        if key in options or {"far", "near"} <= {key, *options}:
            raise InputError("contradicts or repeats an option before it", where=word, hint=HINT)
        options[key] = value
    return options


def _is_option(key: str, value: str) -> bool:
    if key in _FLAGS:
        return not value
    return bool(value) and (key in _VALUES or key.startswith(_HUGEPAGES))


def _parse_memory(text: str) -> Row:
    return parse_row(text, parse_bytes)


def _parse_hugepages(options: Mapping[str, str]) -> dict[int, Row]:
    rows = {}
    for key in options:
        if key.startswith(_HUGEPAGES):
            size = _at(key, parse_bytes, key.removeprefix(_HUGEPAGES)) >> 10
            if size < 1:
                raise InputError("expected a page size of at least 1Ki", where=key, hint=HINT)
            rows[size] = _option(options, key, lambda text: parse_row(text, parse_natural))
    return dict(sorted(rows.items()))


def _parse_distances(text: str) -> tuple[tuple[int, ...], ...]:
    if text == NONE:
        return ()
    return tuple(tuple(map(parse_natural, row.split("+"))) for row in text.split("/"))
