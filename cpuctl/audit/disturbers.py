"""Disturbances of exclusive CPUs: foreign threads, interrupts, boot parameters.

Every program of a host may run everywhere unless configured otherwise, which a kubelet does not do.

Boot parameters isolcpus and nohz_full: *Documentation/admin-guide/kernel-parameters.txt*. Neither is needed;
setting only a part has unexpected effects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from cpuctl.audit.commands import MOST, for_each, operand
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.snapshot import Interrupt, NodeSnapshot, ObservedContainer, Task
from cpuctl.capture.node.interrupts import DEFAULT_AFFINITY
from cpuctl.cgroups.names import Level, role_of
from cpuctl.cpuset import CPUSet, union
from cpuctl.diagnostics import Severity
from cpuctl.phrases import are, counted, few, named

_UNIT = (".slice", ".scope", ".service")
_BOUND = r".*/[0-9]+|kworker/.*|irq/.*|kthreadd"
"""Names of kernel threads that cannot or need not be moved: one per CPU, workers, handlers of interrupts,
which follow these, and the one that only creates the others."""
_INFRA = (
    "mkdir -p /etc/crio/crio.conf.d; printf '[crio.runtime]\\ninfra_ctr_cpuset = \"{}\"\\n' "
    "> /etc/crio/crio.conf.d/99-infra-cpuset.conf; systemctl restart crio"
)
"""The CPU set of CRI-O's monitors (*crio.conf(5)*), including those of future containers."""


class _Group:
    """Threads that one command moves: those below one top-level group, or of one kind."""

    def __init__(self, path: str, title: str, kind: str) -> None:
        self.path = path
        self.title = title
        self.kind = kind
        self.tasks: list[Task] = []


