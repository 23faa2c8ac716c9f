"""Repair of single state files, each for the kubelet that is to start with all of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.inspection import inspect_state, readable_part
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryStateFile, PodsStateFile
from cpuctl.checkpoints.pods_state import write_pods_state
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.state_checks.findings import REPAIR_WITH_PODS
from cpuctl.engine.state_checks.verify import exclusive_cpus
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    AS_NEEDED,
    ActionKind,
    CPURules,
    MemoryRules,
    RepairAction,
    Repaired,
    repair_cpu_state,
    repair_memory_state,
)
from cpuctl.errors import InputError
from cpuctl.operations.checkpoint.changes import FileChange, Refused
from cpuctl.records import Record, replace
from cpuctl.state_names import CPU_FILE, MEMORY_FILE, PODS_FILES

if TYPE_CHECKING:
    from collections.abc import Collection

    from cpuctl.cpuset import CPUSet
    from cpuctl.engine.node import Node
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.engine.state_repair import Placed
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.operations.checkpoint.states import CheckpointCase

_State = CPUStateFile | MemoryStateFile
_Result = Repaired[CPUStateFile] | Repaired[MemoryStateFile] | NotRepaired


class FileRepair(Record):
    """How state files are repaired: ``node`` has started without them, ``before`` is the verdict on them."""

    case: CheckpointCase
    node: Node
    before: StateVerdict

    def without(self, uids: Collection[str]) -> FileRepair:
        """Return how they are repaired if some pods no longer run."""
        owners = self.case.owners
        left = {uid: pod for uid, pod in (owners.pods or {}).items() if uid not in uids}
        return replace(self, case=replace(self.case, owners=replace(owners, pods=left)))

    def change(self, state: StateInput, placed: Placed = AS_NEEDED) -> FileChange:
        """Return what is repaired in one file; the pods in *placed* get other CPUs.

        Raise InputError if no part of the file can be read.
        """
        if state.file_name not in (CPU_FILE, MEMORY_FILE):
            return self._resummed(state)
        unknown = self.before.refusals.get(state.file_name)
        if isinstance(unknown, Undetermined):
            return refused(
                state, Refused(unknown.text, "repair it on the node, or use a recording that includes it")
            )
        readable, recovered = _readable(state)
        result = self._state(readable, placed)
        if isinstance(result, NotRepaired):
            return refused(state, Refused(result.reason, result.advice))
        unread = state.file_name in self.before.refusals and not result.actions and not recovered
        text = self._written(result.state)
        formal = _formal(readable, text, unread=unread)
        # If a repair restores what the checksum was made of, nothing is wrong with the checksum.
        wrong = [each for each in formal if each.did is not ActionKind.CHECKSUM or each.before != each.after]
        if len(wrong) < len(formal) and not result.actions:
            reason = "the content is not written as the kubelet writes it"
            wrong.append(RepairAction(did=ActionKind.FORMAT, reason=reason))
        actions = (*recovered, *result.actions, *wrong)
        return FileChange(
            file_name=state.file_name, state=readable, text=text if actions else state.text, actions=actions
        )

    def _resummed(self, state: StateInput) -> FileChange:
        """Correct a file's checksum if its kubelet checks it; its content is not changed."""
        change = FileChange(file_name=state.file_name, state=state, text=state.text)
        before, found = self.before, state.inspection
        failure = before.readings.get(state.file_name)
        hurts = state.file_name in before.refusals or state.file_name in before.passed_over
        if failure == "unread" or not hurts:
            return change
        if isinstance(found.state, PodsStateFile) and state.file_name in PODS_FILES:
            text = write_pods_state(found.state, self.case.reader)
            return replace(change, text=text, actions=tuple(_formal(state, text, unread=True)))
        if found.resummed and (actions := _formal(state, found.resummed, unread=False)):
            return replace(change, text=found.resummed, actions=tuple(actions))
        if failure == "goesOn":
            return change
        why = (
            f"it cannot be read: {found.problem}"
            if found.problem
            else f"no kubelet converts format {found.format}"
        )
        return refused(state, Refused(why, DRAIN))

    def _state(self, state: StateInput, placed: Placed) -> _Result:
        found, reader, node = state.inspection.state, self.case.reader, self.node
        match found:
            case CPUStateFile():
                named = self._named(state, found)
                if isinstance(named, NotRepaired):
                    return named
                rules = CPURules(
                    policy=node.policy,
                    keeps_pods=reader.keeps_pods,
                    keeps_baselines=reader.keeps_baselines,
                    due=partial(exclusive_cpus, node),
                )
                repaired = repair_cpu_state(named.state, rules, self.case.owners, placed)
                if isinstance(repaired, NotRepaired):
                    return repaired
                return Repaired(repaired.state, (*named.actions, *repaired.actions))
            case MemoryStateFile():
                memory = MemoryRules.of(node.memory.policy, keeps_pods=reader.keeps_pods)
                return repair_memory_state(found, memory, self.case.owners)
            case _:
                return NotRepaired(
                    f"its content is that of {state.inspection.file_name or 'another file'}", DRAIN
                )

    def _named(self, state: StateInput, found: CPUStateFile) -> Repaired[CPUStateFile] | NotRepaired:
        """Give containers that the oldest format identifies by id the names that all other formats use."""
        names, ids = self.case.reader.initial_containers, state.inspection.container_ids
        if ids and self.case.owners.pods is None:
            return NotRepaired(
                "the file identifies containers by ID, and their names are unknown",
                REPAIR_WITH_PODS,
            )
        entries: dict[str, dict[str, CPUSet]] = {uid: dict(each) for uid, each in found.entries.items()}
        actions = []
        for container_id, cpus in sorted(ids.items()):
            if container_id in names:
                uid, name = names[container_id]
                entries.setdefault(uid, {})[name] = cpus
            else:
                why = f"no running container has the ID {container_id}"
                actions.append(RepairAction(did=ActionKind.REMOVED, reason=why, before=str(cpus)))
        return Repaired(replace(found, entries=entries), tuple(actions))

    def _written(self, state: _State) -> str:
        match state:
            case CPUStateFile():
                return write_cpu_state(state, self.case.reader)
            case MemoryStateFile():
                return write_memory_state(state, self.case.reader)


