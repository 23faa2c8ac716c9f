"""The answer of ``cpuctl cgroups apply`` as a plain document (schema: ``cpuctl schema cgroupsapply``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.node_parts import owner_answer
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.applying import LogEntry, Outcome
from cpuctl.cgroups.objections import Objection
from cpuctl.cgroups.writes import CPUS
from cpuctl.operations.cgroups.preparation import PreparedWrites
from cpuctl.operations.cgroups.writing import step_answer

if TYPE_CHECKING:
    from cpuctl.answers import cgroups as answers
    from cpuctl.answers.sources import Sources


def apply_document(
    prepared: PreparedWrites, snapshot: NodeSnapshot, outcome: Outcome | None, sources: Sources
) -> answers.CgroupsApply:
    """Describe what is to be written and, after an *outcome*, what has been."""
    desired = prepared.request.desired
    return {
        "apiVersion": API_VERSION,
        "kind": "CgroupsApply",
        "sources": sources,
        "cgroupVersion": prepared.at.version,
        "request": prepared.request.kind,
        "outcome": _outcome(prepared, outcome),
        "summary": {
            "containers": len(desired.groups),
            "groups": len({write.path for write in prepared.writes}),
            "writes": len(prepared.writes),
        },
        "objections": [_objection(each) for each in prepared.objections],
        "writes": _writes(prepared, snapshot),
        "leftOut": [{"subject": each.subject, "why": each.why} for each in desired.left_out],
        "result": None if outcome is None else _result(outcome),
        "warnings": prepared.warnings,
    }


def _outcome(prepared: PreparedWrites, outcome: Outcome | None) -> answers.ApplyOutcome:
    if prepared.objections:
        return "Refused"
    if not prepared.writes:
        return "Clean"
    if outcome is None:
        return "Planned"
    if not outcome.failure:
        return "Applied"
    return "NotRestored" if outcome.left_over else "Undone"


def _objection(objection: Objection) -> answers.Objection:
    return {
        "code": objection.code,
        "subject": objection.subject,
        "message": objection.message,
        "force": f"--force-{objection.force}" if objection.force and not objection.in_vain else None,
    }


def _writes(prepared: PreparedWrites, snapshot: NodeSnapshot) -> list[answers.Write]:
    found: list[answers.Write] = []
    for write in prepared.writes:
        owner = snapshot.owners.get(write.path)
        group = snapshot.groups[write.path]
        root = prepared.at.cpuset if write.name.startswith("cpuset.") else prepared.at.cpu
        found.append(
            {
                "subject": str(owner) if owner else f"cgroup {write.path}",
                "owner": owner_answer(owner) if owner else None,
                "level": group.role.level.value,
                "path": write.path,
                "file": f"/{root}{write.path}/{write.name}",
                "before": write.before,
                "after": write.after,
                "inherits": str(group.cpuset.effective or "")
                if write.name == CPUS and not write.before
                else None,
                "why": write.why,
            }
        )
    return found


def _result(outcome: Outcome) -> answers.Result:
    return {
        "failure": outcome.failure or None,
        "watchedSeconds": outcome.watched,
        "steps": [step_answer(entry) for entry in outcome.entries],
        "notRestored": _named(outcome.left_over),
        "gone": _named(outcome.gone),
    }


def _named(entries: Iterable[LogEntry]) -> list[answers.WrittenFile]:
    return [
        {"group": entry.change.group, "file": entry.change.name, "problem": entry.problem or None}
        for entry in entries
    ]
