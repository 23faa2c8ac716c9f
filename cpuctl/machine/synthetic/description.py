"""A synthetic machine as a value between its one-line text and the machine itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.synthetic.layout import Figures, Numbering
from cpuctl.machine.synthetic.words import (
    NONE,
    parse_bytes,
    parse_cpus,
    parse_groups,
    parse_natural,
    parse_row,
    write_bytes,
    write_cpus,
    write_groups,
    write_row,
)

DEFAULT_MEMORY = (64 << 30,)
"""The bytes of every NUMA node where a description says nothing."""
CPU_OPTIONS = ("offline", "absent", "isolated", "nohz_full", "pcores", "ecores")
GROUP_OPTIONS = ("cores", "sockets", "nodes", "l3")
HINT = "for example synthetic:2s4n16c2t,l3=8,mem=64Gi (sockets, NUMA nodes, cores per socket, CPUs per core)"

T = TypeVar("T")
Groups = Mapping[int, CPUSet]
Row = tuple[int | None, ...]
"""One value per NUMA node, or a single one that holds for all; None is unknown or absent."""

_FIGURES = re.compile(r"(?:(\d{1,5})s)?(?:(\d{1,5})n)?(\d{1,5})c(?:(\d{1,5})t)?", re.ASCII)
_HUGEPAGES = "hugepages-"
_FLAGS = ("far", "near", "interleaved")


class Description(NamedTuple):
    """What a synthetic description says; ``groups`` and ``cpus`` are keyed by option name.

    ``memory`` is a row of bytes, ``hugepages`` has a row of page counts for each page size in KiB.
    ``distances`` is None for the regular ones and empty for none.
    """

    figures: Figures
    numbering: Numbering = Numbering()
    l3_count: int | None = None
    groups: Mapping[str, Groups] = {}
    cpus: Mapping[str, CPUSet] = {}
    memory: Row = DEFAULT_MEMORY
    hugepages: Mapping[int, Row] = {}
    distances: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def parse(cls, text: str) -> Description:
        """Read figures and options; raise InputError naming the part that makes no sense."""
        first, *words = text.split(",")
        figures = _at(first, _parse_figures, first)
        options = _split_options(words)
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
            known = (*_FLAGS, *GROUP_OPTIONS, *CPU_OPTIONS, "mem", "distances", f"{_HUGEPAGES}SIZE")
            raise InputError(f"expected one of {', '.join(known)}", where=word, hint=HINT)
        if key in options or {"far", "near"} <= {key, *options}:
            raise InputError("contradicts or repeats an option before it", where=word, hint=HINT)
        options[key] = value
    return options


def _is_option(key: str, value: str) -> bool:
    if key in _FLAGS:
        return not value
    named = key in {*CPU_OPTIONS, *GROUP_OPTIONS, "mem", "distances"}
    return bool(value) and (named or key.startswith(_HUGEPAGES))


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
