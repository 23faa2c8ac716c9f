"""The answer of ``cpuctl audit`` as a plain document (schema: ``cpuctl schema audit``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from cpuctl.answering import API_VERSION
from cpuctl.answering.diagnostics import found, graded
from cpuctl.audit.checks import Verdict, unchecked, verdicts
from cpuctl.audit.finding import Finding
from cpuctl.audit.picture import Picture, Seen, State
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
    picture: Picture,
    findings: Sequence[Finding],
    sources: Sources,
    *,
    checks: Collection[str],
    unreadable: Iterable[Unreadable],
) -> answers.Audit:
    """Put the node, its containers and what was found into one document."""
    verdict_of = verdicts(picture)
    return {
        "apiVersion": API_VERSION,
        "kind": "Audit",
        "sources": sources,
        "checks": list(checks),
        "node": node_answer(picture),
        "summary": _summary(picture, findings),
        "containers": [_container(seen, verdict_of[seen.group.path]) for seen in picture.containers],
        "findings": [_finding(finding) for finding in findings],
        "unchecked": [
            {"missing": each.missing, "checks": list(each.checks)} for each in unchecked(picture, checks)
        ],
        "unreadable": unreadable_answer(unreadable),
    }


def node_answer(picture: Picture) -> AuditedNode:
    """Tell the node's CPUs by what they are for."""
    at, machine = picture.hierarchies, picture.machine
    drivers = {group.role.driver for group in picture.groups.values()}
    return {
        "cgroupVersion": at.version if at else None,
        "hybrid": bool(at and at.hybrid),
        "cgroupDrivers": [driver.value for driver in sorted(drivers)],
        "cpuManagerPolicy": picture.state.cpu.policy_name if picture.state.cpu else None,
        "cpuManagerState": _standing(picture.state),
        "online": str(machine.online),
        "offline": str(machine.offline),
        "isolated": str(machine.isolated),
        "nohzFull": str(machine.nohz_full),
        "reserved": str(picture.promises.reserved),
        "sharedPool": set_answer(picture.shared_pool),
        "exclusive": str(picture.exclusive) if picture.state.cpu else None,
    }


def _standing(state: State) -> Literal["read", "missing", "closed", "unusable"]:
    if state.cpu is not None:
        return "read"
    if state.cpu_problem:
        return "unusable"
    return "closed" if any(path.endswith(f"/{CPU_FILE}") for path in state.closed) else "missing"


def _summary(picture: Picture, findings: Iterable[Finding]) -> answers.Summary:
    threads = len(picture.others) + sum(len(seen.tasks) for seen in picture.containers)
    interrupts = picture.interrupts
    told = bool(interrupts.known) or interrupts.default is not None
    return {
        "containers": None if picture.hierarchies is None else len(picture.containers),
        "threads": threads or None,
        "interrupts": len(interrupts.known) if told else None,
        **counts(findings),
    }


def _container(seen: Seen, verdict: Verdict) -> answers.Container:
    cpuset, expected = seen.group.cpuset, seen.expected
    return {
        **owner_answer(seen.owner),
        "path": seen.group.path,
        "cpus": {
            "expected": set_answer(expected.cpus),
            "exclusive": expected.exclusive,
            "possible": [str(choice) for choice in expected.choices],
            "configured": set_answer(cpuset.cpus),
            "effective": set_answer(cpuset.effective),
            "threads": str(seen.running_on) if seen.tasks else None,
        },
        "mems": {
            "expected": set_answer(expected.mems),
            "configured": set_answer(cpuset.mems),
            "effective": set_answer(cpuset.effective_mems),
        },
        "threads": len(seen.tasks),
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
