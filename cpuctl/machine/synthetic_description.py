"""The parsed form of a synthetic machine's one-line text, and the layout of its CPUs."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, chain, count, islice
from operator import or_
from typing import NamedTuple, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_given_mask, parse_number, within_limit
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES
from cpuctl.records import Record

_SAME_NODE, _SAME_SOCKET, _OTHER_SOCKET = 10, 12, 21


PLAIN, PERFORMANCE, EFFICIENCY = "cpe"
"""The letters of cores: without a kind, and of the two kinds that a kernel distinguishes."""


class CoreKind(Record):
    """A number of cores in every socket, and the CPUs of each core."""

    cores: int
    threads: int
    letter: str = PLAIN

    def __str__(self) -> str:
        return f"{self.cores}{self.letter}{self.threads}t"


class Figures(Record):
    """The figures of ``lscpu``: sockets, NUMA nodes in total, and the cores of a socket by kind, in order.

    Raise ValueError for figures below 1 (NUMA nodes may be 0) and for more CPUs than cpuctl accepts.
    """

    sockets: int
    nodes: int
    kinds: tuple[CoreKind, ...]

    def __init__(self, *, sockets: int, nodes: int, kinds: tuple[CoreKind, ...]) -> None:
        super().__init__(sockets, nodes, kinds)
        if min(self.sockets, *(min(kind.cores, kind.threads) for kind in self.kinds)) < 1:
            raise ValueError("sockets, cores and threads must be at least 1")
        if self.cpus > MAX_CPUS or self.nodes > MAX_NUMA_NODES:
            raise ValueError(f"at most {MAX_CPUS} CPUs and {MAX_NUMA_NODES} NUMA nodes are possible")

    @property
    def cores(self) -> int:
        """The total number of cores."""
        return self.sockets * sum(kind.cores for kind in self.kinds)

    @property
    def cpus(self) -> int:
        """The total number of CPUs, which are numbered from 0."""
        return self.sockets * sum(kind.cores * kind.threads for kind in self.kinds)

    def __str__(self) -> str:
        return f"{self.sockets}s{self.nodes}n{'+'.join(map(str, self.kinds))}"


class Arrangement(NamedTuple):
    """How CPU numbers and NUMA nodes are arranged in the machine.

    With ``near``, the siblings of a core have adjacent numbers; otherwise all cores are numbered once per
    thread. ``interleaved`` deals the cores to sockets, NUMA nodes and L3 groups in turn. With ``across``,
    every NUMA node has an equal share of each socket; otherwise a node ends where its socket does.
    """

    near: bool = False
    interleaved: bool = False
    across: bool = False


class Layout(Record):
    """CPU sets by socket and NUMA node number; cores and L3 groups have no numbers."""

    cores: tuple[CPUSet, ...]
    sockets: Mapping[int, CPUSet]
    nodes: Mapping[int, CPUSet]
    l3_groups: tuple[CPUSet, ...]

    def restricted_to(self, cpus: CPUSet) -> "Layout":
        """Return the layout with only *cpus* online; only NUMA nodes may become empty."""
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


def regular_layout(figures: Figures, arrangement: Arrangement, *, l3_groups: int) -> Layout:
    """Divide each kind of core evenly into sockets, NUMA nodes and *l3_groups* (the total number).

    Raise ValueError if the figures do not divide evenly.
    """
    sockets, nodes = figures.sockets, figures.nodes
    if nodes and nodes % sockets and sockets % nodes and not arrangement.across:
        raise ValueError(f"{nodes} NUMA nodes and {sockets} sockets do not divide evenly")
    runs = _runs(figures, arrangement)
    if arrangement.across:
        of_nodes = _cut(runs, nodes, "NUMA nodes")
    else:
        of_nodes = _shares(runs, figures, nodes, "NUMA nodes", dealt=arrangement.interleaved)
    return Layout(
        cores=tuple(core for run in runs for core in run),
        sockets=dict(enumerate(_shares(runs, figures, sockets, "sockets", dealt=arrangement.interleaved))),
        nodes=dict(enumerate(of_nodes)),
        l3_groups=_shares(runs, figures, l3_groups, "L3 groups", dealt=arrangement.interleaved),
    )


def cpus_of_kind(figures: Figures, arrangement: Arrangement, letter: str) -> CPUSet:
    """Return the CPUs of the cores of the kind with this letter."""
    runs = _runs(figures, arrangement)
    kinds = (figures.kinds[number % len(figures.kinds)] for number in range(len(runs)))
    return _joined(run for run, kind in zip(runs, kinds, strict=True) if kind.letter == letter)


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


Run = tuple[CPUSet, ...]
"""Consecutive cores of one kind: those of a socket or, if cores are dealt, of the machine."""


@lru_cache(maxsize=4)  # a search for a description tries the same ones repeatedly
def _runs(figures: Figures, arrangement: Arrangement) -> tuple[Run, ...]:
    """Assign numbers to the CPUs of all cores."""
    if arrangement.interleaved:
        sizes = [(figures.sockets * kind.cores, kind.threads) for kind in figures.kinds]
    else:
        sizes = [(kind.cores, kind.threads) for _ in range(figures.sockets) for kind in figures.kinds]
    threads = [threads for cores, threads in sizes for _ in range(cores)]
    cores = iter(_near(threads) if arrangement.near else _far(threads))
    return tuple(tuple(islice(cores, size)) for size, _ in sizes)


def _near(threads: list[int]) -> list[CPUSet]:
    firsts = accumulate(threads, initial=0)
    return [CPUSet((1 << wanted) - 1 << first) for first, wanted in zip(firsts, threads, strict=False)]


def _far(threads: list[int]) -> list[CPUSet]:
    masks, numbers = [0] * len(threads), count()
    for thread in range(max(threads)):
        for core, wanted in enumerate(threads):
            if wanted > thread:
                masks[core] |= 1 << next(numbers)
    return list(map(CPUSet, masks))


def _shares(
    runs: tuple[Run, ...], figures: Figures, number: int, what: str, *, dealt: bool
) -> tuple[CPUSet, ...]:
    """Divide the cores into parts of equal size and, if cores differ, with equal kinds."""
    if dealt or not number:
        return _cut(runs, number, what, dealt=dealt)
    if len(figures.kinds) == 1:
        return _cut((tuple(core for run in runs for core in run),), number, what)
    kinds, sockets = len(figures.kinds), figures.sockets
    of_socket = [runs[first : first + kinds] for first in range(0, len(runs), kinds)]
    if number < sockets and sockets % number == 0:
        whole = sockets // number
        return tuple(_joined(chain(*of_socket[first : first + whole])) for first in range(0, sockets, whole))
    if number % sockets:
        raise ValueError(
            f"{sockets} sockets with several core types do not divide evenly into {number} {what}"
        )
    return tuple(part for own in of_socket for part in _cut(own, number // sockets, what))


def _cut(runs: tuple[Run, ...], number: int, what: str, *, dealt: bool = False) -> tuple[CPUSet, ...]:
    """Cut every run into parts of equal size, and join those at the same place."""
    for run in runs if number else ():
        if len(run) % number:
            raise ValueError(f"{len(run)} cores do not divide evenly into {number} {what}")
    if dealt:
        return tuple(_joined(run[first::number] for run in runs) for first in range(number))
    return tuple(
        _joined(run[place * len(run) // number : (place + 1) * len(run) // number] for run in runs)
        for place in range(number)
    )


def _joined(runs: Iterable[Run]) -> CPUSet:
    return CPUSet(sum(core.mask for run in runs for core in run))


NONE = "none"
UNKNOWN = "-"

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def parse_natural(text: str) -> int:
    """Read a non-negative number.

    Raise ValueError for any other text.
    """
    number = parse_number(text)
    if number < 0:
        raise ValueError(f"found {number}, expected a non-negative number")
    return number


def parse_cpus(text: str) -> CPUSet:
    """Read a CPU list or mask whose parts are joined by a plus sign: ``0-3+8``, ``0xf+00000000``."""
    text = text.replace("+", ",")
    mask = parse_given_mask(text)
    return within_limit(CPUSet.parse(text)) if mask is None else mask


def write_cpus(cpus: CPUSet) -> str:
    """Write CPUs in the form that ``parse_cpus`` reads."""
    return str(cpus).replace(",", "+")


def parse_groups(text: str) -> dict[int, CPUSet]:
    """Read CPU lists separated by slashes, ``0-3/4-7/252:``, by the number before the colon or by position.

    ``none`` means that there are no groups. Raise ValueError if numbers do not ascend or a CPU is named
    twice.
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
            raise ValueError(f"number {key} is not greater than the one before it")
        groups[key] = cpus
        last = key
        claimed |= cpus
    return groups


