"""The events that ``cpuctl watch`` has reported, against what was done to the node and the kernel's files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.guest.live_session.kernel import Round, cpus_of

Event = Mapping[str, Any]

SAMPLED, NOTICED, SETTLED, FULL = 2.5, 3.0, 10.0, 60.0
"""Seconds, as docs/watch.md has them: a sample and the pause behind it, the longest pause behind notices,
--settle, and the --full of this session.
"""
PER_PLACE = ("foreign-processes", "interrupt", "quota-on-exclusive", "memory-spill", "cpuset-differs")
"""Findings that are compared with what they are about; of others it counts that there is one."""
_BY_MEMORY = "memory-spill"
_KERNEL_THREADS = "kernel-threads"
AROUND = 60.0, 30.0
"""Seconds before and after an event in which what it tells must have been so in some thorough round; one
comes every 15 seconds, or later where the machine that emulates has much else to do.
"""


class Wanted(NamedTuple):
    """An event that has to be there once: at which moment, what, within which time as documented."""

    moment: str
    event: str
    code: str
    stated: float
    most: int = 1


WANTED = (
    Wanted("stray", "Found", "foreign-processes", SAMPLED),
    Wanted("interrupt", "Found", "interrupt", SAMPLED),
    Wanted("stray ends", "Resolved", "foreign-processes", SAMPLED + SETTLED),
    Wanted("interrupt back", "Resolved", "interrupt", SAMPLED + SETTLED),
    Wanted("quota", "Found", "quota-on-exclusive", NOTICED),
    Wanted("no quota", "Resolved", "quota-on-exclusive", NOTICED + SETTLED),
    # It is written in two halves, each of which may be seen.
    Wanted("pod comes", "StateFileWritten", "cpu_manager_state", NOTICED, most=2),
    Wanted("pod comes", "StateFileWritten", "memory_manager_state", NOTICED, most=2),
    Wanted("pod comes", "PodAdded", "shop/gone", NOTICED),
    Wanted("pod goes", "PodRemoved", "shop/gone", NOTICED),
    Wanted("pod goes", "StateFileWritten", "cpu_manager_state", NOTICED),
    Wanted("pod goes", "StateFileWritten", "memory_manager_state", NOTICED),
    Wanted("CPU offline", "Found", "cpus-offline", SAMPLED),
    Wanted("CPU online", "Resolved", "cpus-offline", SAMPLED + SETTLED),
    Wanted("memory moved", "Found", "memory-spill", FULL),
    Wanted("memory back", "Resolved", "memory-spill", FULL + SETTLED),
)


UNDONE = {
    "stray": "stray ends",
    "interrupt": "interrupt back",
    "quota": "no quota",
    "pod comes": "pod goes",
    "CPU offline": "CPU online",
    "memory moved": "memory back",
}
"""What ends what was done: a watch need not tell of what was over before it had to."""
MOST_EXCUSED = len(UNDONE) // 2
"""So much of what was done may be over too soon; with more, a session would show nothing."""
SLOWEST = 35.0
"""Seconds of an audit with which half of what is done, and more, still lasts long enough to be reported."""


class Came(NamedTuple):
    """What was wanted, and what came of it: how often, and after how many seconds.

    *short*: it did not come, and lasted for less time than it has to be reported in.
    """

    wanted: Wanted
    times: int
    delay: float | None
    late: bool
    short: bool

    def cells(self) -> tuple[str, ...]:
        """Return the words of a line of the table."""
        wanted = self.wanted
        told = f"{self.delay:.1f}" if self.delay is not None else "too short" if self.short else "missed"
        return wanted.moment, wanted.event, wanted.code, str(self.times), told, f"{wanted.stated:.1f}"


HEADING = ("done", "reported", "", "times", "after s", "documented s")


class Watched(NamedTuple):
    """What the watch has reported, beside what was done and seen; ``audit`` is how long one may take here."""

    events: Sequence[Event]
    moments: Mapping[str, Mapping[str, Any]]
    rounds: Sequence[Round]
    audit: float

    def wanted(self) -> Iterator[Came]:
        """Look for everything that was done."""
        for wanted in WANTED:
            moment = self.moments[wanted.moment]
            # An audit may be on its way when something happens, and the next one tells of it.
            limit = moment["until"] - moment["at"] + wanted.stated + 2 * self.audit
            found = [
                time_of(event) - moment["at"]
                for event in self.events
                if is_of(event, wanted) and moment["at"] <= time_of(event) < self._next(wanted)
            ]
            first = min(found, default=None)
            delay = None if first is None else max(first - (moment["until"] - moment["at"]), 0.0)
            lasted = self._until(wanted) - moment["at"]
            yield Came(
                wanted,
                len(found),
                delay,
                late=first is not None and first > limit,
                short=first is None and lasted < limit,
            )

    def _until(self, wanted: Wanted) -> float:
        """Return when it was over: what was done was undone, or all ended.

        What was not reported when it was done is not reported when it is undone, either.
        """
        if wanted.moment in UNDONE:
            return float(self.moments[UNDONE[wanted.moment]]["at"])
        done = [each for each in WANTED if UNDONE.get(each.moment) == wanted.moment]
        told = any(
            is_of(event, each) and self._is_before(event, wanted) for each in done for event in self.events
        )
        return self.rounds[-1].until if told else -math.inf

    def _is_before(self, event: Event, wanted: Wanted) -> bool:
        return time_of(event) < float(self.moments[wanted.moment]["at"]) + self.audit

    def _next(self, wanted: Wanted) -> float:
        """Return when the same is done again, which then counts for that."""
        mine = self.moments[wanted.moment]["at"]
        alike = [each for each in WANTED if each[1:3] == wanted[1:3]]
        later = [at for each in alike if (at := float(self.moments[each.moment]["at"])) > mine]
        return min(later, default=math.inf)

    def wrong(self) -> list[str]:
        """Say what was missed, late, reported twice, or is not true."""
        all_came = list(self.wanted())
        found = list(self._excused(all_came))
        for came in all_came:
            wanted = came.wanted
            name = f"{wanted.moment}: {wanted.event} {wanted.code}"
            if came.delay is None and not came.short:
                found.append(f"{name} was missed")
            elif came.late:
                found.append(f"{name} came {came.delay:.0f} s late")
            if came.times > wanted.most:
                found.append(f"{name} came {came.times} times")
        return [*found, *self.untrue(), *self.unresolved()]

    def _excused(self, all_came: Sequence[Came]) -> Iterator[str]:
        """Say where so much is excused by slow audits that what is left shows nothing."""
        if self.audit > SLOWEST:
            yield f"audits take {self.audit:.0f} s here: nothing could be late"
        short = dict.fromkeys(came.wanted.moment for came in all_came if came.short)
        over = [moment for moment in short if moment in UNDONE]
        if len(over) > MOST_EXCUSED:
            yield f"{', '.join(over)} were over before they had to be reported: too little is left to compare"

    def others(self) -> list[Event]:
        """Return the events that follow from no moment of the session: true or not."""
        wanted = [Wanted("", "Watching", "", 0), *WANTED]
        return [event for event in self.events if not any(is_of(event, each) for each in wanted)]

    def untrue(self) -> Iterator[str]:
        """Hold every event against the kernel's files of its time."""
        for event in self.events:
            at = time_of(event)
            rounds = [each for each in self.rounds if at - AROUND[0] <= each.at <= at + AROUND[1]]
            if not self._is_true(event, rounds):
                yield f"{event['time']} {event['event']}: {event['message']} is not in the kernel's files"

    def _is_true(self, event: Event, rounds: Sequence[Round]) -> bool:
        name, finding = event["event"], event.get("finding")
        if name == "Watching":
            exclusive = re.search(r"exclusive CPUs ([0-9,-]+), shared", event["message"])
            return exclusive is not None and cpus_of(exclusive[1]) == self.rounds[0].exclusive
        if name == "StateFileWritten":
            return self._is_written(event["stateFile"], rounds)
        if name in ("PodAdded", "PodRemoved"):
            own = {each["container"]: each["cpus"] for each in event["pod"]["exclusive"]}
            return any(each.entries.get(event["pod"]["uid"], {}) == own for each in rounds)
        if finding is None:
            return False  # nothing was done to what it tells
        so = [told(finding, each) for each in rounds if can_tell(finding["code"], each)]
        if name == "Resolved":
            return bool(so) and not all(so)
        return any(so)

    def _is_written(self, file: Mapping[str, Any], rounds: Sequence[Round]) -> bool:
        # Half a file has no shared pool, and lies there for less than any round sees.
        return file["sharedPool"] is None or any(
            each.sha256(file["path"]) == file["sha256"] for each in rounds
        )

    def unresolved(self) -> Iterator[str]:
        """Name findings that are still open at the end although the kernel's files have nothing of them."""
        opened: dict[tuple[str, str], Event] = {}
        for event in self.events:
            if finding := event.get("finding"):
                key = finding["code"], finding["path"] or finding["subject"]
                opened[key] = event
                if event["event"] == "Resolved":
                    del opened[key]
        for (code, _), event in opened.items():
            last = [each for each in self.rounds if can_tell(code, each)][-1]
            if not told(event["finding"], last):
                yield f"{event['message']} was not resolved"


