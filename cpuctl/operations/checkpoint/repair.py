"""Repairing the state files of a node, and proving that its kubelet starts on the result."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.audit.commands import bringing_online
from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.inspection import inspect_state, readable_part
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryStateFile, PodsStateFile
from cpuctl.checkpoints.pods_state import write_pods_state
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.start import NotStarted, Started, start_managers, unless_flags_missing
from cpuctl.engine.state_checks.cpu_findings import NOT_ONLINE
from cpuctl.engine.state_checks.findings import EXPLAIN, REPAIR, SOME_POD
from cpuctl.engine.state_checks.verify import exclusive_cpus
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    ActionKind,
    CPURules,
    MemoryRules,
    RepairAction,
    Repaired,
    repair_cpu_state,
    repair_memory_state,
)
from cpuctl.engine.state_start import fails_on_files, start_on
from cpuctl.errors import InputError
from cpuctl.kubelet.kubelet import NO_CONFIGURATION
from cpuctl.operations.checkpoint.changes import FileChange, Refused, start_notes
from cpuctl.operations.checkpoint.placing import placements
from cpuctl.phrases import all_of
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE, MEMORY_FILE, PODS_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from cpuctl.engine.state_checks.findings import StateFinding
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.engine.state_repair import Placed
    from cpuctl.inputs.state_files import StateInput
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine
    from cpuctl.operations.checkpoint.states import CheckpointCase
    from cpuctl.pods.model import Container, StoredPod

_CORRECT, _CHECK = "correct the configuration first", "cpuctl config check"
_DRAIN_ALL = "drain the node and delete its state files"
_MOST_TRIED = 8
"""How many rejected pods are tried alone: whether all others stay without this one."""
_CONFIGURED = f"{REPAIR} {option_names.KUBELET_CONFIG} FILE"


class Repairs(NamedTuple):
    """The result for every file, and the verdict on all of them together, refused ones as they are."""

    changes: tuple[FileChange, ...]
    proof: StateVerdict


def repair(case: CheckpointCase) -> Repairs:
    """Repair files that need it; unless this is proven to help, no file is changed."""
    before = case.verdict()
    managers = start_managers(case.host.source.info, case.host.kubelet)
    if not isinstance(managers, Started):
        reason = _of_start(managers, "regardless of the state files", f"{_CORRECT}: {_CHECK}")
        return Repairs(tuple(_refused(state, reason) for state in case.states), before)
    best = _placed(case, managers, before)
    changes, after = _naming(best.changes, case, managers, before), best.after
    if not isinstance(after.start, Started) and not any(change.refused for change in changes):
        outcome: NotStarted = after.start
        if isinstance(before.start, Undetermined) and _is_unconfigured(outcome):
            outcome, after = before.start, advised(case)  # the repaired files are not written
        of_files = fails_on_files(outcome, case.host.source.info, case.host.kubelet)
        advice = _DRAIN_ALL if of_files else f"{_CORRECT} ({_CHECK}), or {_DRAIN_ALL}"
        reason = _of_start(outcome, "even with repaired state files", advice)
        changes = tuple(replace(each, refused=reason) if each.changed else each for each in changes)
    elif any(change.changed for change in changes):
        changes = tuple(map(_with_all, changes))
    kept = any(each.changed for each in changes)
    return Repairs(changes, _kept(best, case, managers, before) if kept else after)


class _Attempt(NamedTuple):
    """The changes of a repair, and the verdict on the files as they are then."""

    changes: tuple[FileChange, ...]
    after: StateVerdict

    @property
    def moved(self) -> frozenset[str]:
        """The UIDs of pods that get other CPUs."""
        did = (action for change in self.changes for action in change.actions)
        return frozenset(each.pod_uid for each in did if each.did is ActionKind.MOVED)


def _placed(case: CheckpointCase, managers: Started, before: StateVerdict) -> _Attempt:
    """Repair the files; place pods anew that a kubelet rejects if only their lost CPUs are replaced."""
    begun = best = _attempt(case, managers, before)
    if not (rejected := begun.after.rejected):
        return begun
    for uids in dict.fromkeys((begun.moved & rejected, begun.moved)):
        for placed in placements(_changed(case, begun.changes), uids, rejected):
            other = _attempt(case, managers, before, placed)
            if other.after.starts and len(other.after.rejected) < len(best.after.rejected):
                best = other
    return best


def _attempt(
    case: CheckpointCase, managers: Started, before: StateVerdict, placed: Placed | None = None
) -> _Attempt:
    changes = tuple(_repaired(state, case, managers, before, placed) for state in case.states)
    return _Attempt(changes, _changed(case, changes).verdict())


def _changed(case: CheckpointCase, changes: Sequence[FileChange]) -> CheckpointCase:
    states = (
        state if change.refused else change.as_input()
        for state, change in zip(case.states, changes, strict=True)
    )
    return replace(case, states=tuple(states))


def _kept(best: _Attempt, case: CheckpointCase, managers: Started, before: StateVerdict) -> StateVerdict:
    """Propose how to keep as many pods as possible if a restart with the repaired files rejects some.

    An explanation of these pods would be made with the files as they are now.
    """
    verdict = best.after
    if not verdict.rejected:
        return verdict
    fix = ", or ".join(filter(None, (_removing(case, managers, before, verdict.rejected), _draining(case))))
    # One fix is for all of them: only the first one says so.
    fixes = chain((fix,), repeat(""))
    findings = (
        replace(each, fix=next(fixes)) if each.fix.startswith(EXPLAIN) else each for each in verdict.findings
    )
    return replace(verdict, findings=tuple(findings))


def _removing(case: CheckpointCase, managers: Started, before: StateVerdict, rejected: frozenset[str]) -> str:
    """Propose to remove one rejected pod, or else all, if a repair then keeps all others."""
    pods = case.owners.pods or {}
    ordered = tuple(uid for uid in pods if uid in rejected)
    for some in dict.fromkeys((*((uid,) for uid in ordered[:_MOST_TRIED]), ordered)):
        if len(some) < len(pods):
            after = _placed(_without(case, some), managers, before).after
            if after.starts and not after.rejected and not after.overlaps:
                names = all_of([case.owners.name(uid) for uid in some])
                return (
                    f"remove {names} from the node, and repair again with the new list: the other pods stay"
                )
    return ""


def _without(case: CheckpointCase, uids: Collection[str]) -> CheckpointCase:
    left = {uid: pod for uid, pod in (case.owners.pods or {}).items() if uid not in uids}
    return replace(case, owners=replace(case.owners, pods=left))


def _naming(
    changes: tuple[FileChange, ...], case: CheckpointCase, managers: Started, before: StateVerdict
) -> tuple[FileChange, ...]:
    """If a pod has to be removed, name the one without which a restart keeps most of the others."""
    at = next((each for each in changes if each.refused and SOME_POD in each.refused.advice), None)
    state = at.state.inspection.state if at is not None and at.state is not None else None
    pods = case.owners.pods or {}
    holders = [uid for uid in pods if isinstance(state, CPUStateFile) and uid in state.entries]
    if len(holders) < 2:
        return changes
    tried = ((uid, _placed(_without(case, (uid,)), managers, before).after) for uid in holders[:_MOST_TRIED])
    helps = {uid: len(after.rejected) for uid, after in tried if after.starts}
    if not helps:
        return changes
    name = case.owners.name(min(helps, key=lambda uid: helps[uid]))
    return tuple(
        replace(each, refused=replace(each.refused, advice=each.refused.advice.replace(SOME_POD, name)))
        if each.refused
        else each
        for each in changes
    )


def _draining(case: CheckpointCase) -> str:
    empty = replace(case, states=(), answers=None).verdict()
    all_fit = empty.starts and not empty.rejected and not empty.overlaps
    return f"{_DRAIN_ALL}: then all running pods fit" if all_fit else ""


def _with_all(change: FileChange) -> FileChange:
    """Propose deleting all files if others have to change, too: without the repair, none of them does."""
    if change.refused is None:
        return change
    advice = change.refused.advice.replace(DRAIN, _DRAIN_ALL)
    return replace(change, refused=replace(change.refused, advice=advice))


def advised(case: CheckpointCase) -> StateVerdict:
    """Return the verdict on state files; propose a repair only if it would succeed.

    If one file cannot be repaired, none is: the obstacle is proposed as the first step, for its own file and
    for all others. If the configuration itself keeps the kubelet from starting, it has to be corrected first:
    nothing is proposed for the files. CPUs that are only offline can also be brought online again.
    """
    before = case.verdict()
    verdict = replace(before, refusals=_qualified(before.refusals, case.host.kubelet))
    findings = verdict.findings
    if not any(REPAIR in each.fix for each in findings):
        return verdict
    unconfigured = _is_unconfigured(verdict.start)
    managers = start_managers(case.host.source.info, case.host.kubelet)
    if not isinstance(managers, Started) and not unconfigured:
        return replace(verdict, findings=tuple(map(_without_repair, findings)))
    if not any(each.fix.endswith(REPAIR) for each in findings):
        return verdict
    if unconfigured:
        # Without the configuration nothing is repaired.
        findings = tuple(map(_unconfigured, findings))
    elif isinstance(managers, Started) and (blocked := _in_the_way(case, managers, before)) is not None:
        findings = tuple(_unblocked(findings, *blocked))
    machine = case.host.source.machine
    return replace(verdict, findings=tuple(_brought_online(each, machine) for each in findings))


def _without_repair(finding: StateFinding) -> StateFinding:
    return replace(finding, fix="") if REPAIR in finding.fix else finding


def _qualified(refusals: Mapping[str, NotStarted], kubelet: Kubelet) -> dict[str, NotStarted]:
    """Say of each refusal, as of that of the start, whether it depends on flags that are unknown."""
    return {name: unless_flags_missing(each, kubelet) for name, each in refusals.items()}


def _is_unconfigured(outcome: object) -> bool:
    return isinstance(outcome, Undetermined) and outcome.text.startswith(NO_CONFIGURATION)


def _unconfigured(finding: StateFinding) -> StateFinding:
    """Propose passing the configuration; without it, the kubelet's policy is only the default."""
    if finding.code == "policy-differs":
        return replace(
            finding,
            severity=Severity.WARNING,
            message=f'the file was written with policy "{finding.detected}", and no kubelet configuration '
            f'was found: "{finding.expected}" is the default',
            fix=f"pass the configuration: {option_names.KUBELET_CONFIG} FILE",
        )
    return replace(finding, fix=finding.fix.replace(REPAIR, _CONFIGURED))