def check_foreign_processes(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report programs that may run on exclusive CPUs, grouped by top-level group."""
    groups: dict[str, _Group] = {}
    titles: dict[str, str] = {}
    for task in _candidates(snapshot):
        if not task.kernel and not task.cpus.isdisjoint(snapshot.exclusive):
            if task.group not in titles:
                group = _group_of(task.group)
                titles[task.group] = group.title
                groups.setdefault(group.title, group)
            groups[titles[task.group]].tasks.append(task)
    for group in groups.values():
        yield _foreign(snapshot, group)


def check_kernel_threads(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report kernel threads on exclusive CPUs that could be elsewhere, and where unbound kernel work runs."""
    movable = [
        task for task in snapshot.others if _is_movable(task) and task.cpus.mask & snapshot.exclusive.mask
    ]
    if movable:
        yield Finding(
            severity=Severity.NOTE,
            code="kernel-threads",
            place=NodePart("kernel"),
            message=f"{counted(len(movable), 'kernel thread')} that could be moved may run on exclusive CPUs:"
            f" {_names(movable)}",
            expected=str(snapshot.housekeeping),
            detected=str(union(task.cpus for task in movable)),
            fix=for_each((task.pid for task in movable), f"taskset -cp {snapshot.housekeeping} {{}}"),
        )
    work = snapshot.interrupts.workqueues
    if work is not None and not work.isdisjoint(snapshot.exclusive):
        kept = snapshot.housekeeping
        yield Finding(
            severity=Severity.NOTE,
            code="kernel-work",
            place=NodePart("unbound workqueues"),
            message=f"kernel workqueues may run on exclusive {named(work & snapshot.exclusive)}",
            expected=str(kept),
            detected=str(work),
            fix=f"echo {kept.kernel_mask} > /sys/devices/virtual/workqueue/cpumask",
        )


def _candidates(snapshot: NodeSnapshot) -> Iterator[Task]:
    """Yield the threads outside containers, and of containers whose expected CPUs are unknown."""
    yield from snapshot.others
    for observed in snapshot.containers:
        known = observed.expected.cpus is not None or observed.expected.choices or observed.sleeps
        if not known and observed.owner.uid not in snapshot.held:
            yield from observed.tasks


def _is_movable(task: Task) -> bool:
    return task.kernel and may_be_moved(task.comm, fixed=task.fixed)


def may_be_moved(comm: str, *, fixed: bool) -> bool:
    """Return whether a kernel thread of this name can and should be moved to other CPUs."""
    return not fixed and not re.fullmatch(_BOUND, comm)


def _group_of(path: str) -> _Group:
    role = role_of(path)
    if role is None:
        parts = path.split("/")
        top = f"/{parts[1]}" if len(parts) > 1 else "/"
        return _Group(top, f"cgroup {top}", "host")
    if role.level is Level.HELPER:
        return _Group("", "container monitors (conmon)", "conmon")
    return _Group(path, f"cgroup {path}", "pod")


def _foreign(snapshot: NodeSnapshot, group: _Group) -> Finding:
    allowed = union(task.cpus for task in group.tasks)
    processes = {task.pid for task in group.tasks}
    return Finding(
        severity=Severity.WARNING,
        code="foreign-processes",
        place=NodePart(group.title, path=group.path),
        message=f"{counted(len(group.tasks), 'thread')} of {len(processes)} "
        f"process{'es' if len(processes) > 1 else ''} may run on exclusive CPUs of "
        f"{snapshot.holders(allowed)}: {_names(group.tasks)}",
        expected=str(snapshot.housekeeping),
        detected=str(allowed),
        fix=_fix(snapshot, group, processes),
    )


def _fix(snapshot: NodeSnapshot, group: _Group, processes: Iterable[int]) -> str:
    kept, at = snapshot.housekeeping, snapshot.hierarchies
    if group.kind == "conmon":
        return f"{_INFRA.format(kept)}; {for_each(processes, f'taskset -acp {kept} {{}}')}"
    if group.kind == "host" and at is not None and at.version == 2 and group.path.endswith(_UNIT):
        unit = operand(group.path.removeprefix("/"))
        return f"systemctl set-property --runtime {unit} AllowedCPUs={kept}"
    return for_each(processes, f"taskset -acp {kept} {{}}")


def _names(tasks: Iterable[Task]) -> str:
    return few(list(dict.fromkeys(task.comm for task in tasks)))


def check_interrupts(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report every interrupt on an exclusive CPU, and in one sentence those that could arrive there."""
    possible, came = [], []
    for interrupt in snapshot.interrupts.known:
        if interrupt.allowed is None and interrupt.fired:
            came.append(interrupt)
        if (interrupt.allowed or CPUSet()).isdisjoint(snapshot.exclusive):
            continue
        comes = _delivery_cpus(interrupt, snapshot.exclusive)
        if comes.isdisjoint(snapshot.exclusive):
            possible.append(interrupt)
        else:
            yield _coming(snapshot, interrupt, comes)
    if possible:
        yield _possible(snapshot, possible)
    if came:
        yield _came(snapshot, came)
    yield from _default(snapshot)


def _delivery_cpus(interrupt: Interrupt, exclusive: CPUSet) -> CPUSet:
    """Return where it arrives; a redirected interrupt moves with its next event, not before."""
    allowed = interrupt.allowed or CPUSet()
    now = allowed if interrupt.effective is None else interrupt.effective & allowed
    return now or (allowed if allowed <= exclusive else CPUSet())


def check_irqbalance(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report if irqbalance runs without being banned from exclusive CPUs.

    By default, it stays away from isolated and nohz_full CPUs (*irqbalance(1)*).
    """
    balancer, machine = snapshot.interrupts.balancer, snapshot.machine
    if balancer is None:
        return
    banned = machine.isolated | machine.nohz_full if balancer.banned is None else balancer.banned
    missing = snapshot.exclusive - banned
    if missing:
        wanted = banned | snapshot.exclusive
        line = f"IRQBALANCE_BANNED_CPULIST={wanted}"
        yield Finding(
            severity=Severity.WARNING,
            code="irqbalance",
            place=NodePart("irqbalance"),
            message=f"irqbalance is running, and may send interrupts to exclusive {named(missing)}",
            expected=f"{wanted} banned",
            detected=f"{banned} banned" if banned else "none banned",
            # Not every package contains the file.
            fix=f"touch {balancer.file}; sed -i /^IRQBALANCE_BANNED_CPU/d {balancer.file}; "
            f"echo {line} >>{balancer.file}; systemctl restart irqbalance",
        )


def _coming(snapshot: NodeSnapshot, interrupt: Interrupt, comes: CPUSet) -> Finding:
    often = f", {counted(interrupt.fired, 'time')} since boot" if interrupt.fired else ""
    kept = (interrupt.allowed or comes) - snapshot.exclusive or snapshot.housekeeping
    return Finding(
        severity=Severity.WARNING,
        code="interrupt",
        place=NodePart(f"IRQ {interrupt.number} ({', '.join(interrupt.actions)})"),
        message=f"the interrupt is delivered to exclusive {named(comes & snapshot.exclusive)} of "
        f"{snapshot.holders(comes)}{often}",
        expected=str(kept),
        detected=str(comes),
        fix=f"echo {kept} > /proc/irq/{interrupt.number}/smp_affinity_list",
    )


def _possible(snapshot: NodeSnapshot, interrupts: list[Interrupt]) -> Finding:
    shown = few([f"{each.number} ({', '.join(each.actions)})" for each in interrupts])
    commands = [
        f"echo {(each.allowed or CPUSet()) - snapshot.exclusive} > /proc/irq/{each.number}/smp_affinity_list"
        for each in interrupts[:MOST]
    ]
    return Finding(
        severity=Severity.NOTE,
        code="interrupts-allowed",
        place=NodePart("interrupts"),
        message=f"{counted(len(interrupts), 'interrupt')} may be sent to exclusive CPUs, but "
        f"{'are' if len(interrupts) > 1 else 'is'} handled elsewhere now: {shown}",
        expected=f"none on {snapshot.exclusive}",
        detected="all CPUs" if _anywhere(snapshot, interrupts) else "some",
        fix="; ".join(commands),
    )


def _came(snapshot: NodeSnapshot, interrupts: list[Interrupt]) -> Finding:
    often = sorted(interrupts, key=lambda each: -each.fired)
    shown = few([f"{each.number} ({', '.join(each.actions)}): {each.fired}" for each in often])
    return Finding(
        severity=Severity.NOTE,
        code="interrupts-delivered",
        place=NodePart("interrupts"),
        message=f"{counted(len(often), 'interrupt')} {'were' if len(often) > 1 else 'was'} delivered to "
        f"exclusive CPUs since boot; the current affinity is not recorded: {shown}",
        expected=f"none on {snapshot.exclusive}",
        detected=counted(sum(each.fired for each in often), "time"),
        fix="cat /proc/irq/*/effective_affinity_list",
    )


def _anywhere(snapshot: NodeSnapshot, interrupts: list[Interrupt]) -> bool:
    return all(snapshot.machine.online <= (each.allowed or CPUSet()) for each in interrupts)


def _default(snapshot: NodeSnapshot) -> Iterator[Finding]:
    default, exclusive = snapshot.interrupts.default, snapshot.exclusive
    # The mask also has bits for CPUs that do not exist.
    if default is None or default.isdisjoint(exclusive):
        return
    kept = (default & snapshot.machine.online) - exclusive or snapshot.housekeeping
    yield Finding(
        severity=Severity.NOTE,
        code="interrupts-default",
        place=NodePart("new interrupts"),
        message=f"newly created interrupts may be sent to exclusive {named(default & exclusive)}",
        expected=str(kept),
        detected=str(default & snapshot.machine.online),
        fix=f"echo {kept.kernel_mask} > /{DEFAULT_AFFINITY}",
    )


_PARTLY = {"isolcpus": "isolated-partly", "nohz_full": "nohz-partly"}


def check_isolation(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare the CPUs of both parameters with the reserved, shared and exclusive ones."""
    machine, pool = snapshot.machine, snapshot.shared_pool
    if pool is None:
        return
    reserved = snapshot.configured.reserved
    yield from _isolated_reserved(machine.isolated, reserved)
    for observed in snapshot.containers:
        if observed.expected.exclusive and not observed.sleeps:
            yield from _isolated_threads(observed, snapshot.isolated)
    yield from _isolated_pool(snapshot, (machine.isolated & pool) - reserved)
    if machine.isolated and (missing := (snapshot.exclusive - machine.isolated) & machine.online):
        yield _missing("isolcpus", missing, machine.isolated, "the scheduler may move other threads to them")
    if machine.nohz_full and (missing := (snapshot.exclusive - machine.nohz_full) & machine.online):
        yield _missing("nohz_full", missing, machine.nohz_full, "the scheduler tick keeps running there")
    if noisy := machine.nohz_full & reserved:
        yield Finding(
            severity=Severity.NOTE,
            code="nohz-reserved",
            place=NodePart("nohz_full"),
            message=f"{are(noisy)} reserved for the system, whose programs do not benefit from nohz_full",
            expected=str(machine.nohz_full - noisy) or "none",
            detected=str(machine.nohz_full),
            fix=_boot("nohz_full", machine.nohz_full - noisy),
        )


def _isolated_reserved(isolated: CPUSet, reserved: CPUSet) -> Iterator[Finding]:
    if cpus := isolated & reserved:
        yield Finding(
            severity=Severity.WARNING,
            code="isolated-reserved",
            place=NodePart("isolcpus"),
            message=f"{are(cpus)} reserved for the system, but isolated: the kernel does not "
            "balance system processes across isolated CPUs",
            expected="no reserved CPU",
            detected=str(cpus),
            fix=f"{_boot('isolcpus', isolated - reserved)}, or reserve other CPUs",
        )


def _isolated_threads(observed: ObservedContainer, isolated: CPUSet) -> Iterator[Finding]:
    """Report threads that may use several isolated CPUs: each stays on the CPU on which it started."""
    loose = [task for task in observed.tasks if len(task.cpus & isolated) > 1 and task.cpus <= isolated]
    if len(loose) > 1:
        cpus = union(task.cpus for task in loose)
        yield Finding(
            severity=Severity.WARNING,
            code="isolated-threads",
            place=NodePart.of(observed),
            message=f"{len(loose)} of its threads may run on all of the isolated {named(cpus)}: the kernel"
            " does not move them, so most stay on the CPU where the first one started",
            expected="threads pinned to one CPU each",
            detected=str(cpus),
            fix=_pinned(loose, isolated),
        )


def _pinned(tasks: Iterable[Task], isolated: CPUSet) -> str:
    """Write the commands that give every thread one of its CPUs, in turn."""
    taken: Counter[int] = Counter()
    commands = []
    for task in islice(tasks, MOST):
        cpu = min(task.cpus & isolated, key=lambda each: (taken[each], each))
        taken[cpu] += 1
        commands.append(f"taskset -cp {cpu} {task.tid}")
    return "; ".join(commands)


def _isolated_pool(snapshot: NodeSnapshot, cpus: CPUSet) -> Iterator[Finding]:
    """Report isolated CPUs in the shared pool: a thread that starts on one stays there."""
    if not cpus:
        return
    sharing = sum(1 for observed in snapshot.containers if observed.expected.cpus == snapshot.shared_pool)
    if sharing:
        yield Finding(
            severity=Severity.WARNING,
            code="isolated-shared",
            place=NodePart("isolcpus"),
            message=f"{are(cpus)} isolated and in the shared pool: the threads of "
            f"{counted(sharing, 'container')} are not balanced there",
            expected="no CPU of the shared pool",
            detected=str(cpus),
            fix=_boot("isolcpus", snapshot.machine.isolated - cpus),
        )


def _missing(parameter: str, missing: CPUSet, there: CPUSet, so: str) -> Finding:
    return Finding(
        severity=Severity.NOTE,
        code=_PARTLY[parameter],
        place=NodePart(parameter),
        message=f"exclusive {named(missing)} {'are' if len(missing) > 1 else 'is'} not in {parameter}: {so}",
        expected=str(there | missing),
        detected=str(there),
        fix=_boot(parameter, there | missing),
    )


def _boot(parameter: str, cpus: CPUSet) -> str:
    return f"boot with {parameter}={cpus}" if cpus else f"boot without {parameter}"
