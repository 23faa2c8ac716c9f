"""Changing the node as it was prepared: under a lock, and all of it or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cgroups.changing.applying import Applier
from cpuctl.cgroups.changing.carrying_out import Guard, Outcome, carry_out
from cpuctl.cgroups.changing.lock import locked
from cpuctl.cgroups.changing.writes import CPUS, PlannedWrite
from cpuctl.cgroups.group_files import GroupFiles
from cpuctl.cgroups.hierarchies import CGROUPS
from cpuctl.cgroups.threads import stray_threads
from cpuctl.checkpoints.names import CPU_FILE, MEMORY_FILE
from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.machine.tree import DirectoryTree
from cpuctl.operations.cgroups.preparation import Prepared, below

if TYPE_CHECKING:
    from cpuctl.cli.stop_signals import StopSignal
    from cpuctl.operations.cgroups.log import WriteLog

_ONLINE = "sys/devices/system/cpu/online"
_SHOWN = 3


class Watching(NamedTuple):
    """How long it is watched whether all holds, and who is told that time goes by."""

    seconds: float
    tick: Callable[[], None]

    def pause(self, seconds: float) -> None:
        """Wait a moment."""
        time.sleep(seconds)
        with suppress(OSError):  # a terminal that has gone is no reason to end here
            self.tick()


def perform(prepared: Prepared, log: WriteLog, stop: StopSignal, watching: Watching) -> Outcome:
    """Write under a lock, look whether it holds, and undo everything where it does not."""
    files = GroupFiles(below(prepared.root, CGROUPS), time.sleep)
    online = partial(_online, prepared.root / _ONLINE)
    changes = [write.change(prepared.at) for write in prepared.writes]
    applier = Applier(files=files, log=log, interrupted=lambda: bool(stop), online=online)
    with locked(below(prepared.root, prepared.at.cpuset)):
        guard = Guard(
            moved_on=lambda: _state_moved(prepared),
            strayed=lambda: _strayed(prepared, files),
            pause=watching.pause,
            kept=[write.change(prepared.at) for write in _kept(prepared)],
        )
        return carry_out(changes, applier, guard, watching.seconds)


def _kept(prepared: Prepared) -> Iterator[PlannedWrite]:
    """Yield what is wanted and there already: it must come into force, too."""
    written = {(write.path, write.name) for write in prepared.writes}
    for one in prepared.request.desired.wanted:
        if one.cpus and (one.path, CPUS) not in written:
            yield PlannedWrite(one.path, CPUS, str(one.cpus), str(one.cpus), "")


def _state_moved(prepared: Prepared) -> str:
    try:
        before, now = prepared.digests, digests(prepared.root, prepared.state_directory)
    except CpuctlError as error:
        return str(error)
    changed = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    return f"the kubelet has written {', '.join(changed)} meanwhile" if changed else ""


def digests(root: Path, state_directory: str) -> dict[str, str]:
    """Return the SHA-256 of the state files that the node's own kubelet has now."""
    tree, found = DirectoryTree(root), {}
    for name in (CPU_FILE, MEMORY_FILE):
        with suppress(CpuctlError):  # closed to us, or no file, as it was before: that is no change
            text = tree.read(f"{state_directory.strip('/')}/{name}")
            if text is not None:
                found[name] = sha256(text.encode()).hexdigest()
    return found


def _strayed(prepared: Prepared, files: GroupFiles) -> str:
    top = prepared.at.cpuset.removeprefix(CGROUPS)
    sets = [(f"{top}{path}", cpus) for path, cpus in prepared.inhabited.items()]
    strays = list(stray_threads(files, prepared.root / "proc", sets))
    if not strays:
        return ""
    shown = ", ".join(f"{each.tid} on {each.cpus}" for each in strays[:_SHOWN])
    return f"{strays[0].group}: threads may still run elsewhere: {shown}"


def _online(path: Path) -> CPUSet | None:
    """Read which CPUs run now."""
    try:
        return parse_cpu_list(path.read_text())
    except (OSError, ValueError):
        return None
