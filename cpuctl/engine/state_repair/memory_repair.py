"""A state of the Memory Manager that its kubelet starts on: the same entries, on the machine as it is now.

Nothing is moved: memory stays where it is, whatever a file says. What has no place is a reason not to repair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from cpuctl.checkpoints.model import DRAIN, MemoryNode, MemoryStateFile
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.outcome import KubeletFault, Undetermined
from cpuctl.engine.state_checks.findings import REPAIR_WITH_PODS
from cpuctl.engine.state_checks.memory_findings import DriftKind, UnplacedBlock, memory_drift, replayed
from cpuctl.engine.state_checks.owners import GONE, Owners, gone, kept
from cpuctl.engine.state_repair.actions import ActionKind, NotRepaired, RepairAction, Repaired
from cpuctl.records import replace

_SHOWN = 3
_REMOVE = f"remove what has no place from the node, then {REPAIR_WITH_PODS}, or {DRAIN}"
_REASONS = {
    None: "the sums are not those of the entries",
    DriftKind.BENIGN: "the machine's memory differs by what a reboot changes",
    DriftKind.REAL: "the machine's memory, or what is reserved of it, has changed",
}


class MemoryRules(NamedTuple):
    """The Memory Manager that is to start: ``fresh`` are the tables of the machine, None for the policy None.

    ``keeps_pods`` tells whether it reads what pods hold as a whole, ``compares_groups`` whether it holds
    groups of NUMA nodes against the machine, or every node by itself.
    """

    fresh: Mapping[int, MemoryNode] | None
    keeps_pods: bool = False
    compares_groups: bool = True


def repair_memory_state(
    state: MemoryStateFile, rules: MemoryRules, owners: Owners
) -> Repaired[MemoryStateFile] | NotRepaired:
    """Make a state fit the machine and the configuration; where *owners* are known, drop others' entries."""
    if rules.fresh is None:
        return _given_up(state)
    if state.policy_name != "Static":
        fresh = MemoryStateFile(policy_name="Static", machine_state=dict(rules.fresh))
        return Repaired(fresh, (_policy(state, "Static"),))
    entries = kept(state.entries, owners)
    pods = {uid: blocks for uid, blocks in state.pod_entries.items() if rules.keeps_pods and uid in entries}
    new = replace(state, entries=entries, pod_entries=pods)
    restore = partial(restored, fresh=rules.fresh, compares_groups=rules.compares_groups)
    starts = isinstance(restore(new), MemoryManagerState)
    dropped = [*_dropped(state, owners)]
    if starts and not dropped and not rules.keeps_pods:
        return Repaired(state)
    actions = [*dropped, *_pods_passed_over(state, rules, owners)]
    if starts:
        return Repaired(new, tuple(actions))
    again = replayed(new, rules.fresh)
    if again.misfits:
        return _no_place(again.misfits, owners)
    new = replace(new, machine_state=again.tables)
    verdict = restore(new)
    if isinstance(verdict, MemoryManagerState):
        drift = memory_drift(state, rules.fresh)
        why = _REASONS[drift.kind if drift else None]
        return Repaired(new, (*actions, RepairAction(did=ActionKind.TABLES, reason=why)))
    return NotRepaired(_why_not(verdict), DRAIN)


def _given_up(state: MemoryStateFile) -> Repaired[MemoryStateFile]:
    if state.policy_name == "None":
        return Repaired(state)
    why = "the policy None keeps no memory for anybody"
    actions = [
        RepairAction(did=ActionKind.DROPPED, reason=why, pod_uid=uid, container=name, before=_amounts(blocks))
        for uid, containers in sorted(state.entries.items())
        for name, blocks in sorted(containers.items())
    ]
    return Repaired(MemoryStateFile(policy_name="None"), (_policy(state, "None"), *actions))


def _policy(state: MemoryStateFile, configured: str) -> RepairAction:
    why = f"the policy {configured} is configured"
    return RepairAction(did=ActionKind.POLICY, reason=why, before=state.policy_name, after=configured)


def _dropped(state: MemoryStateFile, owners: Owners) -> Iterator[RepairAction]:
    for uid, name, status in gone(state.entries, owners):
        before = _amounts(state.entries[uid][name])
        yield RepairAction(
            did=ActionKind.DROPPED, reason=GONE[status], pod_uid=uid, container=name, before=before
        )


def _pods_passed_over(state: MemoryStateFile, rules: MemoryRules, owners: Owners) -> Iterator[RepairAction]:
    entries = kept(state.entries, owners)
    for uid, blocks in sorted(state.pod_entries.items()):
        if not rules.keeps_pods:
            why = "this kubelet does not read what pods hold as a whole; their containers keep theirs"
        elif uid not in entries:
            why = "no container of the pod holds any of it: no kubelet ever takes it back"
        else:
            continue
        yield RepairAction(did=ActionKind.POD, reason=why, pod_uid=uid, before=_amounts(blocks))


def _no_place(misfits: tuple[UnplacedBlock, ...], owners: Owners) -> NotRepaired:
    shown = "; ".join(
        f"{_amounts((each.held.block,))} of {owners.name(each.held.uid, each.held.container)}: {each.why}"
        for each in misfits[:_SHOWN]
    )
    more = f" and {len(misfits) - _SHOWN} more" if len(misfits) > _SHOWN else ""
    return NotRepaired(f"memory that pods hold has no place on this machine: {shown}{more}", _REMOVE)


def _why_not(verdict: str | KubeletFault | Undetermined) -> str:
    if isinstance(verdict, KubeletFault):
        return f"the kubelet crashes in the {verdict.where}: {verdict.why}"
    return verdict.text if isinstance(verdict, Undetermined) else verdict


def _amounts(blocks: Blocks) -> str:
    return ", ".join(
        f"{each.size} bytes of {each.type} on NUMA node {','.join(map(str, each.numa_affinity))}"
        for each in blocks
    )
