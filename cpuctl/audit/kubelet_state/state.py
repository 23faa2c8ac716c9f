"""The kubelet's state files themselves, as far as running containers depend on them.

Rule: kubelet v1.36 ``state/state_checkpoint.go`` of ``cm/cpumanager`` and ``cm/memorymanager``: a file of
another policy, or one that makes no sense, keeps the kubelet from starting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.audit.commands import RESTART
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture
from cpuctl.audit.sets import union
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import DRAIN
from cpuctl.machine.wording import are
from cpuctl.state_names import CPU_FILE, MEMORY_FILE

_NO_POLICY = ("", "none", "None")
_REPAIR = (
    "cpuctl checkpoint repair && systemctl stop kubelet && cpuctl checkpoint repair --yes; "
    "systemctl start kubelet"
)
"""A dry run comes first: where it finds nothing that is safe, it says what to do instead, and nothing
happens."""


class _File(NamedTuple):
    """One of the two files: whose it is, what policy is configured, and what came of reading it."""

    name: str
    manager: str
    configured: str
    saved: CPUStateFile | MemoryStateFile | None
    problem: str


def check_state(picture: Picture) -> Iterator[Finding]:
    """Tell files that are missing, closed, of another policy or refused, and CPUs that are given twice."""
    state, promises = picture.state, picture.promises
    files = (
        _File(CPU_FILE, "CPU Manager", promises.policy, state.cpu, state.cpu_problem),
        _File(MEMORY_FILE, "Memory Manager", promises.memory_policy, state.memory, state.memory_problem),
    )
    for file in files:
        yield from _file(picture, file)
    for path in state.closed:
        yield Finding(
            severity=Severity.WARNING,
            code="state-closed",
            place=NodePart(path),
            message="it cannot be read, so nobody knows what the kubelet has given to whom",
            expected="a file that can be read",
            detected="permission denied",
            fix="sudo cpuctl audit",
        )
    if state.cpu is not None:
        yield from _twice(picture, state.cpu)


def _file(picture: Picture, file: _File) -> Iterator[Finding]:
    """Look at one file; a kubelet reads either under every policy."""
    if file.problem:
        yield Finding(
            severity=Severity.ERROR,
            code="state-unusable",
            place=NodePart(file.name),
            message=f"a kubelet would not load it: {file.problem}",
            expected="a state file",
            detected=file.problem,
            fix=DRAIN if file.name in picture.state.lost else _REPAIR,
        )
    elif file.saved is None:
        if file.configured not in _NO_POLICY and _was_looked_for(picture, file):
            yield _missing(file)
    elif file.configured not in ("", file.saved.policy_name):
        yield Finding(
            severity=Severity.ERROR,
            code="state-policy",
            place=NodePart(file.name),
            message=f"it was written under another {file.manager} policy: a kubelet does not start with it",
            expected=file.configured,
            detected=file.saved.policy_name,
            fix=_REPAIR,
        )


def _was_looked_for(picture: Picture, file: _File) -> bool:
    """Tell whether a running kubelet must have left the file where it would have been seen."""
    closed = any(path.endswith(f"/{file.name}") for path in picture.state.closed)
    return picture.state.own and bool(picture.groups) and not closed


def _missing(file: _File) -> Finding:
    return Finding(
        severity=Severity.WARNING,
        code="state-missing",
        place=NodePart(file.name),
        message=f"there is none, although the {file.manager} policy {file.configured} is configured: "
        "what the kubelet has given to whom is not known",
        expected="a state file",
        detected="none",
        fix=RESTART,
    )


def check_reserved(picture: Picture) -> Iterator[Finding]:
    """Tell reserved CPUs that a container has for its own, or that are shared although strictly reserved."""
    reserved, state = picture.promises.reserved, picture.state.cpu
    if state is None or not reserved:
        return
    for uid, containers in state.entries.items():
        for name, cpus in containers.items():
            if taken := cpus & reserved:
                yield _reserved(f"{picture.pod_name(uid)}/{name}", taken, "it has them for its own")
    if picture.promises.strict_reservation and (taken := state.default_cpu_set & reserved):
        yield _reserved("shared pool", taken, "strict-cpu-reservation keeps them free")


def _reserved(subject: str, taken: CPUSet, why: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        code="reserved-in-use",
        place=NodePart(subject),
        message=f"{are(taken)} reserved for the system, but {why}",
        expected="no reserved CPU",
        detected=str(taken),
        fix=_REPAIR,
    )


def _twice(picture: Picture, state: CPUStateFile) -> Iterator[Finding]:
    """Tell CPUs of two pods, or of a pod and the shared pool; the containers of one pod may share."""
    taken = state.default_cpu_set
    for uid, containers in state.entries.items():
        held = union(containers.values())
        if double := taken & held:
            yield Finding(
                severity=Severity.ERROR,
                code="given-twice",
                place=NodePart(picture.pod_name(uid)),
                message=f"{are(double)} its own, but the shared pool's or another pod's, too",
                expected="CPUs of its own",
                detected=str(double),
                fix=_REPAIR,
            )
        taken |= held
