"""The answers about control groups as plain documents (schemas: ``cgroupsshow``, ``-plan`` and ``-apply``).

Modules for audit proposals and for writing are imported only when needed: showing groups needs neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.parts import node_answer, owner_answer, set_answer, unreadable_answer
from cpuctl.audit.group_values import FileValue, ValueRules, group_values
from cpuctl.audit.quotas import check_quota

if TYPE_CHECKING:
    from cpuctl.answers import cgroups as answers
    from cpuctl.answers.cgroups import AuditPart, CgroupsShow, Group, GroupFile
    from cpuctl.answers.values import Sources
    from cpuctl.audit.plan import GroupChange, ListChange
    from cpuctl.audit.snapshot import ContainerProcess, NodeSnapshot
    from cpuctl.capture.collected import Unreadable
    from cpuctl.cgroups.applying import LogEntry, Outcome
    from cpuctl.cgroups.groups import Cgroup
    from cpuctl.cgroups.objections import Objection
    from cpuctl.inputs.live_node import StateFile
    from cpuctl.operations.cgroups.preparation import PreparedWrites


def show_document(
    snapshot: NodeSnapshot,
    rules: ValueRules,
    sources: Sources,
    unreadable: Iterable[Unreadable],
    audit: str = "",
) -> CgroupsShow:
    """List the groups, parents first, with the values of their files and those expected.

    *audit* is the command that explains what to do about differences.
    """
    groups = [_group(snapshot, group, rules) for group in snapshot.groups.values()]
    differing = sum(any(each["differs"] for each in group["files"].values()) for group in groups)
    following: AuditPart = {"next": audit} if audit and _is_audited(snapshot, groups) else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "CgroupsShow",
        "sources": sources,
        "node": node_answer(snapshot),
        "summary": {"groups": len(groups), "differing": differing},
        "groups": groups,
        "unreadable": unreadable_answer(unreadable),
        **following,
    }


def _is_audited(snapshot: NodeSnapshot, groups: Iterable[Group]) -> bool:
    """Return whether an audit reports wrong values: CPU sets, NUMA nodes, quotas of exclusive CPUs."""
    sets = (
        value["differs"]
        for group in groups
        for name, value in group["files"].items()
        if name.startswith("cpuset.")
    )
    return any(sets) or any(check_quota(snapshot))


def _group(snapshot: NodeSnapshot, group: Cgroup, rules: ValueRules) -> Group:
    owner = snapshot.owners.get(group.path)
    role = group.role
    return {
        "path": group.path,
        "parent": group.parent if group.parent in snapshot.groups else None,
        "level": role.level.value,
        "qosClass": None if role.level.value == "kubepods" else role.qos.value,
        "owner": owner_answer(owner) if owner else None,
        "files": {name: _value(value) for name, value in group_values(snapshot, group, rules).items()},
    }


def _value(value: FileValue) -> GroupFile:
    return {"actual": value.actual, "expected": list(value.expected), "differs": value.differs}


def plan_document(
    snapshot: NodeSnapshot, state_files: Iterable[StateFile], sources: Sources
) -> answers.CgroupsPlan:
    """Describe every change, and its preconditions."""
    from cpuctl.audit.plan import plan_changes

    at = snapshot.hierarchies
    return {
        "apiVersion": API_VERSION,
        "kind": "CgroupsPlan",
        "sources": sources,
        "cgroupVersion": at.version if at else None,
        "hierarchy": f"/{at.cpuset}" if at and at.cpuset else None,
        "state": [{"path": each.path, "sha256": each.sha256} for each in state_files],
        "groups": [_planned_group(change) for change in plan_changes(snapshot)],
    }


def _planned_group(change: GroupChange) -> answers.PlannedGroup:
    return {
        "path": change.path,
        "owner": owner_answer(change.owner),
        "process": _process(change.first),
        "cpus": _change(change.cpus),
        "mems": _change(change.mems),
    }


def _process(first: ContainerProcess | None) -> answers.OldestProcess | None:
    return None if first is None else {"pid": first.pid, "startTime": first.started}


def _change(change: ListChange | None) -> answers.Change | None:
    if change is None:
        return None
    return {"now": str(change.now), "desired": str(change.wanted), "effective": set_answer(change.effective)}


def apply_document(
    prepared: PreparedWrites,
    snapshot: NodeSnapshot,
    outcome: Outcome | None,
    sources: Sources,
    audit: str = "",
) -> answers.CgroupsApply:
    """Describe the planned writes and, after an *outcome*, the completed ones.

    *audit* is the command that audits the same node.
    """
    desired = prepared.request.desired
    outdated = any(each.code == "state-moved" for each in prepared.objections)
    following: answers.NewPlanPart = {}
    if audit and outdated and prepared.request.kind == "CgroupsPlan":
        following["next"] = f"{audit} -o plan --exit-zero > FILE"
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
        "skipped": [{"subject": each.subject, "why": each.why} for each in desired.left_out],
        "result": None if outcome is None else _result(outcome),
        "warnings": prepared.warnings,
        **following,
    }


def _outcome(prepared: PreparedWrites, outcome: Outcome | None) -> answers.ApplyOutcome:
    if prepared.objections:
        return "Rejected"
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
        "force": f"--force-{objection.force}" if objection.force and not objection.impossible else None,
    }


def _writes(prepared: PreparedWrites, snapshot: NodeSnapshot) -> list[answers.Write]:
    from cpuctl.cgroups.writes import CPUS

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
    from cpuctl.operations.cgroups.writing import step_answer

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
