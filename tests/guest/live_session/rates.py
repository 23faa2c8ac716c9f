"""The rates that ``cpuctl top`` has recorded, compared with the growth of the kernel's counters."""

from __future__ import annotations

import gzip
import json
import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.guest.live_session import kernel
from tests.guest.live_session.kernel import Counters, Round

WINDOW = 30.0
"""Seconds over which rates are compared: a moment of top begins and ends between two rounds."""
_LONGEST = WINDOW / 3
"""Seconds: for a longer moment, as on an overloaded machine, the part within a window is unknown."""
_WHOLE = 0.97
"""The part of a window that moments with a value have to cover; subjects that came or went are left out."""


class Spell(NamedTuple):
    """A moment of top: its start, its end, and its values."""

    begin: float
    end: float
    document: Any


def read_spells(path: Path) -> list[Spell]:
    """Read a recording, which is complete line by line."""
    spells = []
    with gzip.open(path) as file:
        for line in file:
            document = json.loads(line)
            end = datetime.fromisoformat(document["time"]).timestamp()
            spells.append(Spell(end - document["seconds"], end, document))
    return spells


class Quantity(NamedTuple):
    """A comparison: rates by a key, counters by the same; ``most`` is the largest allowed difference.

    Of a window, in the rate's unit; ``drift`` is how far the sums over all windows may be apart, of all.
    """

    name: str
    unit: str
    rates: Callable[[Any], Mapping[str, float | None]]
    counters: Callable[[Round], Counters]
    most: float
    drift: float = 0.03


class Compared(NamedTuple):
    """One window of one key."""

    key: str
    begin: float
    seconds: float
    reported: float
    counted: float

    @property
    def difference(self) -> float:
        """The difference between the rates."""
        return abs(self.reported - self.counted)


class Row(NamedTuple):
    """A row of the table."""

    quantity: Quantity
    windows: Sequence[Compared]

    @property
    def sums(self) -> tuple[float, float]:
        """The sums of all windows according to top and the kernel."""
        reported = math.fsum(each.reported * each.seconds for each in self.windows)
        return reported, math.fsum(each.counted * each.seconds for each in self.windows)

    @property
    def wrong(self) -> list[str]:
        """List the differences that are too large."""
        found = [
            f"{self.quantity.name} of {each.key}: top {each.reported:.3f}, kernel {each.counted:.3f} "
            f"in {each.seconds:.0f} s from {each.begin:.0f}"
            for each in self.windows
            if each.difference > max(self.quantity.most, 0.1 * each.counted)
        ]
        reported, counted = self.sums
        if abs(reported - counted) > max(self.quantity.drift * counted, self.quantity.most * WINDOW):
            found.append(f"{self.quantity.name}: {reported:.2f} in all, {counted:.2f} for the kernel")
        # Of nothing, or of next to nothing, no difference would be too large.
        if all(each.counted <= self.quantity.most for each in self.windows):
            found.append(f"{self.quantity.name}: nothing could be compared")
        return found

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        differences = [each.difference for each in self.windows] or [0.0]
        reported, counted = self.sums
        return (
            self.quantity.name,
            str(len({each.key for each in self.windows})),
            str(len(self.windows)),
            f"{max((each.counted for each in self.windows), default=0):.3f}",
            f"{statistics.median(differences):.4f}",
            f"{max(differences):.4f}",
            self.quantity.unit,
            f"{reported:.1f}",
            f"{counted:.1f}",
        )


HEADING = ("quantity", "of", "windows", "largest", "median diff", "max diff", "unit", "top", "kernel")


def _of_cpus(name: str) -> Callable[[Any], Mapping[str, float | None]]:
    return lambda document: {str(each["cpu"]): each[name] for each in document["cpus"]}


def _of_containers(name: str, *more: str) -> Callable[[Any], Mapping[str, float | None]]:
    def rates(document: Any) -> Mapping[str, float | None]:
        found = {}
        for each in document["containers"]:
            value = each[name]
            for part in more:
                value = None if value is None else value[part]
            found[each["path"]] = value
        return found

    return rates


def _of_nodes(name: str) -> Callable[[Any], Mapping[str, float | None]]:
    return lambda document: {str(each["id"]): each[name] for each in document["numaNodes"]}


def _stalled(document: Any) -> Mapping[str, float | None]:
    found = {each["scope"]: each["some"] for each in document["pressure"]}
    return {**found, **_of_containers("pressure", "some")(document)}


def _foreign(tid: int, key: str) -> Callable[[Any], Mapping[str, float | None]]:
    def rates(document: Any) -> Mapping[str, float | None]:
        seen = [each for row in document["containers"] for each in row["foreign"] if each["tid"] == tid]
        # Threads are read in turn: what one did before it was found is in no moment.
        return {key: sum(each["used"] for each in seen)} if seen else {}

    return rates


