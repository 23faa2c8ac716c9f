"""The kubelet's state files themselves, as far as running containers depend on them."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.finding import Finding, Severity
from cpuctl.audit.picture import Picture
from cpuctl.audit.sets import union
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.machine.wording import are

_CPU_FILE = "cpu_manager_state"


def check_state(picture: Picture) -> Iterator[Finding]:
    """Tell files that a kubelet would refuse, those of another policy, and CPUs that are given twice."""
    problems = {_CPU_FILE: picture.state.cpu_problem, "memory_manager_state": picture.state.memory_problem}
    for file, problem in problems.items():
        if problem:
            yield Finding(
                severity=Severity.ERROR,
                code="state-unusable",
                subject=file,
                message=f"a kubelet would not load it: {problem}",
                expected="a state file",
                detected=problem,
                fix=_again(picture, file),
            )
    for file in picture.state.closed:
        yield Finding(
            severity=Severity.WARNING,
            code="state-closed",
            subject=file,
            message="it cannot be read, so nobody knows what the kubelet has given to whom",
            expected="a file that can be read",
            detected="permission denied",
            fix="sudo cpuctl audit",
        )
    state = picture.state.cpu
    if state is None:
        return
    yield from _policy(picture, state)
    yield from _twice(picture, state)


def check_reserved(picture: Picture) -> Iterator[Finding]:
    """Tell reserved CPUs that a container has for its own, or that are shared although strictly reserved."""
    reserved, state = picture.promises.reserved, picture.state.cpu
    if state is None or not reserved:
        return
    for uid, containers in state.entries.items():
        for name, cpus in containers.items():
            if taken := cpus & reserved:
                yield _reserved(picture, f"{picture.pod_name(uid)}/{name}", taken, "it has them for its own")
    if picture.promises.strict_reservation and (taken := state.default_cpu_set & reserved):
        yield _reserved(picture, "shared pool", taken, "strict-cpu-reservation keeps them free")


def _reserved(picture: Picture, subject: str, taken: CPUSet, why: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        code="reserved-in-use",
        subject=subject,
        message=f"{are(taken)} reserved for the system, but {why}",
        expected="no reserved CPU",
        detected=str(taken),
        fix=_again(picture),
    )


def _policy(picture: Picture, state: CPUStateFile) -> Iterator[Finding]:
    configured = picture.promises.policy
    if configured and configured != state.policy_name:
        yield Finding(
            severity=Severity.ERROR,
            code="state-policy",
            subject=_CPU_FILE,
            message="it was written under another CPU Manager policy: a kubelet does not start with it",
            expected=configured,
            detected=state.policy_name,
            fix=_again(picture),
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
                subject=picture.pod_name(uid),
                message=f"{are(double)} its own, but the shared pool's or another pod's, too",
                expected="CPUs of its own",
                detected=str(double),
                fix=_again(picture),
            )
        taken |= held


def _again(picture: Picture, file: str = _CPU_FILE) -> str:
    """Name the only way that Kubernetes documents: begin anew, without pods."""
    path = f"{picture.state.directory}/{file}"
    return f"drain the node; systemctl stop kubelet; rm {path}; systemctl start kubelet"