def _unblocked(findings: Sequence[StateFinding], file_name: str, advice: str) -> Iterator[StateFinding]:
    """Propose fixing *file_name* first, which prevents the repair of all files."""
    blocked = {each.place.file_name for each in findings if each.fix.endswith(REPAIR)}
    of_file, of_others = _deleting(file_name, advice), f"{file_name} first: {advice}, then {REPAIR}"
    if REPAIR in advice and blocked - {file_name}:
        # One command repairs all files; without it, all must be deleted.
        of_file = of_others = advice.replace(DRAIN, _DRAIN_ALL)
    for each in findings:
        is_own = each.place.file_name == file_name
        # The advice includes removing the pods that do not fit.
        is_misfit = each.code == "memory-misfit" and REPAIR in advice
        if each.fix.endswith(REPAIR) or (is_own and is_misfit):
            yield replace(each, fix=of_file if is_own else of_others)
        else:
            yield each


def _deleting(file_name: str, advice: str) -> str:
    """Name the file: advice that several findings have is shown below all of them."""
    return advice.replace(DRAIN, DRAIN.replace("the file", file_name)) if REPAIR in advice else advice


def _brought_online(finding: StateFinding, machine: Machine) -> StateFinding:
    """Propose how to bring offline CPUs online, unless some do not exist on the machine."""
    if finding.code != "no-such-cpus":
        return finding
    gone = CPUSet.parse(finding.detected)
    found = bringing_online(machine, gone, "it" if len(gone) == 1 else "them")
    if found is None:
        return finding
    online = f"{found.why}: {found.how}, or repair the file"
    return replace(finding, message=finding.message.replace(NOT_ONLINE, online))