def quantities(stray: int, victim: str) -> list[Quantity]:
    """List all comparisons; *stray* is the thread that runs on CPUs of *victim*, a container's group."""
    groups, threads, containers = kernel.of_groups, kernel.of_threads, _of_containers
    used = groups("usage_usec", 1e6)
    throttled = groups("throttled_usec", 1e6, above=True)
    periods = groups("nr_throttled", above=True)
    return [
        Quantity("load of CPUs", "CPUs", _of_cpus("busy"), kernel.busy, 0.05),
        Quantity("used by containers", "CPUs", containers("used"), used, 0.05),
        Quantity("throttled", "s/s", containers("throttled"), throttled, 0.05),
        Quantity("throttled periods", "/s", containers("throttledPeriods"), periods, 0.5),
        Quantity("waiting (PSI, some)", "s/s", _stalled, kernel.stalled, 0.05),
        Quantity("run queues of CPUs", "s/s", _of_cpus("runQueueDelay"), kernel.waited_on_cpus, 0.05),
        Quantity("run queue delay", "s/s", containers("runQueueDelay"), threads("waited", 1e9), 0.05),
        Quantity("migrations", "/s", containers("migrations"), threads("migrations"), 0.5),
        Quantity("interrupts", "/s", _of_cpus("interrupts"), kernel.interrupts, 1.0),
        Quantity(
            "the stray thread", "CPUs", _foreign(stray, "stray"), kernel.ran(stray, "stray"), 0.05, 0.06
        ),
        # Others are the stray and the kernel's own threads; ticks separate interrupts from them.
        Quantity("used by others", "CPUs", containers("others"), kernel.ran(stray, victim), 0.1, 0.35),
        Quantity("numa_miss", "/s", _of_nodes("misses"), kernel.numa("numa_miss"), 50.0),
        Quantity("numa_foreign", "/s", _of_nodes("foreign"), kernel.numa("numa_foreign"), 50.0),
        Quantity("other_node", "/s", _of_nodes("otherNode"), kernel.numa("other_node"), 50.0),
    ]


class _Open:
    """A window that is still too short."""

    def __init__(self, at: float, values: Mapping[str, float]) -> None:
        self.begin = self.at = at
        self.values = values
        self.grown = 0.0

    def add(self, at: float, values: Mapping[str, float]) -> None:
        """Add another round."""
        self.grown += math.fsum(new - self.values[sub] for sub, new in values.items())
        self.at, self.values = at, values


def compare(quantity: Quantity, spells: Sequence[Spell], rounds: Sequence[Round]) -> Row:
    """Compare a rate over windows of WINDOW seconds, from one round to another."""
    ends = [spell.end for spell in spells]
    tables = [quantity.rates(spell.document) for spell in spells]
    windows: list[Compared] = []
    opened: dict[str, _Open] = {}
    for found in rounds:
        counters = quantity.counters(found)
        if not counters:
            continue
        # Threads that start or end in between are seen for different times.
        opened = {
            key: window
            for key, window in opened.items()
            if key in counters and counters[key][1].keys() == window.values.keys()
        }
        for key, (at, values) in counters.items():
            if key in opened:
                opened[key].add(at, values)
            window = opened.setdefault(key, _Open(at, values))
            if at - window.begin < WINDOW:
                continue
            reported = _reported(key, (window.begin, at), spells, tables, bisect_left(ends, window.begin))
            if reported is not None:
                seconds = at - window.begin
                windows.append(Compared(key, window.begin, seconds, reported, window.grown / seconds))
            opened[key] = _Open(at, values)
    return Row(quantity, windows)


def _reported(
    key: str,
    window: tuple[float, float],
    spells: Sequence[Spell],
    tables: Sequence[Mapping[str, float | None]],
    first: int,
) -> float | None:
    """Return the mean rate in a window; None if a part of it has none."""
    begin, end = window
    covered, happened = 0.0, 0.0
    for spell, table in zip(spells[first:], tables[first:], strict=True):
        if spell.begin >= end:
            break
        value = table.get(key)
        overlap = min(spell.end, end) - max(spell.begin, begin)
        if overlap > 0 and spell.end - spell.begin > _LONGEST:
            return None
        if value is not None and overlap > 0:
            covered += overlap
            happened += value * overlap
    return happened / covered if covered >= _WHOLE * (end - begin) else None


def wrong_cpus(spells: Sequence[Spell], rounds: Sequence[Round]) -> list[str]:
    """Return the moments whose CPUs differ from the kernel's in the rounds before and after them."""
    starts, counted = [found.at for found in rounds], [set(kernel.busy(found)) for found in rounds]
    wrong = []
    for spell in spells:
        before, behind = bisect_left(starts, spell.begin) - 1, bisect_left(starts, spell.end)
        if before < 0 or behind == len(rounds) or counted[before] != counted[behind]:
            continue  # it begins and ends between rounds that have no data about it
        reported = {str(each["cpu"]) for each in spell.document["cpus"]}
        if reported != counted[before]:
            many = len(counted[before])
            wrong.append(f"{spell.document['time']}: top has {len(reported)} CPUs, the kernel {many}")
    return wrong


def gaps(spells: Sequence[Spell]) -> list[float]:
    """Return the seconds between moments of top that no moment covers."""
    return [after.begin - before.end for before, after in pairwise(spells)]
