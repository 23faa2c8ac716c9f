"""What no kubelet compares in a state of the CPU Manager: holders with each other, and promises."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.cpu_subject import CPUSubject
from cpuctl.engine.state_checks.findings import MOST_ALIKE, REMOVE, REPAIR, StateFinding, StatePlace
from cpuctl.pods.model import ContainerKind
from cpuctl.state_names import CPU_FILE

_UNSEEN = "a kubelet does not notice"


def holder_findings(subject: CPUSubject) -> Iterator[StateFinding]:
    """Compare holders with each other, and containers with their pod and with what they were promised."""
    yield from _overlaps_of_pods(subject)
    yield from _overlaps_in_pods(subject)
    yield from _bubbles(subject)
    yield from _baselines(subject)


def _overlaps_of_pods(subject: CPUSubject) -> Iterator[StateFinding]:
    taken, found = CPUSet(), 0
    for uid, cpus in _by_pod(subject).items():
        if both := cpus & taken:
            found += 1
            others = subject.names_of(both) if found <= MOST_ALIKE else ""
            yield StateFinding(
                Severity.WARNING,
                "held-twice",
                StatePlace(CPU_FILE, uid),
                f"CPUs {both} are held by more than one pod ({others}), which {_UNSEEN}",
                fix=REPAIR,
            )
        taken |= cpus


def _by_pod(subject: CPUSubject) -> dict[str, CPUSet]:
    pods: dict[str, CPUSet] = {}
    for held in subject.held:
        pods[held.uid] = pods.get(held.uid, CPUSet()) | held.cpus
    return pods


def _overlaps_in_pods(subject: CPUSubject) -> Iterator[StateFinding]:
    """Compare containers that run at the same time; those of a pod with CPUs of its own share them."""
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
                f"CPUs {both} of {subject.owners.name(*held.owner)} are held by another "
                f"container of the pod, too, which {_UNSEEN}",
                fix=f"{REMOVE}: who is right cannot be told",
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
                    f"CPUs {outside} of {owners.name(uid, name)} are none of its pod's: nobody gets them "
                    "back when the pod ends",
                    fix=REPAIR,
                )
        if not state.entries.get(uid):
            yield StateFinding(
                Severity.WARNING,
                "pod-without-containers",
                StatePlace(CPU_FILE, uid),
                f"CPUs {whole} of {owners.name(uid)} are held by none of its containers: no kubelet ever "
                "takes them back",
                fix=REPAIR,
            )
        elif left := whole - held:
            yield StateFinding(
                Severity.NOTE,
                "pod-leftover",
                StatePlace(CPU_FILE, uid),
                f"CPUs {left} of {owners.name(uid)} are held by none of its containers: without "
                "PodLevelResourceManagers, or before 1.36, no kubelet starts on this file",
            )


def _baselines(subject: CPUSubject) -> Iterator[StateFinding]:
    for uid, promised in sorted(subject.state.baselines.items()):
        for name, baseline in sorted(promised.items()):
            now = subject.state.entries.get(uid, {}).get(name)
            who = subject.owners.name(uid, name)
            if now is None:
                message = f"a baseline {baseline} is left of {who}, which holds no CPUs"
            elif outside := baseline - now:
                message = f"{who} was promised CPUs {outside} at admission, and does not hold them"
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