def refused(state: StateInput, reason: Refused) -> FileChange:
    """Return that a file is not repaired, and why."""
    return FileChange(file_name=state.file_name, state=state, refused=reason)


def _readable(state: StateInput) -> tuple[StateInput, tuple[RepairAction, ...]]:
    """Return what can be repaired: if the newest part of a file is broken, the copy for older kubelets.

    Raise InputError if nothing can be read.
    """
    found = state.inspection
    part = readable_part(state.text, found)
    if part is None:
        raise InputError(f"cannot be read: {found.problem}", where=state.source, hint=DRAIN)
    if part is found:
        return state, ()
    why = f"{found.format} is broken ({found.problem}): taken from the copy for older kubelets"
    taken = replace(part, format=found.format)
    return replace(state, inspection=taken), (RepairAction(did=ActionKind.FORMAT, reason=why),)


def _formal(state: StateInput, text: str, *, unread: bool) -> list[RepairAction]:
    """List the formal defects of a file for which it must be written again, as *text*.

    *unread*: the kubelet refuses it although its content is correct.
    """
    found = state.inspection
    new = inspect_state(text, state.file_name)
    written = {each.name: str(each.written) for each in new.checksums}
    actions = [
        RepairAction(
            did=ActionKind.CHECKSUM,
            reason=f"{each.name} does not match the content"
            + ("" if each.name in written else f", and format {new.format} does not have it"),
            before=str(each.written),
            after=written.get(each.name, ""),
        )
        for each in found.checksums
        if not each.ok
    ]
    if found.embedded_differs:
        reason = "the copy for kubelets before 1.37 differs from the file"
        actions.append(RepairAction(did=ActionKind.FORMAT, reason=reason))
    if unread and not actions:
        reason = f"this kubelet does not read format {found.format}"
        actions.append(RepairAction(did=ActionKind.FORMAT, reason=reason, before=found.format))
    return actions
