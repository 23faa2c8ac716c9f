"""Changing the node as prepared: under a lock, all or nothing, with a log of every step."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.cgroups.applying import Applier, Guard, Outcome, carry_out
from cpuctl.cgroups.group_files import GroupFiles, locked, stray_threads
from cpuctl.cgroups.hierarchies import CGROUPS
from cpuctl.cgroups.writes import CPUS, PlannedWrite
from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError, NodeAccessError, os_reason, unwritable
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.operations.cgroups.preparation import PreparedWrites, below, digests

if TYPE_CHECKING:
    from cpuctl.answers.cgroups import Step as StepAnswer
    from cpuctl.cgroups.applying import LogEntry

_ONLINE = "sys/devices/system/cpu/online"
_SHOWN = 3


class Watching(NamedTuple):
    """How long the values are watched, and what is called meanwhile."""

    seconds: float
    tick: Callable[[], None]

    def pause(self, seconds: float) -> None:
        """Wait a moment."""
        time.sleep(seconds)
        with suppress(OSError):  # a closed terminal is not a reason to stop here
            self.tick()


def perform(
    prepared: PreparedWrites, log: WriteLog, interrupted: Callable[[], bool], watching: Watching
) -> Outcome:
    """Write under a lock, check whether the values last, and undo everything if they do not."""
    files = GroupFiles(below(prepared.root, CGROUPS), time.sleep)
    online = partial(_online, prepared.root / _ONLINE)
    changes = [write.change(prepared.at) for write in prepared.writes]
    applier = Applier(files=files, log=log, interrupted=interrupted, online=online)
    with locked(below(prepared.root, prepared.at.cpuset)):
        guard = Guard(
            moved_on=lambda: _state_moved(prepared),
            escaped=lambda: _escaped(prepared, files),
            pause=watching.pause,
            kept=[write.change(prepared.at) for write in _kept(prepared)],
        )
        return carry_out(changes, applier, guard, watching.seconds)


def _kept(prepared: PreparedWrites) -> Iterator[PlannedWrite]:
    """Yield what is requested and already set: it must take effect, too."""
    written = {(write.path, write.name) for write in prepared.writes}
    for one in prepared.request.desired.groups:
        if one.cpus and (one.path, CPUS) not in written:
            yield PlannedWrite(one.path, CPUS, str(one.cpus), str(one.cpus), "wait")


def _state_moved(prepared: PreparedWrites) -> str:
    try:
        before, now = prepared.digests, digests(prepared.root, prepared.state_directory)
    except CpuctlError as error:
        return str(error)
    changed = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    return f"the kubelet has changed {', '.join(changed)} in the meantime" if changed else ""


def _escaped(prepared: PreparedWrites, files: GroupFiles) -> str:
    top = prepared.at.cpuset.removeprefix(CGROUPS)
    sets = [(f"{top}{path}", cpus) for path, cpus in prepared.occupied.items()]
    strays = list(stray_threads(files, prepared.root / "proc", sets))
    if not strays:
        return ""
    shown = ", ".join(f"{each.tid} on {each.cpus}" for each in strays[:_SHOWN])
    return f"{strays[0].group}: threads may still run elsewhere: {shown}"


def _online(path: Path) -> CPUSet | None:
    """Read which CPUs are online now."""
    try:
        return parse_cpu_list(path.read_text())
    except (OSError, ValueError):
        return None


@dataclass(slots=True)
class WriteLog:
    """Logs every step; without a file it discards them. ``problem`` says what was lost of the log."""

    handle: int | None = None
    problem: str = field(default="")
    name: str = ""
    _begun: bool = False

    def __call__(self, entry: LogEntry) -> None:
        """Append one step. A full disk must not stop an undo: after the first change, it only ends the log.

        Raise NodeAccessError before that: if a log is requested, no change is made that is not in it.
        """
        if self.handle is None or self.problem:
            return
        self._append(self.handle, entry)
        if entry.step.value == "writing":
            self._refuse_unlogged()

    def _refuse_unlogged(self) -> None:
        if self.problem and not self._begun:
            hint = "nothing was changed; choose another file with --log"
            raise NodeAccessError(self.problem, where=f"{option_names.LOG} {self.name}", hint=hint)
        self._begun = True

    def _append(self, handle: int, entry: LogEntry) -> None:
        line = json.dumps(
            {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **step_answer(entry)}
        )
        data = f"{line}\n".encode()
        try:
            if os.write(handle, data) != len(data):
                self._lost(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        except OSError as error:
            self._lost(error)

    def close(self) -> None:
        """Close the file; some file systems report only now that their disk is full."""
        if self.handle is not None:
            try:
                os.close(self.handle)
            except OSError as error:
                self._lost(error)

    def _lost(self, error: OSError) -> None:
        self.problem = self.problem or f"the log could not be written completely: {os_reason(error)}"


def step_answer(entry: LogEntry) -> StepAnswer:
    """Describe one step as a plain document."""
    change = entry.change
    return {
        "step": entry.step.value,
        "group": change.group,
        "file": change.name,
        "before": change.before,
        "after": change.after,
        "problem": entry.problem or None,
    }


@contextmanager
def write_log(name: str) -> Iterator[WriteLog]:
    """Open a log for appending, if one is named; raise NodeAccessError if that is not possible."""
    if not name:
        yield WriteLog()
        return
    # An unread pipe must not block us halfway.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(name, flags, 0o644)
    except OSError as error:
        raise unwritable(error, f"{option_names.LOG} {name}") from None
    log = WriteLog(handle, name=name)
    try:
        yield log
    finally:
        log.close()
