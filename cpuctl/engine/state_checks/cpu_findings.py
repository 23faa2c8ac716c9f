"""What is wrong with a state of the CPU Manager, reported for every CPU and owner.

A kubelet with the static policy reports only the first thing that it refuses at start, and no owner
(``validateState``, see ``cpuctl.engine.cpu.state``). It compares neither holders with each other nor
containers with their pod and with what they were promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.departures import ROLLBACK
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import (
    MAX_SIMILAR,
    REMOVE,
    REMOVE_ONE,
    REPAIR,
    REPAIR_WITH_PODS,
    StateFinding,
    StatePlace,
)
from cpuctl.engine.state_checks.owners import GONE
from cpuctl.phrases import are, named
from cpuctl.pods.model import ContainerKind
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import CPUStateFile
    from cpuctl.engine.cpu.manager import StaticPolicy
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.kubelet.gates.feature_gates import FeatureGates


class CPUHolder(Record):
    """Exclusive CPUs and their holder; ``container`` is empty for a pod as a whole."""

    uid: str
    container: str
    cpus: CPUSet

    @property
    def owner(self) -> tuple[str, str]:
        """The UID and the container, without the CPUs."""
        return self.uid, self.container


class CPUSubject(Record):
    """A state as a kubelet reads it, the whole content of its file, and the pods on the node.

    ``held`` has the holders of exclusive CPUs in it: every pod as a whole, then its containers.
    """

    state: CPUStateFile
    whole: CPUStateFile
    owners: Owners
    held: tuple[CPUHolder, ...]

    @classmethod
    def of(cls, state: CPUStateFile, whole: CPUStateFile, owners: Owners) -> CPUSubject:
        """Return the subject with the holders found in *state*."""
        return cls(state=state, whole=whole, owners=owners, held=tuple(holders(state)))

    @property
    def exclusive(self) -> CPUSet:
        """The CPUs that have a holder."""
        return union(held.cpus for held in self.held)

    def names_of(self, cpus: CPUSet) -> str:
        """Name the holders of some of these CPUs, containers rather than their pod; empty if all are free."""
        found = [held for held in self.held if held.cpus & cpus]
        named = {held.uid for held in found if held.container}
        return self.owners.names([held.owner for held in found if held.container or held.uid not in named])


def union(sets: Iterable[CPUSet]) -> CPUSet:
    """Return the union of sets."""
    return reduce(or_, sets, CPUSet())


def holders(state: CPUStateFile) -> Iterator[CPUHolder]:
    """Yield the holders of exclusive CPUs: every pod as a whole, then its containers."""
    for uid in sorted({*state.pod_entries, *state.entries}):
        if uid in state.pod_entries:
            yield CPUHolder(uid, "", state.pod_entries[uid])
        for name, cpus in sorted(state.entries.get(uid, {}).items()):
            yield CPUHolder(uid, name, cpus)


_FILE = StatePlace(CPU_FILE)
NOT_ONLINE = "not on this machine, or offline"
_GATE = "PodLevelResourceManagers"


def cpu_findings(subject: CPUSubject, policy: StaticPolicy, gates: FeatureGates) -> Iterator[StateFinding]:
    """Compare a state with the machine and with what is reserved."""
    state = subject.state
    if not state.default_cpu_set and not state.entries:
        return  # The kubelet replaces it with a fresh one.
    yield from _pool(subject, policy)
    yield from _reserved(subject, policy)
    yield from _also_shared(subject)
    yield from _unknown(subject, policy)
    yield from _unaccounted(subject, policy, gates)


def _pool(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    pool = subject.state.default_cpu_set
    if not pool:
        some_are_gone = any(subject.owners.status(*held.owner) in GONE for held in subject.held)
        strict = policy.options.strict_cpu_reservation
        unheld = CPUSet(policy.allocatable if strict else policy.topology.cpus) - subject.exclusive
        why = (
            ": with strict-cpu-reservation the kubelet can cause this itself, and then does not start with "
            "its own file again (kubernetes issue 141196)"
        )
        yield StateFinding(
            Severity.ERROR,
            "pool-empty",
            _FILE,
            f"the shared pool is empty{f', although no container has {named(unheld)}' if unheld else why}",
            expected="at least one CPU",
            detected="none",
            # Without the entries of pods that are gone, the pool is not empty.
            fix=REPAIR if unheld else REPAIR_WITH_PODS if some_are_gone else REMOVE_ONE,
        )
    elif pool <= CPUSet(policy.reserved):
        yield StateFinding(
            Severity.WARNING,
            "pool-only-reserved",
            _FILE,
            f"containers without exclusive CPUs can only run on the reserved {named(pool)}",
        )


def _reserved(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    reserved, pool = CPUSet(policy.reserved), subject.state.default_cpu_set
    strict = policy.options.strict_cpu_reservation
    if strict and (misplaced := reserved & pool):
        yield StateFinding(
            Severity.ERROR,
            "reserved-in-pool",
            _FILE,
            f"reserved {are(misplaced)} in the shared pool, which strict-cpu-reservation does not allow: "
            "the option or the reserved CPUs have changed since the file was written",
            expected=f"none of {reserved}",
            detected=str(pool),
            fix=REPAIR,
        )
    taken, topology = reserved - pool, policy.topology
    uneven = topology.has_uneven_cores or topology.has_uneven_sockets
    if not strict and taken and pool:
        names = subject.names_of(taken)
        yield StateFinding(
            Severity.ERROR,
            "reserved-not-in-pool",
            _FILE,
            f"reserved {are(taken)} not in the shared pool"
            + (f" but held by {names}" if names else "")
            + ": the reserved CPUs or strict-cpu-reservation have changed since the file was written"
            + (", or the kubelet assigned them itself (kubernetes issue 124066)" if uneven and names else ""),
            expected=f"all of {reserved}",
            detected=str(pool),
            fix=REPAIR,
        )


def _also_shared(subject: CPUSubject) -> Iterator[StateFinding]:
    pool = subject.state.default_cpu_set
    for held in subject.held:
        if shared := held.cpus & pool:
            # A kubelet compares what containers hold with the pool, but not what pods hold as a whole.
            severity = Severity.ERROR if held.container else Severity.WARNING
            yield StateFinding(
                severity,
                "held-and-shared",
                StatePlace(CPU_FILE, *held.owner),
                f"{are(shared)} held by {subject.owners.name(*held.owner)} and also in the shared pool",
                fix=REPAIR,
            )


def _unknown(subject: CPUSubject, policy: StaticPolicy) -> Iterator[StateFinding]:
    machine = CPUSet(policy.topology.cpus)
    if shared := subject.state.default_cpu_set - machine:
        yield _no_such(shared, "the shared pool", machine)
    for held in subject.held:
        if missing := held.cpus - machine:
            yield _no_such(missing, subject.owners.name(*held.owner), machine)


def _no_such(missing: CPUSet, holder: str, machine: CPUSet) -> StateFinding:
    return StateFinding(
        Severity.ERROR,
        "no-such-cpus",
        _FILE,
        f"{named(missing)} of {holder} {'is' if len(missing) == 1 else 'are'} {NOT_ONLINE}",
        expected=f"only {machine}",
        detected=str(missing),
        fix=REPAIR,
    )


def _unaccounted(subject: CPUSubject, policy: StaticPolicy, gates: FeatureGates) -> Iterator[StateFinding]:
    known = subject.state.default_cpu_set | subject.exclusive
    missing = CPUSet(policy.allocatable) - known
    # If the kubelet reads what pods hold as a whole, none of it is missing.
    passed_over = missing & union(subject.whole.pod_entries.values())
    if passed_over:
        owners = [(uid, "") for uid, cpus in sorted(subject.whole.pod_entries.items()) if cpus & passed_over]
        yield StateFinding(
            Severity.ERROR,
            "pod-cpus-unread",
            _FILE,
            f"{are(passed_over)} held by pods as a whole, but by none of their containers "
            f"({subject.owners.names(owners)}), which this kubelet does not read ({ROLLBACK})",
            fix=REPAIR if gates.stage(_GATE) is None else f"enable {_GATE}, or {REPAIR}",
        )
    if rest := missing - passed_over:
        yield StateFinding(
            Severity.ERROR,
            "unaccounted-cpus",
            _FILE,
            f"{are(rest)} neither in the shared pool nor assigned: "
            "new on this machine, or missing from the file",
            fix=REPAIR,
        )
    strictly = CPUSet(policy.reserved) & subject.exclusive
    if policy.options.strict_cpu_reservation and strictly:
        yield StateFinding(
            Severity.ERROR,
            "reserved-held",
            _FILE,
            f"{are(strictly)} reserved, but held by {subject.names_of(strictly)}",
            fix=REPAIR,
        )


_UNSEEN = "the kubelet does not notice"


def holder_findings(subject: CPUSubject) -> Iterator[StateFinding]:
    """Compare holders with each other, and containers with their pod and with what they were promised."""
    yield from _overlaps_of_pods(subject)
    yield from _overlaps_in_pods(subject)
    yield from _bubbles(subject)
    yield from _baselines(subject)


def _overlaps_of_pods(subject: CPUSubject) -> Iterator[StateFinding]:
    taken, found = CPUSet(), 0
    for uid, cpus in cpus_by_pod(subject).items():
        if both := cpus & taken:
            found += 1
            others = subject.names_of(both) if found <= MAX_SIMILAR else ""
            yield StateFinding(
                Severity.WARNING,
                "held-twice",
                StatePlace(CPU_FILE, uid),
                f"{are(both)} held by more than one pod ({others}), which {_UNSEEN}",
                fix=REPAIR,
            )
        taken |= cpus


def cpus_by_pod(subject: CPUSubject) -> dict[str, CPUSet]:
    """Return all exclusive CPUs of every pod."""
    pods: dict[str, CPUSet] = {}
    for held in subject.held:
        pods[held.uid] = pods.get(held.uid, CPUSet()) | held.cpus
    return pods


def _overlaps_in_pods(subject: CPUSubject) -> Iterator[StateFinding]:
    """Compare containers that run at the same time; those of a pod that holds CPUs as a whole share them."""
    taken: dict[str, CPUSet] = {}
    for held in subject.held:
        container = subject.owners.container(*held.owner)
        if container is None or container.kind is ContainerKind.INIT or held.uid in subject.state.pod_entries:
            continue
        if both := held.cpus & taken.get(held.uid, CPUSet()):
            yield StateFinding(
                Severity.WARNING,
                "held-twice",
                StatePlace(CPU_FILE, *held.owner),
                f"CPUs {both} of {subject.owners.name(*held.owner)} are also held by "
                f"another container of the pod, which {_UNSEEN}; which entry is correct is unknown",
                fix=REMOVE,
            )
        taken[held.uid] = taken.get(held.uid, CPUSet()) | held.cpus


def _bubbles(subject: CPUSubject) -> Iterator[StateFinding]:
    state, owners = subject.state, subject.owners
    for uid, whole in sorted(state.pod_entries.items()):
        held = CPUSet()
        for name, cpus in sorted(state.entries.get(uid, {}).items()):
            held |= cpus
            if outside := cpus - whole:
                yield StateFinding(
                    Severity.WARNING,
                    "outside-pod",
                    StatePlace(CPU_FILE, uid, name),
                    f"CPUs {outside} of {owners.name(uid, name)} do not belong to its pod: they are not "
                    "released when the pod ends",
                    fix=REPAIR,
                )
        if not state.entries.get(uid):
            yield StateFinding(
                Severity.WARNING,
                "pod-without-containers",
                StatePlace(CPU_FILE, uid),
                f"CPUs {whole} of {owners.name(uid)} are held by none of its containers: the kubelet "
                "never releases them",
                fix=REPAIR,
            )
        elif left := whole - held:
            yield StateFinding(
                Severity.NOTE,
                "pod-leftover",
                StatePlace(CPU_FILE, uid),
                f"CPUs {left} of {owners.name(uid)} are held by none of its containers: without "
                "PodLevelResourceManagers, or before 1.36, the kubelet does not start with this file",
            )


def _baselines(subject: CPUSubject) -> Iterator[StateFinding]:
    for uid, guaranteed in sorted(subject.state.baselines.items()):
        for name, baseline in sorted(guaranteed.items()):
            now = subject.state.entries.get(uid, {}).get(name)
            who = subject.owners.name(uid, name)
            if now is None:
                message = f"a baseline {baseline} is left for {who}, which holds no CPUs"
            elif outside := baseline - now:
                message = f"{who} was guaranteed CPUs {outside} at admission, but does not hold them"
            else:
                continue
            yield StateFinding(
                Severity.WARNING,
                "baseline-outside",
                StatePlace(CPU_FILE, uid, name),
                message,
                expected=f"CPUs of {now}" if now else "",
                detected=str(baseline),
                fix=REPAIR,
            )
