"""The answer of ``cpuctl cgroups show`` as a plain document (schema: ``cpuctl schema cgroupsshow``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.node_parts import node_answer, owner_answer, unreadable_answer
from cpuctl.audit.group_values import FileValue, ValueRules, group_values
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.capture.collected import Unreadable
from cpuctl.cgroups.groups import Cgroup

if TYPE_CHECKING:
    from cpuctl.answers.cgroups import CgroupsShow, Group, GroupFile
    from cpuctl.answers.sources import Sources


def show_document(
    snapshot: NodeSnapshot, rules: ValueRules, sources: Sources, unreadable: Iterable[Unreadable]
) -> CgroupsShow:
    """List the groups, parents first, with the values of their files and those expected."""
    groups = [_group(snapshot, group, rules) for group in snapshot.groups.values()]
    differing = sum(any(each["differs"] for each in group["files"].values()) for group in groups)
    return {
        "apiVersion": API_VERSION,
        "kind": "CgroupsShow",
        "sources": sources,
        "node": node_answer(snapshot),
        "summary": {"groups": len(groups), "differing": differing},
        "groups": groups,
        "unreadable": unreadable_answer(unreadable),
    }


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
