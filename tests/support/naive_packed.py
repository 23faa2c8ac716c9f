"""Packed picking without shortcuts: plain sets, every order sorted in full, nothing precomputed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from math import ceil

from cpuctl.engine.cpu.picking.packed import Spread
from tests.support.topologies import CoreAt

Cpus = frozenset[int]
DIVIDED_BY_ZERO = "division by zero"


@dataclass(frozen=True)
class Machine:
    """A list of cores, as the tests draw it.

    ``unlisted_cpus`` are counted in the machine's total, or left out of it if the number is negative.
    """

    cores: Sequence[CoreAt]
    unlisted_cpus: int = 0

    @cached_property
    def labels(self) -> dict[str, dict[int, int]]:
        """Determine for every level and CPU the id of the element that holds it."""
        every = [(cpu, core) for core in self.cores for cpu in core.cpus]
        return {
            "node": {cpu: core.numa_node for cpu, core in every},
            "socket": {cpu: core.socket for cpu, core in every},
            "core": {cpu: min(core.cpus) for cpu, core in every},
            "cache": {cpu: core.socket if core.cache is None else core.cache for cpu, core in every},
        }

    @property
    def cpus(self) -> Cpus:
        return frozenset(self.labels["core"])

    def ids(self, level: str) -> set[int]:
        return set(self.labels[level].values())

    def members(self, level: str, element: int) -> Cpus:
        return frozenset(cpu for cpu, holder in self.labels[level].items() if holder == element)

    def average(self, level: str) -> int:
        return (len(self.cpus) + self.unlisted_cpus) // len(self.ids(level))

    @property
    def numa_first(self) -> bool:
        return len(self.ids("socket")) >= len(self.ids("node"))

    def by_free(self, level: str, free: Cpus, parent: Cpus | None = None) -> list[int]:
        """Sort the elements that have a free CPU (in the parent) by free CPUs, then id."""
        ids = {self.labels[level][cpu] for cpu in (free if parent is None else free & parent)}
        return sorted(ids, key=lambda element: (len(free & self.members(level, element)), element))

    def order(self, level: str, free: Cpus) -> list[int]:
        """Sort a level inside the level above it, which is sorted the same way."""
        top, middle = ("node", "socket") if self.numa_first else ("socket", "node")
        above = {middle: top, "core": middle, "cache": "node"}
        if level == top:
            return self.by_free(level, free)
        return [
            element
            for parent in self.order(above[level], free)
            for element in self.by_free(level, free, self.members(above[level], parent))
        ]


@dataclass
class Picking:
    """One request in progress."""

    machine: Machine
    free: Cpus
    need: int
    taken: Cpus = frozenset()

    def take(self, cpus: Cpus) -> None:
        self.taken |= cpus
        self.free -= cpus
        self.need -= len(cpus)

    def take_whole(self, level: str) -> None:
        elements = [self.machine.members(level, one) for one in self.machine.order(level, self.free)]
        for cpus in [cpus for cpus in elements if self._is_whole(level, cpus)]:
            if 0 < self.need >= len(cpus):
                self.take(cpus)

    def _is_whole(self, level: str, cpus: Cpus) -> bool:
        by_average = level in {"socket", "core"}
        return len(cpus & self.free) == (self.machine.average(level) if by_average else len(cpus))

    def take_caches(self) -> None:
        for cache in self.machine.order("cache", self.free):
            if self.need >= self.machine.average("cache"):
                self.take_whole("cache")
            if self.need > 0:
                self._take_part(self.machine.members("cache", cache))

    def _take_part(self, cache: Cpus) -> None:
        per_core = self.machine.average("core")
        cores = sorted({self.machine.labels["core"][cpu] for cpu in self.free & cache})
        wanted = cores[: ceil(self.need / per_core)]
        part = [cpu for core in wanted for cpu in sorted(self.free & self.machine.members("core", core))]
        if self.need % 2 and per_core > 1 and len(part) > self.need:
            part.remove(max(part))
        if len(part) == self.need:
            self.take(frozenset(part))

    def take_singles(self, spread: Spread) -> None:
        for cpu in self._singles(spread):
            if self.need > 0:
                self.take(frozenset({cpu}))

    def _singles(self, spread: Spread) -> list[int]:
        if spread is Spread.OFF:
            cores = self.machine.order("core", self.free)
            return [cpu for core in cores for cpu in self._free_in("core", core)]
        sockets = self.machine.order("socket", self.free)
        if spread is Spread.BY_NUMBER:
            return [cpu for socket in sockets for cpu in self._free_in("socket", socket)]
        return [cpu for socket in sockets for cpu in self._round_the_cores(socket)]

    def _free_in(self, level: str, element: int) -> list[int]:
        return sorted(self.free & self.machine.members(level, element))

    def _round_the_cores(self, socket: int) -> list[int]:
        cores = self.machine.by_free("core", self.free, self.machine.members("socket", socket))
        rounds = zip_longest(*(self._free_in("core", core) for core in cores))
        return [cpu for one in rounds for cpu in one if cpu is not None]


def pick_packed(
    machine: Machine, offered: Cpus, need: int, spread: Spread = Spread.OFF, *, prefer_uncore: bool = False
) -> Cpus | str:
    """Pick CPUs, or return the error."""
    free = offered & machine.cpus
    if need < 1:
        return frozenset()
    if need > len(free):
        return f"not enough cpus available to satisfy request: requested={need}, available={len(offered)}"
    picking = Picking(machine, free, need)
    try:
        return _picked(picking, spread, prefer_uncore=prefer_uncore)
    except ZeroDivisionError:
        return DIVIDED_BY_ZERO


def _picked(picking: Picking, spread: Spread, *, prefer_uncore: bool) -> Cpus | str:
    machine = picking.machine
    for level in ("node", "socket") if machine.numa_first else ("socket", "node"):
        picking.take_whole(level)
    if prefer_uncore and picking.need > 0:
        picking.take_caches()
    if spread is Spread.OFF:
        picking.take_whole("core")
    picking.take_singles(spread)
    return picking.taken if picking.need <= 0 else "failed to allocate cpus"
