"""Changes to control groups that are made or undone as a whole: every value is read back, a failure ends it.

Values are changed one at a time, in the given order (``writes``); the changes before
a failure are undone in reverse order.

A kubelet compares with what it wrote last, not with what is there, so it may rewrite a value much later: two
of its reconcile periods are waited for, and a value that another process has rewritten is left alone.
Rule: ``reconcileState`` in kubelet v1.36 ``cm/cpumanager/cpu_manager.go``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cpuctl.cgroups.group_files import GONE, GroupFiles
from cpuctl.cpuset import CPUSet
from cpuctl.errors import os_reason

_EFFECTIVE = {
    "cpuset.cpus": ("cpuset.cpus.effective", "cpuset.effective_cpus"),
    "cpuset.mems": ("cpuset.mems.effective", "cpuset.effective_mems"),
}
"""The files with the effective values in v2 and v1, by the file that is written."""

INTERRUPTED = "interrupted"
_POLL = 0.5
_FORKING = 0.1


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One file of one group: its value ``before``, and its new value ``after``."""

    group: str
    name: str
    before: str
    after: str


class WriteResult(StrEnum):
    """The result of one write.

    ``writing`` is only logged: after a kill the log shows what may have been written.
    """

    WRITING = "writing"
    WRITTEN = "written"
    GONE = "gone"
    FAILED = "failed"
    RESTORED = "restored"
    EQUIVALENT = "equivalent"
    NOT_RESTORED = "not restored"


class LogEntry(NamedTuple):
    """One line of the log; ``problem`` describes what went wrong.

    ``touched``: the file may contain the written value, or the kernel's version of it; ``in_force`` is
    the previous effective value, if the kernel reports it.
    """

    step: WriteResult
    change: ValueChange
    problem: str = ""
    touched: bool = False
    in_force: str | None = None


class Applied(NamedTuple):
    """What was done, line by line."""

    entries: tuple[LogEntry, ...]

    @property
    def failure(self) -> LogEntry | None:
        """The write that failed; None if all went well."""
        return next((entry for entry in self.entries if entry.step is WriteResult.FAILED), None)

    @property
    def touched(self) -> tuple[LogEntry, ...]:
        """The changes to undo to restore the previous state."""
        return tuple(entry for entry in self.entries if entry.touched)


class _WrongValueError(Exception):
    """A value is wrong, although the kernel accepted every write."""


