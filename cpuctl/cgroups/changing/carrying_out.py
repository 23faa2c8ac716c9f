"""Writing, looking whether it holds, and going back at the first sign that it does not.

A kubelet compares with what it wrote last, not with what is there, so it may rewrite a value much later: two
of its reconcile periods are waited for, and a value that somebody has rewritten is never fought over.
Rule: ``reconcileState`` in kubelet v1.36 ``cm/cpumanager/cpu_manager.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cpuctl.cgroups.changing.applying import Applied, Applier, Change, Entry, Step
from cpuctl.cgroups.group_files import GONE
from cpuctl.errors import os_reason

INTERRUPTED = "interrupted"
_POLL = 0.5
_FORKING = 0.1


class Outcome(NamedTuple):
    """Everything that was done, and why it was given up; ``watched`` are seconds."""

    entries: tuple[Entry, ...] = ()
    failure: str = ""
    watched: float = 0.0

    @property
    def left_over(self) -> tuple[Entry, ...]:
        """What is not as it was before, although it should be, each file once."""
        last = {(entry.change.group, entry.change.name): entry for entry in self.entries}
        return tuple(entry for entry in last.values() if entry.step in (Step.EQUIVALENT, Step.NOT_RESTORED))

    @property
    def gone(self) -> tuple[Entry, ...]:
        """What was not written, as its container had ended."""
        return tuple(entry for entry in self.entries if entry.step is Step.GONE)


class Guard(NamedTuple):
    """Asks whether all is still well; an answer that is not empty says in words what is not.

    ``moved_on`` looks at what the writes were worked out from, ``strayed`` at threads; ``pause`` waits some
    seconds. ``kept`` are values that are there already and must hold as well: before and after are the same.
    """

    moved_on: Callable[[], str]
    strayed: Callable[[], str]
    pause: Callable[[float], None]
    kept: Sequence[Change] = ()


def carry_out(changes: Sequence[Change], applier: Applier, guard: Guard, seconds: float) -> Outcome:
    """Make all changes, then watch them for some *seconds*; on the first failure undo everything."""
    if failure := guard.moved_on():
        return Outcome(failure=failure)
    applied = applier.apply(changes)
    if applied.failure is not None:
        change = applied.failure.change
        failure = f"{change.group}/{change.name}: {applied.failure.problem}"
        if applied.failure.problem == INTERRUPTED:
            failure = INTERRUPTED
        return Outcome(applied.entries, failure)
    watch = _Watch(applied, applier, guard)
    try:
        failure = watch.check() or watch.threads() or watch.wait(seconds)
    except OSError as error:
        failure = f"the node cannot be looked at: {os_reason(error)}"
    except BaseException:
        # Whatever it is, a node is never left half changed.
        applier.undo(applied.touched)
        raise
    undone = applier.undo(applied.touched) if failure else ()
    return Outcome((*applied.entries, *undone), failure, watch.waited)


class _Watch:
    """Looks at what was written for as long as somebody may rewrite it."""

    def __init__(self, applied: Applied, applier: Applier, guard: Guard) -> None:
        self.last = _last((*guard.kept, *(entry.change for entry in applied.touched)))
        self.applier = applier
        self.guard = guard
        self.waited = 0.0

    def wait(self, seconds: float) -> str:
        """Look again and again; say what has happened."""
        while self.waited < seconds:
            self.guard.pause(min(_POLL, seconds - self.waited))
            self.waited += _POLL
            if failure := self.check():
                return failure
        return self.threads() if seconds else ""

    def check(self) -> str:
        """Compare every value with what was written, and look for an interrupt."""
        if self.applier.interrupted():
            return INTERRUPTED
        for change in self.last:
            where = f"{change.group}/{change.name}"
            try:
                if (found := self.applier.changed_by_others(change)) is not None:
                    return (
                        f"{where}: somebody else has written {found!r} (the kubelet?): it is not fought over"
                    )
                if (found := self.applier.not_in_force(change)) is not None:
                    return f"{where}: {change.after} is written, but {found or 'nothing'} is in force"
            except OSError as error:
                if error.errno not in GONE:
                    return f"{where}: {error.strerror}"
        return self.guard.moved_on()

    def threads(self) -> str:
        """Look at the threads; one that was forking gets a second look."""
        failure = self.guard.strayed()
        if failure:
            self.guard.pause(_FORKING)
            failure = self.guard.strayed()
        return failure


def _last(changes: Iterable[Change]) -> list[Change]:
    """Keep the last change of every file."""
    return list({(change.group, change.name): change for change in changes}.values())
