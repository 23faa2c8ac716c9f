"""Where the threads of containers may really run (``Cpus_allowed_list`` of *proc(5)*)."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.commands import for_each
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Seen, Task
from cpuctl.audit.sets import union
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import are, count, named

_SHOWN = 3


def check_threads(picture: Picture) -> Iterator[Finding]:
    """Tell threads that may run elsewhere than their container, and exclusive CPUs that no thread may use."""
    for seen in picture.containers:
        wanted = seen.expected.cpus
        if wanted is None or seen.sleeps:
            continue
        # Where the whole group has other CPUs, that is the finding, and not each of its threads.
        allowed = wanted | (seen.effective or CPUSet())
        if outside := [task for task in seen.tasks if not task.cpus <= allowed]:
            yield _outside(seen, wanted, outside)
        elif seen.expected.exclusive and seen.tasks:
            yield from _unused(seen, wanted & picture.machine.online)


def _outside(seen: Seen, wanted: CPUSet, outside: list[Task]) -> Finding:
    shown = ", ".join(f"{task.tid} ({task.comm})" for task in outside[:_SHOWN])
    more = f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else ""
    return Finding(
        severity=Severity.ERROR,
        code="threads-outside",
        place=NodePart.of(seen),
        message=f"{count(len(outside), 'thread')} of {len(seen.tasks)} may run on other CPUs: {shown}{more}",
        expected=str(wanted),
        detected=str(union(task.cpus for task in outside)),
        fix=for_each((task.tid for task in outside), f"taskset -cp {wanted} {{}}"),
    )


def _unused(seen: Seen, wanted: CPUSet) -> Iterator[Finding]:
    unused = wanted - seen.running_on
    if unused and seen.effective in (None, wanted):
        yield Finding(
            severity=Severity.NOTE,
            code="cpus-unused",
            place=NodePart.of(seen),
            message=f"its {are(unused)} exclusive, but none of its {count(len(seen.tasks), 'thread')} may "
            f"run on {'them' if len(unused) > 1 else 'it'}: it has pinned itself to {named(seen.running_on)}",
            expected=str(wanted),
            detected=str(seen.running_on),
        )