def write_groups(groups: Mapping[int, CPUSet]) -> str:
    """Write groups in the form that ``parse_groups`` reads."""
    if not groups:
        return NONE
    return "/".join(
        write_cpus(cpus) if number == position and cpus else f"{number}:{write_cpus(cpus)}"
        for position, (number, cpus) in enumerate(groups.items())
    )


def parse_bytes(text: str) -> int:
    """Read a number of bytes with or without a binary unit: ``64Gi``."""
    for power, unit in reversed(list(enumerate(_UNITS))):
        if text.endswith(unit):
            return parse_natural(text.removesuffix(unit)) << 10 * power
    raise AssertionError("every text ends with the empty unit")


def write_bytes(number: int) -> str:
    """Write bytes in the form that ``parse_bytes`` reads, in the largest exact unit."""
    power = 0
    while number and number % 1024 == 0 and power + 1 < len(_UNITS):
        number, power = number // 1024, power + 1
    return f"{number}{_UNITS[power]}"


def parse_row(text: str, parse: Callable[[str], int]) -> tuple[int | None, ...]:
    """Read one value per node, or a single one for all nodes; ``-`` is None."""
    return tuple(None if word == UNKNOWN else parse(word) for word in text.split("/"))


def write_row(values: Sequence[int | None], write: Callable[[int], str]) -> str:
    """Write values in the form that ``parse_row`` reads."""
    return "/".join(UNKNOWN if value is None else write(value) for value in values)