def _in_the_way(case: CheckpointCase, managers: Started, before: StateVerdict) -> tuple[str, str] | None:
    """Return the first file that prevents the repair of all, and what to do about it."""
    for state in case.states:
        try:
            change = _repaired(state, case, managers, before)
        except InputError:
            return state.file_name, DRAIN
        (change,) = _naming((change,), case, managers, before)
        if change.refused:
            return state.file_name, change.refused.advice
    return None


def _refused(state: StateInput, reason: Refused) -> FileChange:
    return FileChange(file_name=state.file_name, state=state, refused=reason)


def _of_start(outcome: NotStarted, when: str, advice: str) -> Refused:
    when = "" if isinstance(outcome, Undetermined) else f", {when}"
    if _is_unconfigured(outcome):
        return Refused(start_notes(outcome), _CONFIGURED)
    return Refused(start_notes(outcome, when), advice)


def _repaired(
    state: StateInput,
    case: CheckpointCase,
    managers: Started,
    before: StateVerdict,
    placed: Placed | None = None,
) -> FileChange:
    if state.file_name not in (CPU_FILE, MEMORY_FILE):
        return _resummed(state, case, before)
    unknown = before.refusals.get(state.file_name)
    if isinstance(unknown, Undetermined):
        return _refused(
            state, Refused(unknown.text, "repair it on the node, or use a recording that includes it")
        )
    readable, recovered = _readable(state)
    result = _state_of(readable, case, managers, placed)
    if isinstance(result, NotRepaired):
        return _refused(state, Refused(result.reason, result.advice))
    unread = state.file_name in before.refusals and not result.actions and not recovered
    text = _written(result.state, case)
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


