"""The log of writes: one JSON object a line, each written before the next step is taken."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cpuctl.errors import NodeAccessError, os_reason, unwritable

if TYPE_CHECKING:
    from cpuctl.cgroups.changing.applying import Entry


@dataclass(slots=True)
class WriteLog:
    """Takes every step; without a file it forgets them. ``problem`` says what was lost of it."""

    handle: int | None = None
    problem: str = field(default="")
    name: str = ""
    _begun: bool = False

    def __call__(self, entry: Entry) -> None:
        """Append one step. A full disk must not stop an undo: from the first change on, it ends the log only.

        Raise NodeAccessError before that: who wants a log gets no change that is not in it.
        """
        if self.handle is None or self.problem:
            return
        self._append(self.handle, entry)
        if entry.step.value == "writing":
            self._refuse_unlogged()

    def _refuse_unlogged(self) -> None:
        if self.problem and not self._begun:
            hint = "nothing was changed; name another file with --log"
            raise NodeAccessError(self.problem, where=f"--log {self.name}", hint=hint)
        self._begun = True

    def _append(self, handle: int, entry: Entry) -> None:
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
        """Close the file; some file systems say only now that their disk is full."""
        if self.handle is not None:
            try:
                os.close(self.handle)
            except OSError as error:
                self._lost(error)

    def _lost(self, error: OSError) -> None:
        self.problem = self.problem or f"the log could not be written to its end: {os_reason(error)}"


def step_answer(entry: Entry) -> dict[str, str | None]:
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
    """Open a log to append to, if one is named; raise NodeAccessError where that is not possible."""
    if not name:
        yield WriteLog()
        return
    # A pipe that nobody reads must not keep us waiting half way.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(name, flags, 0o644)
    except OSError as error:
        raise unwritable(error, f"--log {name}") from None
    log = WriteLog(handle, name=name)
    try:
        yield log
    finally:
        log.close()