def time_of(event: Event) -> float:
    """Return when an event was reported."""
    return datetime.fromisoformat(event["time"]).timestamp()


def is_of(event: Event, wanted: Wanted) -> bool:
    """Return whether an event is what is wanted."""
    about = event.get("finding", {}).get("code", "")
    if "stateFile" in event:
        about = event["stateFile"]["path"].rpartition("/")[2]
    elif "pod" in event:
        about = event["pod"]["pod"]
    return (event["event"], about) == (wanted.event, wanted.code)


def can_tell(code: str, found: Round) -> bool:
    """Return whether a round has looked at what a finding is about."""
    if code == _BY_MEMORY:
        return "memory" in found.raw
    return found.thorough


def told(finding: Mapping[str, Any], found: Round) -> bool:
    """Return whether a finding is so by the kernel's files of one round."""
    code = finding["code"]
    if code == _KERNEL_THREADS:
        names = finding["message"].rpartition(": ")[2].split(", ")
        threads = found.kernel_threads()
        return all(threads.get(name, frozenset()) & found.exclusive for name in names if " " not in name)
    facts = {about for each, about in found.facts() if each == code}
    return bool(facts & abouts(finding)) if code in PER_PLACE else bool(facts)


def abouts(finding: Mapping[str, Any]) -> set[str]:
    """Return what a finding is about, as facts name it."""
    if finding["code"] == "foreign-processes":
        inside = re.search(r"for id in ([0-9 ]+);", finding["fix"])
        return set(inside[1].split()) if inside else set(finding["fix"].split()[-1:])
    if finding["code"] == "interrupt":
        return set(re.findall(r"IRQ (\d+)", finding["subject"]))
    return {finding["path"] or ""}


def read_events(path: Path) -> list[Event]:
    """Read what the watch has written."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_name(moments: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Sort the moments of a session by what was done."""
    return {each["name"]: each for each in moments}
