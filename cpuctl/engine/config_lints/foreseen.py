"""Problems for the first pod or at the next restart on this machine, although the kubelet starts.

Rule: the CPU Manager's static policy; ``isolcpus`` in *Documentation/admin-guide/kernel-parameters.txt*, and
``cpuset.cpus.effective`` in *Documentation/admin-guide/cgroup-v2.rst*.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.config_lints.lint import Ceiling, Lint, LintSubject
from cpuctl.engine.cpu.manager import ReservingFailsError, StaticPolicy
from cpuctl.engine.masks import NO_CPUS
from cpuctl.engine.outcome import Picked
from cpuctl.golang.text import GoError
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.phrases import are, named
from cpuctl.quantity import Quantity

_RESERVED = ("kubeReserved", "systemReserved")
_EVICTION = ("evictionHard", "evictionSoft", "evictionMinimumReclaim")
_BY_SIZE = frozenset({"memory", "ephemeral-storage"})


def lint_uneven_cores(subject: LintSubject) -> Iterator[Lint]:
    """Report reserved CPUs that would be handed out (kubernetes issue 124066)."""
    policy = subject.started.policy if subject.started else None
    if policy is None or len({core.bit_count() for core in policy.topology.cores.values()}) < 2:
        return
    found = _first_theft(policy)
    if found is None:
        return
    count, taken = found
    mask = policy.reserved
    for core in policy.topology.cores.values():
        mask |= core if core & policy.reserved else NO_CPUS
    whole = CPUSet(mask)
    yield Lint(
        severity=Severity.WARNING,
        code="reserved-handed-out",
        place=subject.reservation,
        expected=str(whole),
        detected=str(CPUSet(taken)),
        message=f"a container that requests {count} CPUs gets reserved {named(CPUSet(taken))}, because"
        " cores differ in size; after that the kubelet does not start with its own cpu_manager_state"
        " (kubernetes issue 124066)",
        fix=_reserving_whole_cores(subject, policy, whole),
    )


def _reserving_whole_cores(subject: LintSubject, policy: StaticPolicy, whole: CPUSet) -> str:
    """Return how to reserve *whole* cores or, if the kubelet picks them, a number that it takes from such."""
    if not subject.reserves_by_count:
        return f"reserve whole cores: set reservedSystemCPUs: {whole}"
    for count in range(len(whole), policy.topology.cpus.bit_count()):
        reservation = CPUReservation(number=count)
        with suppress(GoError, ReservingFailsError):
            more = StaticPolicy.construct(policy.topology, policy.options, reservation, subject.gates.release)
            if not _first_theft(more):
                return f"reserve {count} CPUs in total"
    return ""


def _first_theft(policy: StaticPolicy) -> tuple[int, int] | None:
    """Find the smallest request that gets reserved CPUs on an empty node, and those CPUs."""
    for count in range(1, policy.allocatable.bit_count() + 1):
        match policy.pick(policy.allocatable, count, None):
            case Picked(cpus=cpus) if cpus & policy.reserved:
                return count, cpus & policy.reserved
    return None


def lint_isolated_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Report containers that would run on nohz_full CPUs, or where the kernel does not balance threads."""
    policy = subject.started.policy if subject.started else None
    reserved = CPUSet(policy.reserved) if policy else CPUSet()
    who = "containers without exclusive CPUs run on them"
    several = "a container that gets several of them runs all its threads on one of them"
    exclusive = f", and {several}" if policy else ""
    partitioned = subject.partitioned & _reach(subject)
    for found, why, fix in (
        (subject.machine.isolated, "isolcpus", "remove them from isolcpus"),
        (partitioned, "an isolated partition", "write member to its cpuset.cpus.partition"),
    ):
        if shared := found - reserved:
            yield Lint(
                severity=Severity.WARNING,
                code="isolated-in-shared-pool",
                place=("cpuManagerPolicy",),
                detected=str(shared),
                message=f"{are(shared)} isolated ({why}), and the kernel does not balance threads "
                f"across them: {who}{exclusive}",
                fix=f"{fix}; containers that pin their own threads are not affected",
            )
    if ticking := subject.machine.nohz_full - reserved - subject.machine.isolated:
        yield Lint(
            severity=Severity.NOTE,
            code="nohz-in-shared-pool",
            place=("cpuManagerPolicy",),
            detected=str(ticking),
            message=f"{are(ticking)} nohz_full: {who}, and where several threads share a CPU the tick "
            "keeps running, while every system call costs more",
        )