DEFAULT_MEMORY = (64 << 30,)
"""The bytes of every NUMA node if a description does not specify them."""
CPU_OPTIONS = ("offline", "absent", "isolated", "nohz_full", "pcores", "ecores")
GROUP_OPTIONS = ("cores", "sockets", "nodes", "l3")
L3, HUGEPAGES = UNKNOWN_OPTIONS = ("l3", "hugepages")
"""What may be unknown about a machine as a whole."""
HINT = (
    "for example synthetic:2s4n16c2t,l3=8,mem=64Gi (sockets, NUMA nodes, cores per socket, CPUs per core); "
    "see cpuctl topology synthetic --help"
)

T = TypeVar("T")
Groups = Mapping[int, CPUSet]
Row = tuple[int | None, ...]
"""One value per NUMA node, or a single one for all nodes; None is unknown or absent."""

_KIND = r"(\d{1,5})([cpe])(?:(\d{1,5})t)?"
_KINDS = re.compile(_KIND, re.ASCII)
_FIGURES = re.compile(rf"(?:(\d{{1,5}})s)?(?:(\d{{1,5}})n)?({_KIND}(?:\+?{_KIND})*)", re.ASCII)
_HUGEPAGES = f"{HUGEPAGES}-"
FLAGS = ("far", *Arrangement._fields, "nosmt")
_VALUES = (*GROUP_OPTIONS, *CPU_OPTIONS, "mem", "distances", HUGEPAGES)


class Description(Record):
    """The content of a synthetic description; ``groups`` and ``cpus`` are keyed by option name.

    ``memory`` is a row of bytes, ``hugepages`` has a row of page counts for each page size in KiB.
    ``distances`` is None for the regular ones and empty for none. ``unknown`` names options whose values are
    not or not fully recorded. With ``nosmt``, all CPUs of a core except its first are offline.
    """

    figures: Figures
    arrangement: Arrangement = Arrangement()
    nosmt: bool = False
    l3_count: int | None = None
    groups: Mapping[str, Groups] = {}
    cpus: Mapping[str, CPUSet] = {}
    memory: Row = DEFAULT_MEMORY
    hugepages: Mapping[int, Row] = {}
    distances: tuple[tuple[int, ...], ...] | None = None
    unknown: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "Description":
        """Read figures and options; raise InputError naming the part that is invalid."""
        first, *parts = text.split(",")
        figures = _at(first, _parse_figures, first)
        options = _split_options(parts)
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
            arrangement=Arrangement(*(flag in options for flag in Arrangement._fields)),
            nosmt="nosmt" in options,
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
        yield from (flag for flag, stated in self.arrangement._asdict().items() if stated)
        if self.nosmt:
            yield "nosmt"
        for key, groups in self.groups.items():
            text = write_groups(groups)
            # A single CPU would be read as a number of groups.
            yield f"{key}=0:{text}" if key == L3 and text.isdecimal() else f"{key}={text}"
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
        raise ValueError(
            f"expected a form such as 2s4n16c2t, or 8p2t+12e1t for two core types, found {text!r}"
        )
    sockets, nodes, kinds = found.groups()[:3]
    return Figures(
        sockets=int(sockets or 1),
        nodes=int(nodes or sockets or 1),
        kinds=tuple(
            CoreKind(int(cores), int(threads or 1), letter)
            for cores, letter, threads in _KINDS.findall(kinds)
        ),
    )


def _split_options(parts: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in parts:
        key, _, value = word.partition("=")
        if not _is_option(key, value):
            known = (
                *FLAGS,
                *GROUP_OPTIONS,
                *CPU_OPTIONS,
                "mem",
                "distances",
                HUGEPAGES,
                f"{_HUGEPAGES}SIZE",
            )
            raise InputError(f"expected one of {', '.join(known)}", where=word, hint=HINT)
        if key in options or {"far", "near"} <= {key, *options}:
            raise InputError("contradicts or repeats an earlier option", where=word, hint=HINT)
        options[key] = value
    return options


def _is_option(key: str, value: str) -> bool:
    if key in FLAGS:
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
