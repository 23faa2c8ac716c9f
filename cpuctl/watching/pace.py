"""When a watched node is audited as a whole: soon after a change, but not all the time.

A look costs what an audit costs. After a change, the next look waits for a moment, because changes come in
bursts; and in the long run, looks may use only a small share of one CPU, whatever happens on the node.
"""

from __future__ import annotations

from math import inf

QUIET = 0.5
"""Seconds without a change after which the node is looked at."""

NO_LATER = 3.0
"""Seconds after the first change at which it is looked at even if changes continue."""

BURST = 10
"""Looks that may follow each other before the share counts."""


class Pace:
    """Decides on the moment of the next look; moments are seconds that the caller counts.

    *full* seconds after a look comes the next, although nothing was noticed. *share* of one CPU is what looks
    may take in the long run, and samples as much again.
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
        """Note a look that has ended, and the CPU time in seconds that it took."""
        self._refill(now)
        self._limit = max(self._limit, BURST * cost)
        if self._counted is None:
            self._allowance = self._limit
        self._allowance -= cost
        self._counted, self._looked, self._first = now, now, None

    def next_inspection(self, due: float = inf) -> float:
        """Return the moment of the next look; at *due* there may be something to report in any case."""
        moments = [self._looked + self._full, max(due, self._looked + QUIET)]
        if self._first is not None:
            moments.append(min(self._last + QUIET, self._first + NO_LATER))
        return max(min(moments), self._affordable)

    def pause(self, every: float, cost: float) -> float:
        """Return the seconds from one sample to the next, by what the last one has cost."""
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
