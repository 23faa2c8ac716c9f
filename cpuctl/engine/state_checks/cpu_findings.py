"""What a kubelet with the static policy finds in a state at start, told for every CPU and owner.

The kubelet names the first of these only, and no owner (``validateState``, see ``cpuctl.engine.cpu.state``).
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.departures import ROLLBACK
from cpuctl.diagnostics import Severity
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.state_checks.cpu_subject import CPUSubject, union
from cpuctl.engine.state_checks.findings import REMOVE_ONE, REPAIR, StateFinding, StatePlace
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.state_names import CPU_FILE

_FILE = StatePlace(CPU_FILE)
_GATE = "PodLevelResourceManagers"


def cpu_findings(subject: CPUSubject, policy: StaticPolicy, gates: FeatureGates) -> Iterator[StateFinding]:
    """Compare a state with the machine and with what is reserved."""
    state = subject.state
    if not state.default_cpu_set and not state.entries:
        return  # The kubelet makes a fresh one of it.
    yield from _pool(subject, policy)
    yield from _reserved(subject, policy)
    yield from _also_shared(subject)
    yield from _unknown(subject, policy)
    yield from _unaccounted(subject, policy, gates)


def _pool(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    pool = subject.state.default_cpu_set
    if not pool:
        yield StateFinding(
            Severity.ERROR,
            "pool-empty",
            _FILE,
            "the shared pool has no CPU left: a kubelet with strict-cpu-reservation comes to that by itself, "
            "and refuses its own file after the next restart (kubernetes issue 141196)",
            expected="at least one CPU",
            detected="none",
            fix=REMOVE_ONE,
        )
    elif pool <= CPUSet(policy.reserved):
        yield StateFinding(
            Severity.WARNING,
            "pool-only-reserved",
            _FILE,
            f"containers without exclusive CPUs have only the reserved CPUs {pool} left to run on",
        )


def _reserved(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    reserved, pool = CPUSet(policy.reserved), subject.state.default_cpu_set
    strict = policy.options.strict_cpu_reservation
    if strict and (misplaced := reserved & pool):
        yield StateFinding(
            Severity.ERROR,
            "reserved-in-pool",
            _FILE,
            f"reserved CPUs {misplaced} are in the shared pool, which strict-cpu-reservation does not allow: "
            "the option, or what is reserved, has changed since the file was written",
            expected=f"none of {reserved}",
            detected=str(pool),
            fix=REPAIR,
        )
    taken = reserved - pool
    if not strict and taken and pool:
        names = subject.names_of(taken)
        yield StateFinding(
            Severity.ERROR,
            "reserved-not-in-pool",
            _FILE,
            f"reserved CPUs {taken} are not in the shared pool"
            + (f" but held by {names}" if names else "")
            + ": what is reserved, or strict-cpu-reservation, has changed since the file was written",
            expected=f"all of {reserved}",
            detected=str(pool),
            fix=REPAIR,
        )


def _also_shared(subject: CPUSubject) -> Iterator[StateFinding]:
    pool = subject.state.default_cpu_set
    for held in subject.held:
        if shared := held.cpus & pool:
            # A kubelet compares what containers hold with the pool, and not what pods hold as a whole.
            severity = Severity.ERROR if held.container else Severity.WARNING
            yield StateFinding(
                severity,
                "held-and-shared",
                StatePlace(CPU_FILE, *held.owner),
                f"CPUs {shared} are held by {subject.owners.name(*held.owner)} and are in the "
                "shared pool, too",
                fix=REPAIR,
            )


def _unknown(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    machine = CPUSet(policy.topology.cpus)
    if shared := subject.state.default_cpu_set - machine:
        yield _no_such(f"CPUs {shared} of the shared pool", machine)
    for held in subject.held:
        if gone := held.cpus - machine:
            yield _no_such(f"CPUs {gone} of {subject.owners.name(*held.owner)}", machine)


def _no_such(what: str, machine: CPUSet) -> StateFinding:
    return StateFinding(
        Severity.ERROR,
        "no-such-cpus",
        _FILE,
        f"{what} are not on this machine, or offline",
        expected=f"some of {machine}",
        fix=REPAIR,
    )


def _unaccounted(subject: CPUSubject, policy: StaticPolicy, gates: FeatureGates) -> Iterator[StateFinding]:
    known = subject.state.default_cpu_set | subject.exclusive
    missing = CPUSet(policy.allocatable) - known
    # Where the kubelet reads what pods hold as a whole, none of it is missing.
    passed_over = missing & union(subject.whole.pod_entries.values())
    if passed_over:
        owners = [(uid, "") for uid, cpus in sorted(subject.whole.pod_entries.items()) if cpus & passed_over]
        yield StateFinding(
            Severity.ERROR,
            "pod-cpus-unread",
            _FILE,
            f"CPUs {passed_over} are held by pods as a whole and by no container of them "
            f"({subject.owners.names(owners)}), which this kubelet does not read ({ROLLBACK})",
            fix=REPAIR if gates.stage(_GATE) is None else f"switch {_GATE} on, or {REPAIR}",
        )
    if rest := missing - passed_over:
        yield StateFinding(
            Severity.ERROR,
            "unaccounted-cpus",
            _FILE,
            f"CPUs {rest} are neither in the shared pool nor held by anybody: they are new on this machine, "
            "or were lost from the file",
            fix=REPAIR,
        )
    strictly = CPUSet(policy.reserved) & subject.exclusive
    if policy.options.strict_cpu_reservation and strictly:
        yield StateFinding(
            Severity.ERROR,
            "reserved-held",
            _FILE,
            f"CPUs {strictly} are reserved, and held by {subject.names_of(strictly)}",
            fix=REPAIR,
        )