def _resummed(state: StateInput, case: CheckpointCase, before: StateVerdict) -> FileChange:
    """Correct a file's checksum if its kubelet checks it; its content is not changed."""
    change, found = FileChange(file_name=state.file_name, state=state, text=state.text), state.inspection
    failure = before.readings.get(state.file_name)
    hurts = state.file_name in before.refusals or state.file_name in before.passed_over
    if failure == "unread" or not hurts:
        return change
    if isinstance(found.state, PodsStateFile) and state.file_name in PODS_FILES:
        text = write_pods_state(found.state, case.reader)
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
    return _refused(state, Refused(why, DRAIN))


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


_State = CPUStateFile | MemoryStateFile
_Result = Repaired[CPUStateFile] | Repaired[MemoryStateFile] | NotRepaired


def _due(case: CheckpointCase) -> Callable[[StoredPod, Container], int] | None:
    """Return the function that counts the exclusive CPUs a container requests; None if no pods are known."""
    node = start_on(case.host.source.info, case.host.kubelet).node if case.owners.pods else None
    return None if node is None else partial(exclusive_cpus, node)


def _state_of(state: StateInput, case: CheckpointCase, managers: Started, placed: Placed | None) -> _Result:
    found, reader = state.inspection.state, case.reader
    policy, memory = managers.policy, managers.memory_policy
    match found:
        case CPUStateFile():
            named = _named(state, found, case)
            if isinstance(named, NotRepaired):
                return named
            rules = CPURules(
                policy=policy,
                keeps_pods=reader.keeps_pods,
                keeps_baselines=reader.keeps_baselines,
                due=_due(case),
            )
            repaired = repair_cpu_state(named.state, rules, case.owners, placed or {})
            if isinstance(repaired, NotRepaired):
                return repaired
            return Repaired(repaired.state, (*named.actions, *repaired.actions))
        case MemoryStateFile():
            rules_of_memory = MemoryRules(
                fresh=memory.tables if memory else None,
                keeps_pods=reader.keeps_pods,
                compares_groups=memory is None or memory.compares_groups,
            )
            return repair_memory_state(found, rules_of_memory, case.owners)
        case _:
            return NotRepaired(
                f"its content is that of {state.inspection.file_name or 'another file'}", DRAIN
            )


def _named(
    state: StateInput, found: CPUStateFile, case: CheckpointCase
) -> Repaired[CPUStateFile] | NotRepaired:
    """Give containers that the oldest format identifies by id the names that all other formats use."""
    names, ids = case.reader.initial_containers, state.inspection.container_ids
    if ids and case.owners.pods is None:
        return NotRepaired(
            "the file identifies containers by ID, and their names are unknown",
            "pass the pods with their container IDs: --pods FILE",
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


def _written(state: _State, case: CheckpointCase) -> str:
    match state:
        case CPUStateFile():
            return write_cpu_state(state, case.reader)
        case MemoryStateFile():
            return write_memory_state(state, case.reader)
