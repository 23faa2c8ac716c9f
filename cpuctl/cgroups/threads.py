"""Where the threads of a group may run, asked of the kernel thread by thread (*proc(5)*)."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cpuctl.cgroups.group_files import GroupFiles
from cpuctl.cpuset import CPUSet

_THREADS = ("cgroup.threads", "tasks", "cgroup.procs")
"""v2, v1, and what v2 still tells of a group whose threads it cannot list."""
_ALLOWED = re.compile(r"^Cpus_allowed_list:[ \t]*(\S*)", re.MULTILINE)


class Stray(NamedTuple):
    """A thread that may run outside its group's CPUs."""

    tid: int
    group: str
    cpus: CPUSet


def stray_threads(files: GroupFiles, proc: Path, sets: Iterable[tuple[str, CPUSet]]) -> Iterator[Stray]:
    """Yield threads that may run outside their group's CPUs; those that end meanwhile do not count."""
    for group, cpus in sets:
        for tid in _threads(files, group):
            allowed = _allowed(proc, tid)
            if allowed is not None and not allowed <= cpus:
                yield Stray(tid, group, allowed)


def _threads(files: GroupFiles, group: str) -> list[int]:
    for name in _THREADS:
        try:
            text = files.read(group, name)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            continue
        if text is not None:
            # 0 is a thread of another PID namespace, of which nothing can be asked.
            return [int(word) for word in text.split() if word.isdecimal() and word != "0"]
    return []


def _allowed(proc: Path, tid: int) -> CPUSet | None:
    try:
        found = _ALLOWED.search((proc / str(tid) / "status").read_text(errors="replace"))
        return CPUSet.parse(found[1]) if found else None
    except (OSError, ValueError):
        return None
