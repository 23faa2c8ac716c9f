"""What ``cpuctl cgroups apply`` takes, as a plain document (schema: ``cpuctl schema cgroupsplan``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.node_parts import owner_answer, set_answer
from cpuctl.audit.plan import GroupChange, ListChange, plan_changes
from cpuctl.audit.snapshot import ContainerProcess, NodeSnapshot
from cpuctl.inputs.live_node import StateFile

if TYPE_CHECKING:
    from cpuctl.answers import cgroups as answers
    from cpuctl.answers.sources import Sources


def plan_document(
    snapshot: NodeSnapshot, state_files: Iterable[StateFile], sources: Sources
) -> answers.CgroupsPlan:
    """Describe every change, and what must still be so when it is made."""
    at = snapshot.hierarchies
    return {
        "apiVersion": API_VERSION,
        "kind": "CgroupsPlan",
        "sources": sources,
        "cgroupVersion": at.version if at else None,
        "hierarchy": f"/{at.cpuset}" if at and at.cpuset else None,
        "state": [{"path": each.path, "sha256": each.sha256} for each in state_files],
        "groups": [_group(change) for change in plan_changes(snapshot)],
    }


def _group(change: GroupChange) -> answers.PlannedGroup:
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
    return {"now": str(change.now), "wanted": str(change.wanted), "effective": set_answer(change.effective)}
