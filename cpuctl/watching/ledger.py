"""What has been reported about a node, and what is new: takes values and moments, returns changes.

Nothing is read here, not even a clock: moments are seconds counted by the caller.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import NamedTuple

LONGEST = 300.0
"""The maximum number of seconds that something must be absent before it is reported as gone."""

_REMEMBERED = 2 * LONGEST
_MOST_DOUBLINGS = 10


class Kind(StrEnum):
    """The kinds of conditions of a node."""

    FINDING = "finding"
    POD = "pod"
    STATE_FILE = "state file"
    KUBELET = "kubelet"
    GAP = "gap"
    """A missing input of checks."""


class Patience(NamedTuple):
    """How many seconds something must last before its appearance, change or disappearance is reported.

    ``not_before`` is the first moment at which its appearance may be reported.
    """

    incoming: float = 0.0
    changing: float = 0.0
    going: float = 0.0
    not_before: float = -inf


Identity = tuple[Kind, tuple[str, ...]]


class Thing(NamedTuple):
    """A condition of a node: a different one if the key differs, changed if the detail differs.

    ``value`` is what is reported about it.
    """

    kind: Kind
    key: tuple[str, ...]
    detail: Hashable
    value: object
    patience: Patience = Patience()

    @property
    def identity(self) -> Identity:
        """Its identity."""
        return self.kind, self.key


class How(StrEnum):
    """What happened to a thing."""

    CAME = "came"
    CHANGED = "changed"
    WENT = "went"


class Change(NamedTuple):
    """A change to report; ``before`` is what was reported last, None for a new thing."""

    how: How
    thing: Thing
    before: Thing | None = None


class _Reported:
    """A reported thing: its state then, and since when it has been different."""

    def __init__(self, thing: Thing) -> None:
        self.thing = thing
        self.gone: float | None = None
        self.other: Hashable = None
        self.otherwise: float | None = None


class _Return(NamedTuple):
    """How often a thing has reappeared, and when it was last absent."""

    times: int
    away: float


class Ledger:
    """Reports every change once it has lasted; recurring changes are reported less and less often."""

    def __init__(self) -> None:
        self._stated: dict[Identity, _Reported] = {}
        self._waiting: dict[Identity, float] = {}
        self._returns: dict[Identity, _Return] = {}
        self._due: list[float] = []

    @property
    def stated(self) -> Mapping[Identity, Thing]:
        """Everything as last reported."""
        return {identity: entry.thing for identity, entry in self._stated.items()}

    @property
    def due(self) -> float:
        """The moment when there may be something to report even if nothing changes."""
        return min(self._due, default=inf)

    def begin(self, things: Iterable[Thing]) -> None:
        """Treat things as known, without reporting them."""
        self._stated.update({each.identity: _Reported(each) for each in things})

    def see(self, things: Iterable[Thing], now: float) -> tuple[Change, ...]:
        """Compare the current things with those reported; of equal identities, the first is used."""
        here: dict[Identity, Thing] = {}
        for thing in things:
            here.setdefault(thing.identity, thing)
        self._due = []
        self._waiting = {identity: since for identity, since in self._waiting.items() if identity in here}
        self._returns = {
            identity: back for identity, back in self._returns.items() if now - back.away < _REMEMBERED
        }
        return (*self._going(here, now), *self._changing(here, now), *self._coming(here, now))

    def _going(self, here: Mapping[Identity, Thing], now: float) -> Iterator[Change]:
        for identity, entry in [*self._stated.items()]:
            if identity in here:
                entry.gone = None
                continue
            entry.gone = now if entry.gone is None else entry.gone
            times = 0
            if back := self._returns.get(identity):
                times, self._returns[identity] = back.times, back._replace(away=now)
            patience = entry.thing.patience.going
            wait = max(patience, min(LONGEST, patience * 2**times))
            if self._has_come(entry.gone + wait, now):
                del self._stated[identity]
                self._returns[identity] = _Return(times, now)
                yield Change(How.WENT, entry.thing, entry.thing)

    def _changing(self, here: Mapping[Identity, Thing], now: float) -> Iterator[Change]:
        for identity, entry in self._stated.items():
            thing = here.get(identity)
            if thing is None or thing.detail == entry.thing.detail:
                entry.otherwise = None
                continue
            if entry.otherwise is None or entry.other != thing.detail:
                entry.other, entry.otherwise = thing.detail, now
            if self._has_come(entry.otherwise + thing.patience.changing, now):
                before, entry.thing, entry.otherwise = entry.thing, thing, None
                yield Change(How.CHANGED, thing, before)

    def _coming(self, here: Mapping[Identity, Thing], now: float) -> Iterator[Change]:
        for identity, thing in here.items():
            if identity in self._stated:
                continue
            since = self._waiting.setdefault(identity, now)
            if self._has_come(max(since + thing.patience.incoming, thing.patience.not_before), now):
                del self._waiting[identity]
                self._stated[identity] = _Reported(thing)
                if back := self._returns.get(identity):
                    self._returns[identity] = back._replace(times=min(back.times + 1, _MOST_DOUBLINGS))
                yield Change(How.CAME, thing)

    def _has_come(self, moment: float, now: float) -> bool:
        if now < moment:
            self._due.append(moment)
        return now >= moment
