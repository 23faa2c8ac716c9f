"""The answer of ``cpuctl audit`` as a plain document (schema: ``cpuctl schema audit``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.parts import (
    found,
    graded,
    node_answer,
    owner_answer,
    set_answer,
    unreadable_answer,
)
from cpuctl.audit.checks import Verdict, unchecked, verdicts
from cpuctl.audit.finding import Finding
from cpuctl.audit.snapshot import NodeSnapshot, ObservedContainer
from cpuctl.capture.collected import Unreadable
from cpuctl.diagnostics import counts

if TYPE_CHECKING:
    from cpuctl.answers import audit as answers
    from cpuctl.answers.values import Sources


def audit_document(
    snapshot: NodeSnapshot,
    findings: Sequence[Finding],
    sources: Sources,
    *,
    checks: Collection[str],
    unreadable: Iterable[Unreadable],
) -> answers.Audit:
    """Combine the node, its containers and the findings into one document."""
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
        **_claims(snapshot),
        "findings": [finding_answer(finding) for finding in findings],
        "unchecked": [
            {"missing": each.missing, "checks": list(each.checks)} for each in unchecked(snapshot, checks)
        ],
        "unreadable": unreadable_answer(unreadable),
    }


def _claims(snapshot: NodeSnapshot) -> answers.ClaimsPart:
    """Return the containers with their CPUs according to the driver's file, if there is one."""
    if snapshot.prepared is None:
        return {}
    known = snapshot.claims
    return {
        "claims": [
            {
                "uid": uid,
                "claim": f"{known[uid].namespace}/{known[uid].name}" if uid in known else None,
                "pods": [snapshot.pod_name(pod) for pod in known[uid].pod_uids] if uid in known else [],
                "cpus": str(cpus),
            }
            for uid, cpus in sorted(snapshot.prepared.cpus.items())
        ]
    }


def _summary(snapshot: NodeSnapshot, findings: Iterable[Finding]) -> answers.Summary:
    threads = len(snapshot.others) + sum(len(observed.tasks) for observed in snapshot.containers)
    interrupts = snapshot.interrupts
    recorded = bool(interrupts.known) or interrupts.default is not None
    return {
        "containers": None if snapshot.hierarchies is None else len(snapshot.containers),
        "threads": threads or None,
        "interrupts": len(interrupts.known) if recorded else None,
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


def finding_answer(finding: Finding) -> answers.Finding:
    """Describe a finding and the part of the node that it is about."""
    subject, owner, path = finding.place
    return {
        **graded(finding),
        "subject": subject,
        "uid": owner.uid if owner else None,
        "container": (owner.container or None) if owner else None,
        "path": path or None,
        **found(finding),
    }
