"""What other tools tell of a machine, and what is assumed where they do not.

The table is what ``cpuctl topology show`` names as missing, and what tests go by that read one machine in two
forms. A file may tell less than its form can: a column or a section was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple


class Fact(StrEnum):
    """Something that a form holds or lacks, in the words of ``cpuctl topology show``."""

    OFFLINE = "offline CPUs"
    NUMA = "NUMA nodes"
    BARE_NODES = "NUMA nodes without CPUs"
    SOCKETS = "sockets"
    CORES = "cores"
    CACHES = "caches"
    CACHE_IDS = "ids of caches"
    CACHE_SIZES = "sizes of caches"
    DISTANCES = "distances"
    NODE_MEMORY = "memory of NUMA nodes"
    MEMORY = "memory of the machine"
    HUGE_PAGES = "huge pages"
    CORE_KINDS = "kinds of cores"
    ISOLATED = "isolated CPUs"
    MODEL = "processor's name"


class Form(NamedTuple):
    """A notation: what it is called, and what a file in it tells at the most."""

    name: str
    tells: frozenset[Fact]


_LSCPU = frozenset({Fact.OFFLINE, Fact.NUMA, Fact.SOCKETS, Fact.CORES, Fact.CACHES, Fact.CORE_KINDS})
_NUMACTL = frozenset({Fact.NUMA, Fact.BARE_NODES, Fact.DISTANCES, Fact.NODE_MEMORY})
_GHW = _NUMACTL | {
    Fact.SOCKETS,
    Fact.CORES,
    Fact.CACHES,
    Fact.CACHE_SIZES,
    Fact.HUGE_PAGES,
    Fact.MEMORY,
    Fact.MODEL,
}

LSCPU_PARSABLE: Final = Form("lscpu -p", _LSCPU)
LSCPU_EXTENDED: Final = Form("lscpu -e", _LSCPU)
LSCPU_JSON: Final = Form("lscpu -e -J", _LSCPU)
NUMACTL: Final = Form("numactl -H", _NUMACTL)
GHW: Final = Form("ghwc -f json", _GHW)
HWLOC_2: Final = Form(
    "hwloc XML 2",
    (_GHW - {Fact.MEMORY}) | {Fact.OFFLINE, Fact.CACHE_IDS, Fact.CORE_KINDS},
)
HWLOC_3: Final = Form("hwloc XML 3", HWLOC_2.tells - {Fact.HUGE_PAGES})
CADVISOR: Final = Form("cAdvisor's machine information", (_GHW - {Fact.MODEL}) | {Fact.CACHE_IDS})

_PART_OF: Final = {
    Fact.BARE_NODES: Fact.NUMA,
    Fact.DISTANCES: Fact.NUMA,
    Fact.NODE_MEMORY: Fact.NUMA,
    Fact.CACHE_IDS: Fact.CACHES,
    Fact.CACHE_SIZES: Fact.CACHES,
}


class Told(NamedTuple):
    """What one file tells: its form and the facts in it.

    ``assumed`` says what is taken for true in place of others, ``remarks`` where what is told is not exact.
    """

    form: Form
    facts: frozenset[Fact]
    assumed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def lacks(self) -> tuple[Fact, ...]:
        """What the form cannot tell, without what is a part of that: unknown, unless ``assumed``."""
        return _without_parts(fact for fact in Fact if fact not in self.form.tells)

    @property
    def leaves_out(self) -> tuple[Fact, ...]:
        """What other files of the form tell."""
        return _without_parts(fact for fact in Fact if fact in self.form.tells - self.facts)


def _without_parts(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    missing = tuple(facts)
    return tuple(fact for fact in missing if _PART_OF.get(fact) not in missing)
