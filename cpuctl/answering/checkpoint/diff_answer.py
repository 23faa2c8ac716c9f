"""Differences of state files in answers, and ``cpuctl checkpoint diff`` (schema: ``checkpointdiff``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from cpuctl.answering import API_VERSION
from cpuctl.answering.checkpoint.parts import (
    block_answers,
    file_answer,
    order_by_name,
    owner_answer,
    shortened,
)
from cpuctl.checkpoints.diff import (
    Blocks,
    CPUChange,
    Holder,
    MemoryChange,
    diff_cpu_states,
    diff_memory_states,
)
from cpuctl.checkpoints.inspection import Inspection, State
from cpuctl.checkpoints.model import (
    ClaimEntry,
    ClaimsStateFile,
    CPUStateFile,
    DevicesStateFile,
    MemoryStateFile,
    PodsStateFile,
    node_list,
)
from cpuctl.cpuset import CPUSet
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.inputs.state_files import StateInput
from cpuctl.operations.checkpoint.states import container_names, whole_state
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.decisions import Block
    from cpuctl.answers.values import Sources

    _Side = Literal["requests", "limits"]

_Changed = TypeVar("_Changed", CPUChange, MemoryChange)
StateT = TypeVar("StateT", CPUStateFile, MemoryStateFile, DevicesStateFile, ClaimsStateFile, PodsStateFile)

_NO_CPUS = CPUStateFile(policy_name="", default_cpu_set=CPUSet())
_NO_MEMORY = MemoryStateFile(policy_name="")
_FIELDS = {"system_reserved": "systemReserved"}


def diff_document(
    pairs: Iterable[tuple[StateInput | None, StateInput | None]], owners: Owners, sources: Sources
) -> answers.CheckpointDiff:
    """Compare files of the same kind; one of a pair is None if only the other side has the file."""
    files: list[answers.ComparedFile] = []
    for a, b in pairs:
        before, after = (each.inspection if each else Inspection() for each in (a, b))
        files.append(
            {
                "file": (a or b or _missing_sides()).file_name,
                "a": None if a is None else file_answer(a),
                "b": None if b is None else file_answer(b),
                **difference(before, after, owners),
            }
        )
    return {"apiVersion": API_VERSION, "kind": "CheckpointDiff", "sources": sources, "files": files}


def _missing_sides() -> StateInput:
    raise AssertionError("a pair has at least one side")


def difference(before: Inspection, after: Inspection, owners: Owners) -> answers.Difference:
    """Describe the gains and losses of all holders; a missing file holds nothing."""
    names = container_names(owners)
    old, new = whole_state(before, names), whole_state(after, names)
    answer: answers.Changes = {
        "policies": None,
        "cpus": [],
        "memory": [],
        "tables": [],
        "pods": [],
        "devices": [],
        "claims": [],
    }
    if isinstance(old or new, CPUStateFile):
        cpus = diff_cpu_states(_or(old, _NO_CPUS), _or(new, _NO_CPUS))
        answer["policies"] = _policies(cpus.policies) if old and new else None
        answer["cpus"] = [_cpu_change(change, owners) for change in _by_name(cpus.changes, owners)]
        _mark_absent(answer["cpus"], old, new)
    elif isinstance(old or new, MemoryStateFile):
        memory = diff_memory_states(_or(old, _NO_MEMORY), _or(new, _NO_MEMORY))
        answer["policies"] = _policies(memory.policies) if old and new else None
        answer["memory"] = [
            {
                **_holder(change.holder, owners),
                "before": _blocks(change.before),
                "after": _blocks(change.after),
            }
            for change in _by_name(memory.changes, owners)
        ]
        answer["tables"] = [
            {
                "numaNode": change.node,
                "resource": change.resource or None,
                "field": _FIELDS.get(change.field, change.field),
                "before": _number(change.before),
                "after": _number(change.after),
            }
            for change in memory.tables
        ]
    elif isinstance(old or new, DevicesStateFile):
        answer["devices"] = list(
            _devices_changed(_or(old, DevicesStateFile()), _or(new, DevicesStateFile()), owners)
        )
    elif isinstance(old or new, ClaimsStateFile):
        answer["claims"] = list(_claims_changed(_or(old, ClaimsStateFile()), _or(new, ClaimsStateFile())))
    else:
        answer["pods"] = list(_amounts_changed(_or(old, PodsStateFile()), _or(new, PodsStateFile()), owners))
    return {"equal": not any(answer.values()), **answer}


def _by_name(changes: Sequence[_Changed], owners: Owners) -> list[_Changed]:
    """Sort changes by pod; those of the shared pool, which has none, come first."""

    def key(change: CPUChange | MemoryChange) -> tuple[bool, bool, str, str]:
        return bool(change.holder.pod_uid), *order_by_name(change.holder.pod_uid, owners)

    return sorted(changes, key=key)


def _mark_absent(changes: Iterable[answers.CPUChange], old: State | None, new: State | None) -> None:
    """Set the shared pool of a missing file to None: it does not even have an empty one."""
    for change in changes:
        if change["holding"] == "sharedPool":
            if old is None:
                change["before"] = None
            if new is None:
                change["after"] = None


def _or(state: State | None, nothing: StateT) -> StateT:
    return state if isinstance(state, type(nothing)) else nothing


def _policies(names: tuple[str, str] | None) -> list[str] | None:
    return None if names is None else [shortened(name) for name in names]


def _holder(holder: Holder, owners: Owners) -> answers.ChangedHolder:
    return {"holding": holder.kind.value, **owner_answer(owners, holder.pod_uid, holder.container)}


def _cpu_change(change: CPUChange, owners: Owners) -> answers.CPUChange:
    return {
        **_holder(change.holder, owners),
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
        "added": str(change.added),
        "removed": str(change.removed),
    }


def _blocks(blocks: Blocks | None) -> list[Block] | None:
    return None if blocks is None else block_answers(blocks)


def _number(value: int | tuple[int, ...] | None) -> int | str | None:
    """Write a group of NUMA nodes as a list."""
    return node_list(value) if isinstance(value, tuple) else value


def _amounts_changed(
    before: PodsStateFile, after: PodsStateFile, owners: Owners
) -> Iterator[answers.AmountChange]:
    old, new = dict(_amounts(before)), dict(_amounts(after))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            uid, container, side, resource = key
            yield {
                **owner_answer(owners, uid, container),
                "side": side,
                "resource": resource,
                "before": _text(old.get(key)),
                "after": _text(new.get(key)),
            }


def _amounts(state: PodsStateFile) -> Iterator[tuple[tuple[str, str, _Side, str], Quantity]]:
    for uid, pod in state.pods.items():
        groups = dict(pod.containers) | ({"": pod.pod_level} if pod.pod_level else {})
        for name, resources in groups.items():
            for resource, amount in resources.requests.items():
                yield (uid, name, "requests", resource), amount
            for resource, amount in resources.limits.items():
                yield (uid, name, "limits", resource), amount


def _devices_changed(
    before: DevicesStateFile, after: DevicesStateFile, owners: Owners
) -> Iterator[answers.DevicesChange]:
    old, new = (
        {(each.pod_uid, each.container, each.resource): list(each.names) for each in state.entries}
        for state in (before, after)
    )
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            uid, container, resource = key
            yield {
                **owner_answer(owners, uid, container),
                "resource": resource,
                "before": old.get(key),
                "after": new.get(key),
            }


def _claims_changed(before: ClaimsStateFile, after: ClaimsStateFile) -> Iterator[answers.ClaimChange]:
    old, new = (
        {(each.namespace, each.name, each.uid): each for each in state.claims} for state in (before, after)
    )
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            namespace, name, uid = key
            yield {
                "namespace": namespace,
                "claim": name,
                "claimUID": uid,
                "before": _held_by_claim(old.get(key)),
                "after": _held_by_claim(new.get(key)),
            }


def _held_by_claim(claim: ClaimEntry | None) -> answers.ClaimHolders | None:
    return None if claim is None else {"pods": list(claim.pod_uids), "devices": list(claim.devices)}


def _text(amount: Quantity | None) -> str | None:
    return None if amount is None else str(amount)
