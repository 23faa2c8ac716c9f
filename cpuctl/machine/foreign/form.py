"""What the output of other tools contains about a machine, and what is assumed instead.

``cpuctl topology show`` uses the table to report what is missing, as do tests that read one machine in two
forms. A file may contain less than its form can, if a column or a section was not requested.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple


class MachineFact(StrEnum):
    """Something that a format contains or not, in the words of ``cpuctl topology show``."""

    OFFLINE = "offline CPUs"
    NUMA = "NUMA nodes"
    BARE_NODES = "NUMA nodes without CPUs"
    SOCKETS = "sockets"
    CORES = "cores"
    CACHES = "caches"
    CACHE_IDS = "cache IDs"
    CACHE_SIZES = "cache sizes"
    DISTANCES = "distances"
    NODE_MEMORY = "NUMA node memory"
    MEMORY = "total memory"
    HUGE_PAGES = "huge pages"
    CORE_KINDS = "core types"
    ISOLATED = "isolated CPUs"
    MODEL = "CPU model"


class MachineFormat(NamedTuple):
    """A format: its name, and what a file in it can contain."""

    name: str
    recorded: frozenset[MachineFact]


_LSCPU = frozenset(
    {
        MachineFact.OFFLINE,
        MachineFact.NUMA,
        MachineFact.SOCKETS,
        MachineFact.CORES,
        MachineFact.CACHES,
        MachineFact.CORE_KINDS,
    }
)
_NUMACTL = frozenset(
    {MachineFact.NUMA, MachineFact.BARE_NODES, MachineFact.DISTANCES, MachineFact.NODE_MEMORY}
)
_GHW = _NUMACTL | {
    MachineFact.SOCKETS,
    MachineFact.CORES,
    MachineFact.CACHES,
    MachineFact.CACHE_SIZES,
    MachineFact.HUGE_PAGES,
    MachineFact.MEMORY,
    MachineFact.MODEL,
}

LSCPU_PARSABLE: Final = MachineFormat("lscpu -p", _LSCPU)
LSCPU_EXTENDED: Final = MachineFormat("lscpu -e", _LSCPU)
LSCPU_JSON: Final = MachineFormat("lscpu -e -J", _LSCPU)
NUMACTL: Final = MachineFormat("numactl -H", _NUMACTL)
GHW: Final = MachineFormat("ghwc -f json", _GHW)
HWLOC_2: Final = MachineFormat(
    "hwloc XML 2",
    (_GHW - {MachineFact.MEMORY}) | {MachineFact.OFFLINE, MachineFact.CACHE_IDS, MachineFact.CORE_KINDS},
)
HWLOC_3: Final = MachineFormat("hwloc XML 3", HWLOC_2.recorded - {MachineFact.HUGE_PAGES})
CADVISOR: Final = MachineFormat(
    "cAdvisor's machine information", (_GHW - {MachineFact.MODEL}) | {MachineFact.CACHE_IDS}
)

_PART_OF: Final = {
    MachineFact.BARE_NODES: MachineFact.NUMA,
    MachineFact.DISTANCES: MachineFact.NUMA,
    MachineFact.NODE_MEMORY: MachineFact.NUMA,
    MachineFact.CACHE_IDS: MachineFact.CACHES,
    MachineFact.CACHE_SIZES: MachineFact.CACHES,
}


class FormContent(NamedTuple):
    """What one file contains: its format and the facts in it.

    ``assumed`` says what is assumed in place of the others, ``notes`` what is inexact.
    """

    form: MachineFormat
    facts: frozenset[MachineFact]
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[MachineFact, ...]:
        """What the format cannot contain, without parts of other such facts: unknown unless ``assumed``."""
        return _without_parts(fact for fact in MachineFact if fact not in self.form.recorded)

    @property
    def leaves_out(self) -> tuple[MachineFact, ...]:
        """What other files in the format contain and this one does not."""
        return _without_parts(fact for fact in MachineFact if fact in self.form.recorded - self.facts)


def _without_parts(facts: Iterable[MachineFact]) -> tuple[MachineFact, ...]:
    missing = tuple(facts)
    return tuple(fact for fact in missing if _PART_OF.get(fact) not in missing)