@dataclass(slots=True)
class Applier:
    """Makes changes; ``log`` is called for each at once, ``interrupted`` returns whether to stop and undo.

    ``online`` returns the CPUs that are online: others are in no list of v1, and never in effect.
    """

    files: GroupFiles
    log: Callable[[LogEntry], None]
    interrupted: Callable[[], bool]
    online: Callable[[], CPUSet | None] = lambda: None

    def apply(self, changes: Sequence[ValueChange]) -> Applied:
        """Make all changes, or none; groups that have disappeared in the meantime are skipped."""
        entries: list[LogEntry] = []
        try:
            for change in changes:
                entry = self._make(change)
                self._note(entries, entry)
                if entry.step is WriteResult.FAILED:
                    break
            else:
                return Applied(tuple(entries))
        except BaseException:
            self.undo(entry for entry in entries if entry.touched)
            raise
        return Applied((*entries, *self.undo(entry for entry in entries if entry.touched)))

    def undo(self, made: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
        """Undo changes, the last first; values that another program has written since are left alone."""
        entries: list[LogEntry] = []
        for entry in reversed(list(made)):
            self._note(entries, self._restore(entry))
        return tuple(entries)

    def changed_by_others(self, change: ValueChange) -> str | None:
        """Return what a file holds now in place of what we wrote; None if it is ours, or gone."""
        found = self._value(change)
        return None if found is None or self._is(change.name, found, change.after) else found

    def not_in_force(self, change: ValueChange) -> str | None:
        """Return the effective value if it differs from the written one; None if it is equal or unknown."""
        found = self._in_force(change)
        return None if found is None or self._is(change.name, found, change.after) else found

    def _note(self, entries: list[LogEntry], entry: LogEntry) -> None:
        entries.append(entry)
        self.log(entry)

    def _make(self, change: ValueChange) -> LogEntry:
        if self.interrupted():
            return LogEntry(step=WriteResult.FAILED, change=change, problem="interrupted")
        try:
            found = self._value(change)
            in_force = self._in_force(change)
        except OSError as error:
            return LogEntry(step=WriteResult.FAILED, change=change, problem=_error_text(error))
        if found is None:
            return LogEntry(step=WriteResult.GONE, change=change)
        if not same(change.name, found, change.before):
            problem = f"another process, perhaps the kubelet, has written {found!r}"
            return LogEntry(step=WriteResult.FAILED, change=change, problem=problem)
        self.log(LogEntry(step=WriteResult.WRITING, change=change, in_force=in_force))
        return self._attempt(change, in_force)

    def _attempt(self, change: ValueChange, in_force: str | None) -> LogEntry:
        step, problem = WriteResult.WRITTEN, ""
        try:
            self._put(change, change.after)
        except OSError as error:
            if error.errno in GONE and not self.files.has(change.group):
                return LogEntry(step=WriteResult.GONE, change=change)
            step, problem = WriteResult.FAILED, _error_text(error)
        except _WrongValueError as error:
            step, problem = WriteResult.FAILED, str(error)
        return LogEntry(step=step, change=change, problem=problem, touched=True, in_force=in_force)

    def _put(self, change: ValueChange, value: str, also: str | None = None) -> None:
        """Write a value and check that it is stored and in effect; *also* may be in effect instead."""
        self.files.write(change.group, change.name, value)
        found = self._value(change)
        if found is not None and not self._is(change.name, found, value):
            raise _WrongValueError(f"the kernel has changed it to {found!r}")
        effective = self._in_force(change)
        if effective is None or not value or self._is(change.name, effective, value):
            return
        if also is None or not same(change.name, effective, also):
            raise _WrongValueError(f"written, but {effective or 'nothing'} is in effect")

    def _restore(self, entry: LogEntry) -> LogEntry:
        change = entry.change
        try:
            found = self._value(change)
            if found is None:
                return LogEntry(step=WriteResult.GONE, change=change)
            if same(change.name, found, change.before):
                return LogEntry(step=WriteResult.RESTORED, change=change)
            if not self._is(change.name, found, change.after):
                problem = f"another process, perhaps the kubelet, has written {found!r}, which is kept"
                return LogEntry(step=WriteResult.NOT_RESTORED, change=change, problem=problem)
            if not change.before:
                return self._restore_nothing(change)
            self._put(change, change.before, also=entry.in_force)
        except OSError as error:
            return self._restore_rest(change, error)
        except _WrongValueError as error:
            return LogEntry(step=WriteResult.NOT_RESTORED, change=change, problem=str(error))
        return LogEntry(step=WriteResult.RESTORED, change=change)

    def _restore_nothing(self, change: ValueChange) -> LogEntry:
        """Restore an empty list; a group with tasks cannot have one again, so it gets its parent's list."""
        try:
            self.files.write(change.group, change.name, "")
        except OSError as error:
            if error.errno in GONE:
                raise
        else:
            return LogEntry(step=WriteResult.RESTORED, change=change)
        parent = change.group.rpartition("/")[0]
        for name in _EFFECTIVE[change.name]:
            if (inherited := self.files.read(parent, name)) is not None:
                self._put(change, inherited)
                problem = f"{inherited} instead of none: a cgroup with tasks cannot have none again"
                return LogEntry(step=WriteResult.EQUIVALENT, change=change, problem=problem)
        return LogEntry(step=WriteResult.NOT_RESTORED, change=change, problem="its parent's value is unknown")

    def _restore_rest(self, change: ValueChange, error: OSError) -> LogEntry:
        """Restore at least those CPUs that are still online: cgroup v1 rejects the others."""
        if error.errno in GONE:
            return LogEntry(step=WriteResult.GONE, change=change)
        problem = _error_text(error)
        rest = self._running(change.name, change.before)
        if rest and not same(change.name, rest, change.before):
            try:
                self.files.write(change.group, change.name, rest)
            except OSError as second:
                problem = _error_text(second)
            else:
                problem = f"{rest} instead of {change.before}: the others are no longer online"
        return LogEntry(step=WriteResult.NOT_RESTORED, change=change, problem=problem)

    def _value(self, change: ValueChange) -> str | None:
        """Return what a file holds, None if its group has gone; raise OSError if only the file has."""
        found = self.files.read(change.group, change.name)
        if found is None and self.files.has(change.group):
            raise OSError(
                errno.ENOTSUP, f"the cgroup no longer has {change.name}: its controller is disabled"
            )
        return found

    def _in_force(self, change: ValueChange) -> str | None:
        for name in _EFFECTIVE.get(change.name, ()):
            if (found := self.files.read(change.group, name)) is not None:
                return found
        return None

    def _is(self, name: str, found: str, value: str) -> bool:
        """Return whether a file contains *value*, or its online part."""
        return same(name, found, value) or (bool(found) and same(name, found, self._running(name, value)))

    def _running(self, name: str, value: str) -> str:
        online = self.online() if name == "cpuset.cpus" else None
        return value if online is None else str(CPUSet.parse(value) & online)


def same(name: str, one: str, other: str) -> bool:
    """Compare two values of a file as the kernel does: lists as sets."""
    if name not in _EFFECTIVE:
        return one.split() == other.split()
    try:
        return CPUSet.parse(one) == CPUSet.parse(other)
    except ValueError:
        return False


def _error_text(error: OSError) -> str:
    return f"{error.strerror or os.strerror(error.errno or 0)} ({error.errno})"


class Outcome(NamedTuple):
    """Everything that was done, and why it was aborted; ``watched`` is in seconds."""

    entries: tuple[LogEntry, ...] = ()
    failure: str = ""
    watched: float = 0.0

    @property
    def left_over(self) -> tuple[LogEntry, ...]:
        """The values that should have been restored but are not, each file once."""
        last = {(entry.change.group, entry.change.name): entry for entry in self.entries}
        return tuple(
            entry
            for entry in last.values()
            if entry.step in (WriteResult.EQUIVALENT, WriteResult.NOT_RESTORED)
        )

    @property
    def gone(self) -> tuple[LogEntry, ...]:
        """What was not written because its container had ended."""
        return tuple(entry for entry in self.entries if entry.step is WriteResult.GONE)


class Guard(NamedTuple):
    """Checks whether the preconditions still hold; a non-empty answer describes what does not.

    ``moved_on`` checks the inputs of the writes, ``escaped`` checks threads; ``pause`` waits some
    seconds. ``kept`` are values that are already set and must stay: before and after are the same.
    """

    moved_on: Callable[[], str]
    escaped: Callable[[], str]
    pause: Callable[[float], None]
    kept: Sequence[ValueChange] = ()


def carry_out(changes: Sequence[ValueChange], applier: Applier, guard: Guard, seconds: float) -> Outcome:
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
        failure = f"the node cannot be checked: {os_reason(error)}"
    except BaseException:
        # In every case, a node is never left half changed.
        applier.undo(applied.touched)
        raise
    undone = applier.undo(applied.touched) if failure else ()
    return Outcome((*applied.entries, *undone), failure, watch.waited)


class _Watch:
    """Watches what was written for as long as it may be rewritten."""

    def __init__(self, applied: Applied, applier: Applier, guard: Guard) -> None:
        self.last = _last((*guard.kept, *(entry.change for entry in applied.touched)))
        self.applier = applier
        self.guard = guard
        self.waited = 0.0

    def wait(self, seconds: float) -> str:
        """Check repeatedly, and report any change."""
        while self.waited < seconds:
            self.guard.pause(min(_POLL, seconds - self.waited))
            self.waited += _POLL
            if failure := self.check():
                return failure
        return self.threads() if seconds else ""

    def check(self) -> str:
        """Compare every value with the written one, and check for an interrupt."""
        if self.applier.interrupted():
            return INTERRUPTED
        for change in self.last:
            where = f"{change.group}/{change.name}"
            try:
                if (found := self.applier.changed_by_others(change)) is not None:
                    return (
                        f"{where}: another process, perhaps the kubelet, has written {found!r}: it is not "
                        "overwritten"
                    )
                if (found := self.applier.not_in_force(change)) is not None:
                    return f"{where}: {change.after} was written, but {found or 'nothing'} is in effect"
            except OSError as error:
                if error.errno not in GONE:
                    return f"{where}: {error.strerror}"
        return self.guard.moved_on()

    def threads(self) -> str:
        """Check the threads; a thread of a forking process is checked twice."""
        failure = self.guard.escaped()
        if failure:
            self.guard.pause(_FORKING)
            failure = self.guard.escaped()
        return failure


def _last(changes: Iterable[ValueChange]) -> list[ValueChange]:
    """Keep the last change of every file."""
    return list({(change.group, change.name): change for change in changes}.values())
