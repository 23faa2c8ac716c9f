"""The common parts of answers: findings, a node's CPUs, owners of control groups, and unread files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from cpuctl.diagnostics import Diagnostic, only_shows
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.answers.audit import AuditedNode
    from cpuctl.answers.audit import Owner as NamedOwner
    from cpuctl.answers.values import Found, Graded
    from cpuctl.answers.values import Unreadable as UnreadableFile
    from cpuctl.audit.snapshot import KubeletState, NodeSnapshot
    from cpuctl.capture.collected import Unreadable
    from cpuctl.cgroups.owners import Owner
    from cpuctl.cpuset import CPUSet


def node_answer(snapshot: NodeSnapshot) -> AuditedNode:
    """Return the node's CPUs by purpose."""
    at, machine, configured = snapshot.hierarchies, snapshot.machine, snapshot.configured
    drivers = {group.role.driver for group in snapshot.groups.values()}
    return {
        "cgroupVersion": at.version if at else None,
        "hybrid": bool(at and at.hybrid),
        "cgroupDrivers": [driver.value for driver in sorted(drivers)],
        "cpuManagerPolicy": snapshot.state.cpu.policy_name if snapshot.state.cpu else None,
        "cpuManagerState": _state_status(snapshot.state),
        "online": str(machine.online),
        "offline": str(machine.offline),
        "isolated": str(machine.isolated),
        "nohzFull": str(machine.nohz_full),
        "reserved": None if configured.why_unknown else str(configured.reserved),
        "strictReservation": None if configured.why_unknown else configured.strict_reservation,
        "sharedPool": set_answer(snapshot.shared_pool),
        "exclusive": str(snapshot.exclusive) if snapshot.state.cpu else None,
    }


def _state_status(state: KubeletState) -> Literal["read", "missing", "unreadable", "unusable"]:
    if state.cpu is not None:
        return "read"
    if state.cpu_problem:
        return "unusable"
    return "unreadable" if any(path.endswith(f"/{CPU_FILE}") for path in state.closed) else "missing"


def owner_answer(owner: Owner) -> NamedOwner:
    """Return the owner of a group; unknown names are null."""
    return {
        "namespace": owner.namespace or None,
        "pod": owner.pod or None,
        "uid": owner.uid,
        "container": owner.container or None,
        "containerID": owner.container_id or None,
        "runtime": owner.runtime or None,
        "part": owner.part.value,
        "knownBy": owner.known_by.value if owner.known_by else None,
    }


def set_answer(cpus: CPUSet | None) -> str | None:
    """Write a set as a list; null stays null."""
    return None if cpus is None else str(cpus)


def unreadable_answer(unreadable: Iterable[Unreadable]) -> list[UnreadableFile]:
    """List existing files that could not be read."""
    return [{"path": f"/{each.path}", "reason": each.reason} for each in unreadable]


def graded(finding: Diagnostic[object]) -> Graded:
    """Return a finding's severity and code."""
    return {"severity": finding.severity.value, "code": finding.code}


def found(finding: Diagnostic[object]) -> Found:
    """Return a finding's message, and what to do."""
    answer: Found = {
        "expected": finding.expected,
        "detected": finding.detected,
        "message": finding.message,
        "fix": finding.fix,
    }
    if only_shows(finding.fix):
        answer["fix"], answer["see"] = "", finding.fix
    return answer


def spell_out_fixes(findings: Iterable[Found], spelt_out: Callable[[str], str]) -> None:
    """Add the given options to the commands that findings propose."""
    for finding in findings:
        finding["fix"] = spelt_out(finding["fix"])
        if command := spelt_out(finding.pop("see", "")):
            finding["see"] = command
