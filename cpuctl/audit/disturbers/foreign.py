"""Threads on exclusive CPUs that belong to none of the containers: programs of the host, and of the kernel.

Every program of a host may run everywhere unless somebody has told it otherwise; a kubelet does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cpuctl.audit.commands import for_each, operand
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Task
from cpuctl.audit.sets import union
from cpuctl.cgroups.names import Level, role_of
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import count, named

_UNIT = (".slice", ".scope", ".service")
_BOUND = r".*/[0-9]+|kworker/.*|irq/.*|kthreadd"
"""Names of kernel threads that cannot or need not be moved: one for each CPU, workers, handlers of
interrupts, which go where these go, and the one that only makes the others."""
_SHOWN = 3
_INFRA = (
    "mkdir -p /etc/crio/crio.conf.d; printf '[crio.runtime]\\ninfra_ctr_cpuset = \"{}\"\\n' "
    "> /etc/crio/crio.conf.d/99-infra-cpuset.conf; systemctl restart crio"
)
"""Where CRI-O puts its monitors (*crio.conf(5)*): those of containers that are still to come."""


class _Group:
    """Threads that one command moves: those below one group at the top, or of one kind."""

    def __init__(self, path: str, title: str, kind: str) -> None:
        self.path = path
        self.title = title
        self.kind = kind
        self.tasks: list[Task] = []


def check_foreign_processes(picture: Picture) -> Iterator[Finding]:
    """Tell programs that may run on exclusive CPUs, all below one group at the top together."""
    groups: dict[str, _Group] = {}
    titles: dict[str, str] = {}
    for task in _candidates(picture):
        if not task.kernel and not task.cpus.isdisjoint(picture.exclusive):
            if task.group not in titles:
                group = _group_of(task.group)
                titles[task.group] = group.title
                groups.setdefault(group.title, group)
            groups[titles[task.group]].tasks.append(task)
    for group in groups.values():
        yield _foreign(picture, group)


def check_kernel_threads(picture: Picture) -> Iterator[Finding]:
    """Tell kernel threads on exclusive CPUs that could be elsewhere, and where unbound kernel work goes."""
    movable = [
        task for task in picture.others if _is_movable(task) and task.cpus.mask & picture.exclusive.mask
    ]
    if movable:
        yield Finding(
            severity=Severity.NOTE,
            code="kernel-threads",
            place=NodePart("kernel"),
            message=f"{count(len(movable), 'kernel thread')} that can be moved may run on exclusive CPUs: "
            f"{_names(movable)}",
            expected=str(picture.housekeeping),
            detected=str(union(task.cpus for task in movable)),
            fix=for_each((task.pid for task in movable), f"taskset -cp {picture.housekeeping} {{}}"),
        )
    work = picture.interrupts.workqueues
    if work is not None and not work.isdisjoint(picture.exclusive):
        kept = picture.housekeeping
        yield Finding(
            severity=Severity.NOTE,
            code="kernel-work",
            place=NodePart("unbound workqueues"),
            message=f"work of the kernel may be done on exclusive {named(work & picture.exclusive)}",
            expected=str(kept),
            detected=str(work),
            fix=f"echo {kept.kernel_mask} > /sys/devices/virtual/workqueue/cpumask",
        )


def _candidates(picture: Picture) -> Iterator[Task]:
    """Yield the threads of no container, and of containers of which nobody knows what CPUs they are due."""
    yield from picture.others
    for seen in picture.containers:
        known = seen.expected.cpus is not None or seen.expected.choices or seen.sleeps
        if not known and seen.owner.uid not in picture.held:
            yield from seen.tasks


def _is_movable(task: Task) -> bool:
    return task.kernel and not task.fixed and not re.fullmatch(_BOUND, task.comm)


def _group_of(path: str) -> _Group:
    role = role_of(path)
    if role is None:
        parts = path.split("/")
        top = f"/{parts[1]}" if len(parts) > 1 else "/"
        return _Group(top, f"cgroup {top}", "host")
    if role.level is Level.HELPER:
        return _Group("", "monitors of containers (conmon)", "conmon")
    return _Group(path, f"cgroup {path}", "pod")


def _foreign(picture: Picture, group: _Group) -> Finding:
    allowed = union(task.cpus for task in group.tasks)
    processes = {task.pid for task in group.tasks}
    return Finding(
        severity=Severity.WARNING,
        code="foreign-processes",
        place=NodePart(group.title, path=group.path),
        message=f"{count(len(group.tasks), 'thread')} of {len(processes)} "
        f"process{'es' if len(processes) > 1 else ''} may run on exclusive CPUs of "
        f"{picture.holders(allowed)}: {_names(group.tasks)}",
        expected=str(picture.housekeeping),
        detected=str(allowed),
        fix=_fix(picture, group, processes),
    )


def _fix(picture: Picture, group: _Group, processes: Iterable[int]) -> str:
    kept, at = picture.housekeeping, picture.hierarchies
    if group.kind == "conmon":
        return f"{_INFRA.format(kept)}; {for_each(processes, f'taskset -acp {kept} {{}}')}"
    if group.kind == "host" and at is not None and at.version == 2 and group.path.endswith(_UNIT):
        unit = operand(group.path.removeprefix("/"))
        return f"systemctl set-property --runtime {unit} AllowedCPUs={kept}"
    return for_each(processes, f"taskset -acp {kept} {{}}")


def _names(tasks: Iterable[Task]) -> str:
    names = list(dict.fromkeys(task.comm for task in tasks))
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
