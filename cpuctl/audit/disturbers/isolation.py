"""What the kernel was told at boot, isolcpus and nohz_full, against what the kubelet makes of the CPUs.

Parameters: *Documentation/admin-guide/kernel-parameters.txt*. Neither is needed; half of one surprises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from cpuctl.audit.commands import MOST
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Seen, Task
from cpuctl.audit.sets import union
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import are, named

_PARTLY = {"isolcpus": "isolated-partly", "nohz_full": "nohz-partly"}


def check_isolation(picture: Picture) -> Iterator[Finding]:
    """Compare the CPUs of both parameters with reserved, shared and exclusive ones."""
    machine, pool = picture.machine, picture.shared_pool
    if pool is None:
        return
    reserved = picture.promises.reserved
    yield from _isolated_reserved(machine.isolated, reserved)
    for seen in picture.containers:
        if seen.expected.exclusive and not seen.sleeps:
            yield from _isolated_threads(seen, machine.isolated)
    yield from _isolated_pool(picture, (machine.isolated & pool) - reserved)
    if machine.isolated and (missing := (picture.exclusive - machine.isolated) & machine.online):
        yield _missing("isolcpus", missing, machine.isolated, "other threads may be moved to them")
    if machine.nohz_full and (missing := (picture.exclusive - machine.nohz_full) & machine.online):
        yield _missing("nohz_full", missing, machine.nohz_full, "the scheduler's tick goes on there")
    if noisy := machine.nohz_full & reserved:
        yield Finding(
            severity=Severity.NOTE,
            code="nohz-reserved",
            place=NodePart("nohz_full"),
            message=f"{are(noisy)} reserved for the system, whose programs gain nothing from nohz_full",
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
            message=f"{are(cpus)} reserved for the system, but isolated: its programs do not spread there",
            expected="no reserved CPU",
            detected=str(cpus),
            fix=f"{_boot('isolcpus', isolated - reserved)}, or reserve other CPUs",
        )


def _isolated_threads(seen: Seen, isolated: CPUSet) -> Iterator[Finding]:
    """Tell threads that have several isolated CPUs to choose from: each stays on the one that it began on."""
    loose = [task for task in seen.tasks if len(task.cpus & isolated) > 1 and task.cpus <= isolated]
    if len(loose) > 1:
        cpus = union(task.cpus for task in loose)
        yield Finding(
            severity=Severity.WARNING,
            code="isolated-threads",
            place=NodePart.of(seen),
            message=f"{len(loose)} of its threads may run on all of the isolated {named(cpus)}: the kernel"
            " moves none of them, so most stay on the CPU on which the first began",
            expected="threads that pin themselves, each to a CPU",
            detected=str(cpus),
            fix=_pinned(loose, isolated),
        )


def _pinned(tasks: Iterable[Task], isolated: CPUSet) -> str:
    """Write the commands that give every thread one of its CPUs, by turns."""
    taken: Counter[int] = Counter()
    commands = []
    for task in islice(tasks, MOST):
        cpu = min(task.cpus & isolated, key=lambda each: (taken[each], each))
        taken[cpu] += 1
        commands.append(f"taskset -cp {cpu} {task.tid}")
    return "; ".join(commands)


def _isolated_pool(picture: Picture, cpus: CPUSet) -> Iterator[Finding]:
    """Tell isolated CPUs that containers share: a thread that starts on one stays there."""
    if not cpus:
        return
    sharing = sum(1 for seen in picture.containers if seen.expected.cpus == picture.shared_pool)
    if sharing:
        yield Finding(
            severity=Severity.WARNING,
            code="isolated-shared",
            place=NodePart("isolcpus"),
            message=f"{are(cpus)} isolated and in the shared pool: the threads of {sharing} "
            f"container{'s' if sharing > 1 else ''} are not balanced there",
            expected="no CPU of the shared pool",
            detected=str(cpus),
            fix=_boot("isolcpus", picture.machine.isolated - cpus),
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