def _reach(subject: LintSubject) -> CPUSet:
    """Return the CPUs that the control group above all pods has."""
    return next((each.cpus for each in subject.ceilings if not each.owner), CPUSet())


def lint_parents_cpus(subject: LintSubject) -> Iterator[Lint]:
    """Report CPUs that the kubelet counts but the control groups above its pods do not have."""
    topology = subject.topology
    if topology is None:
        return
    counted, policy = CPUSet(topology.cpus), subject.started.policy if subject.started else None
    for above in subject.ceilings:
        owner = f"{above.owner} pods" if above.owner else "all pods"
        wanted = counted if not above.owner else (counted & _reach(subject) if policy else CPUSet())
        if beyond := wanted - above.cpus:
            yield Lint(
                severity=Severity.WARNING,
                code="parent-without-cpus",
                place=("cpuManagerPolicy",),
                expected=str(wanted),
                detected=str(above.cpus),
                message=f"the cgroup {above.path}, above {owner}, is limited to CPUs {above.cpus}, but"
                f" the kubelet also counts {beyond}{_isolated(subject, beyond)}: "
                + _at_the_end(subject, above),
                fix="give the cgroup these CPUs (LXC: lxc.cgroup2.cpuset.cpus; systemd: AllowedCPUs=), or "
                "stop the other program that writes to it",
            )


def _isolated(subject: LintSubject, cpus: CPUSet) -> str:
    taken = subject.partitioned & cpus
    return f" ({taken} belong to an isolated partition)" if taken else ""


def _at_the_end(subject: LintSubject, above: Ceiling) -> str:
    """Say what happens with CPUs that a group does not have: v1 rejects the write, v2 leaves them out."""
    if subject.cgroup_version == 1:
        return "containers that get these CPUs fail with 'permission denied'"
    return (
        f"containers that get these CPUs run on the remaining CPUs, or on all of {above.cpus} if none remain"
    )


def lint_fractions(subject: LintSubject) -> Iterator[Lint]:
    """Report fractions of bytes: ``memory: 500m`` is rounded up to one byte."""
    amounts = {
        (field, name): text
        for field, given in zip(
            _RESERVED, (subject.config.kube_reserved, subject.config.system_reserved), strict=True
        )
        for name, text in given.items()
        if name in _BY_SIZE
    }
    config = subject.config
    for field, given in zip(
        _EVICTION, (config.eviction_hard, config.eviction_soft, config.eviction_minimum_reclaim), strict=True
    ):
        for signal, text in given.items():
            if not text.endswith("%") and "inodes" not in signal and "pid" not in signal:
                amounts[field, signal] = text
    for path, text in amounts.items():
        whole = _rounded(text)
        if whole is not None:
            yield Lint(
                severity=Severity.WARNING,
                code="fraction-of-a-byte",
                place=path,
                detected=text,
                message=f"{text} is a fraction of a byte and counts as {whole} byte{'s' * (whole != 1)}: the"
                " suffix m means thousandths",
                fix=f"set {text[:-1]}Mi, if that is what you meant" if text.endswith("m") else "",
            )


def _rounded(text: str) -> int | None:
    try:
        amount = Quantity.parse(text)
    except GoError:
        return None
    return amount.value if amount.nano % 10**9 else None
