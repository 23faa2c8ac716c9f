"""When to audit a watched node as a whole: soon after a change, but not continuously.

An inspection costs as much as an audit. After a change, the next inspection waits for a moment, because
changes occur in bursts; and in the long run, inspections may only use a small share of one CPU, whatever
happens on the node.
"""

from __future__ import annotations

from math import inf

QUIET = 0.5
"""Seconds without a change after which the node is inspected."""

NO_LATER = 3.0
"""Seconds after the first change at which it is inspected even if changes continue."""

BURST = 10
"""Consecutive inspections that are allowed before the share applies."""


class Pace:
    """Decides on the moment of the next inspection; moments are seconds counted by the caller.

    An inspection is followed by another after *full* seconds even if nothing was noticed. *share* is the part
    of one CPU that inspections may use in the long run; samples may use as much again.
    """

    def __init__(self, full: float, share: float) -> None:
        self._full = full
        self._share = share
        self._first: float | None = None
        self._last = 0.0
        self._looked = 0.0
        self._allowance = 0.0
        self._limit = 0.0
        self._counted: float | None = None

    def noticed(self, now: float) -> None:
        """Note a change."""
        self._first = now if self._first is None else self._first
        self._last = now

    def looked(self, now: float, cost: float) -> None:
        """Note a finished inspection, and the CPU time in seconds that it took."""
        self._refill(now)
        self._limit = max(self._limit, BURST * cost)
        if self._counted is None:
            self._allowance = self._limit
        self._allowance -= cost
        self._counted, self._looked, self._first = now, now, None

    def next_inspection(self, due: float = inf) -> float:
        """Return the moment of the next inspection; at *due* there may be something to report in any case."""
        moments = [self._looked + self._full, max(due, self._looked + QUIET)]
        if self._first is not None:
            moments.append(min(self._last + QUIET, self._first + NO_LATER))
        return max(min(moments), self._affordable)

    def pause(self, every: float, cost: float) -> float:
        """Return the seconds from one sample to the next, based on the cost of the last one."""
        return max(every, cost / self._share)

    @property
    def _affordable(self) -> float:
        """The moment from which the allowance is not overdrawn."""
        if self._counted is None or self._allowance >= 0:
            return 0.0
        return self._counted - self._allowance / self._share

    def _refill(self, now: float) -> None:
        if self._counted is not None:
            self._allowance = min(self._limit, self._allowance + (now - self._counted) * self._share)
            self._counted = now
