"""The answer of ``cpuctl audit`` as a plain document (schema: ``cpuctl schema audit``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from cpuctl.answering import API_VERSION
from cpuctl.answering.diagnostics import found, graded
from cpuctl.audit.checks import Verdict, unchecked, verdicts
from cpuctl.audit.finding import Finding
from cpuctl.audit.snapshot import KubeletState, NodeSnapshot, ObservedContainer
from cpuctl.capture.collected import Unreadable
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import counts
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.answers import audit as answers
    from cpuctl.answers.node import AuditedNode
    from cpuctl.answers.node import Owner as NamedOwner
    from cpuctl.answers.sources import Sources
    from cpuctl.answers.sources import Unreadable as UnreadableFile


def audit_document(
    snapshot: NodeSnapshot,
    findings: Sequence[Finding],
    sources: Sources,
    *,
    checks: Collection[str],
    unreadable: Iterable[Unreadable],
) -> answers.Audit:
    """Put the node, its containers and what was found into one document."""
    verdict_of = verdicts(snapshot)
    return {
        "apiVersion": API_VERSION,
        "kind": "Audit",
        "sources": sources,
        "checks": list(checks),
        "node": node_answer(snapshot),
        "summary": _summary(snapshot, findings),
        "containers": [
            _container(observed, verdict_of[observed.group.path]) for observed in snapshot.containers
        ],
        "findings": [_finding(finding) for finding in findings],
        "unchecked": [
            {"missing": each.missing, "checks": list(each.checks)} for each in unchecked(snapshot, checks)
        ],
        "unreadable": unreadable_answer(unreadable),
    }


def node_answer(snapshot: NodeSnapshot) -> AuditedNode:
    """Tell the node's CPUs by what they are for."""
    at, machine = snapshot.hierarchies, snapshot.machine
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
        "reserved": str(snapshot.configured.reserved),
        "sharedPool": set_answer(snapshot.shared_pool),
        "exclusive": str(snapshot.exclusive) if snapshot.state.cpu else None,
    }


def _state_status(state: KubeletState) -> Literal["read", "missing", "closed", "unusable"]:
    if state.cpu is not None:
        return "read"
    if state.cpu_problem:
        return "unusable"
    return "closed" if any(path.endswith(f"/{CPU_FILE}") for path in state.closed) else "missing"


def _summary(snapshot: NodeSnapshot, findings: Iterable[Finding]) -> answers.Summary:
    threads = len(snapshot.others) + sum(len(observed.tasks) for observed in snapshot.containers)
    interrupts = snapshot.interrupts
    told = bool(interrupts.known) or interrupts.default is not None
    return {
        "containers": None if snapshot.hierarchies is None else len(snapshot.containers),
        "threads": threads or None,
        "interrupts": len(interrupts.known) if told else None,
        **counts(findings),
    }


def _container(observed: ObservedContainer, verdict: Verdict) -> answers.Container:
    cpuset, expected = observed.group.cpuset, observed.expected
    return {
        **owner_answer(observed.owner),
        "path": observed.group.path,
        "cpus": {
            "expected": set_answer(expected.cpus),
            "exclusive": expected.exclusive,
            "possible": [str(choice) for choice in expected.choices],
            "configured": set_answer(cpuset.cpus),
            "effective": set_answer(cpuset.effective),
            "threads": str(observed.running_on) if observed.tasks else None,
        },
        "mems": {
            "expected": set_answer(expected.mems),
            "configured": set_answer(cpuset.mems),
            "effective": set_answer(cpuset.effective_mems),
        },
        "threads": len(observed.tasks),
        "verdict": verdict.value,
    }


def owner_answer(owner: Owner) -> NamedOwner:
    """Tell whose a group is; names that nobody knows are null."""
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


def _finding(finding: Finding) -> answers.Finding:
    subject, owner, path = finding.place
    return {
        **graded(finding),
        "subject": subject,
        "uid": owner.uid if owner else None,
        "container": (owner.container or None) if owner else None,
        "path": path or None,
        **found(finding),
    }


def set_answer(cpus: CPUSet | None) -> str | None:
    """Write a set as a list; null stays null."""
    return None if cpus is None else str(cpus)


def unreadable_answer(unreadable: Iterable[Unreadable]) -> list[UnreadableFile]:
    """List what is there and could not be read."""
    return [{"path": f"/{each.path}", "reason": each.reason} for each in unreadable]
