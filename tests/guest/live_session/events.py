"""The events of ``cpuctl watch``, compared with what was done to the node and with the kernel's files."""

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
"""Findings whose subject is compared; of others only their existence matters."""
_BY_MEMORY = "memory-spill"
_KERNEL_THREADS = "kernel-threads"
AROUND = 60.0, 30.0
"""Seconds before and after an event in which some thorough round must agree with it; there is one every
15 seconds, or later if the emulating machine is busy.
"""


class Wanted(NamedTuple):
    """An event that must occur once: when, what, and within which documented time."""

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
    # It is written in two halves, each of which may be read.
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
"""What ends an action: a watch need not report what was over before its time limit."""
MOST_EXCUSED = len(UNDONE) // 2
"""The share of actions that may end too soon; with more, a session would show nothing."""
SLOWEST = 35.0
"""Seconds of an audit with which half of what is done, and more, still lasts long enough to be reported."""


class Came(NamedTuple):
    """An expected event, and the result: how often it occurred, and after how many seconds.

    *short*: it did not occur, and lasted less than the time in which it has to be reported.
    """

    wanted: Wanted
    times: int
    delay: float | None
    late: bool
    short: bool

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a row of the table."""
        wanted = self.wanted
        reported = f"{self.delay:.1f}" if self.delay is not None else "too short" if self.short else "missed"
        return wanted.moment, wanted.event, wanted.code, str(self.times), reported, f"{wanted.stated:.1f}"


HEADING = ("done", "reported", "", "times", "after s", "documented s")


class Watched(NamedTuple):
    """The watch's reports, with the actions and observations; ``audit`` is how long one may take here."""

    events: Sequence[Event]
    moments: Mapping[str, Mapping[str, Any]]
    rounds: Sequence[Round]
    audit: float

    def wanted(self) -> Iterator[Came]:
        """Search for the events of all actions."""
        for wanted in WANTED:
            moment = self.moments[wanted.moment]
            # An audit may be running when something happens; then the next one reports it.
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
        """Return when it was over: the action was undone, or all ended.

        What was not reported when it was done is not reported when it is undone, either.
        """
        if wanted.moment in UNDONE:
            return float(self.moments[UNDONE[wanted.moment]]["at"])
        done = [each for each in WANTED if UNDONE.get(each.moment) == wanted.moment]
        reported = any(
            is_of(event, each) and self._is_before(event, wanted) for each in done for event in self.events
        )
        return self.rounds[-1].until if reported else -math.inf

    def _is_before(self, event: Event, wanted: Wanted) -> bool:
        return time_of(event) < float(self.moments[wanted.moment]["at"]) + self.audit

    def _next(self, wanted: Wanted) -> float:
        """Return when the same action is repeated, which then has its own event."""
        mine = self.moments[wanted.moment]["at"]
        equivalent = [each for each in WANTED if each[1:3] == wanted[1:3]]
        later = [at for each in equivalent if (at := float(self.moments[each.moment]["at"])) > mine]
        return min(later, default=math.inf)

    def wrong(self) -> list[str]:
        """List events that were missed, late, reported twice, or are untrue."""
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
        """Report if slow audits excuse so much that the rest shows nothing."""
        if self.audit > SLOWEST:
            yield f"audits take {self.audit:.0f} s here: nothing could be late"
        short = dict.fromkeys(came.wanted.moment for came in all_came if came.short)
        over = [moment for moment in short if moment in UNDONE]
        if len(over) > MOST_EXCUSED:
            yield f"{', '.join(over)} were over before they had to be reported: too little is left to compare"

    def others(self) -> list[Event]:
        """Return the events that follow from no action of the session: true or not."""
        wanted = [Wanted("", "Watching", "", 0), *WANTED]
        return [event for event in self.events if not any(is_of(event, each) for each in wanted)]

    def untrue(self) -> Iterator[str]:
        """Compare every event with the kernel's files of its time."""
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
            return False  # no action affected it
        so = [reported(finding, each) for each in rounds if can_tell(finding["code"], each)]
        if name == "Resolved":
            return bool(so) and not all(so)
        return any(so)

    def _is_written(self, file: Mapping[str, Any], rounds: Sequence[Round]) -> bool:
        # Half a file has no shared pool, and exists for less time than any round takes.
        return file["sharedPool"] is None or any(
            each.sha256(file["path"]) == file["sha256"] for each in rounds
        )

    def unresolved(self) -> Iterator[str]:
        """List findings that are still open at the end although the kernel's files do not show them."""
        opened: dict[tuple[str, str], Event] = {}
        for event in self.events:
            if finding := event.get("finding"):
                key = finding["code"], finding["path"] or finding["subject"]
                opened[key] = event
                if event["event"] == "Resolved":
                    del opened[key]
        for (code, _), event in opened.items():
            last = [each for each in self.rounds if can_tell(code, each)][-1]
            if not reported(event["finding"], last):
                yield f"{event['message']} was not resolved"


def time_of(event: Event) -> float:
    """Return when an event was reported."""
    return datetime.fromisoformat(event["time"]).timestamp()


def is_of(event: Event, wanted: Wanted) -> bool:
    """Return whether an event is the expected one."""
    about = event.get("finding", {}).get("code", "")
    if "stateFile" in event:
        about = event["stateFile"]["path"].rpartition("/")[2]
    elif "pod" in event:
        about = event["pod"]["pod"]
    return (event["event"], about) == (wanted.event, wanted.code)


def can_tell(code: str, found: Round) -> bool:
    """Return whether a round has read what a finding is about."""
    if code == _BY_MEMORY:
        return "memory" in found.raw
    return found.thorough


def reported(finding: Mapping[str, Any], found: Round) -> bool:
    """Return whether a finding is true according to the kernel's files of one round."""
    code = finding["code"]
    if code == _KERNEL_THREADS:
        names = finding["message"].rpartition(": ")[2].split(", ")
        threads = found.kernel_threads()
        return all(threads.get(name, frozenset()) & found.exclusive for name in names if " " not in name)
    facts = {about for each, about in found.facts() if each == code}
    return bool(facts & abouts(finding)) if code in PER_PLACE else bool(facts)


def abouts(finding: Mapping[str, Any]) -> set[str]:
    """Return the subjects of a finding, named as in facts."""
    if finding["code"] == "foreign-processes":
        inside = re.search(r"for id in ([0-9 ]+);", finding["fix"])
        return set(inside[1].split()) if inside else set(finding["fix"].split()[-1:])
    if finding["code"] == "interrupt":
        return set(re.findall(r"IRQ (\d+)", finding["subject"]))
    return {finding["path"] or ""}


def read_events(path: Path) -> list[Event]:
    """Read the output of the watch."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_name(moments: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Group the moments of a session by action."""
    return {each["name"]: each for each in moments}
