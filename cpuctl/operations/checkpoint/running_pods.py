"""Repairs with which a restarted kubelet admits as many of the running pods as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet, union
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.state_checks.findings import SOME_POD
from cpuctl.engine.state_checks.verify import saved_files
from cpuctl.engine.state_repair import AS_NEEDED, ActionKind, PlacedPod
from cpuctl.engine.state_start import start_on
from cpuctl.operations.checkpoint.states import found_states
from cpuctl.phrases import all_of
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpuctl.engine.node import Node
    from cpuctl.engine.state_checks.verify import StateVerdict
    from cpuctl.engine.state_repair import Placed
    from cpuctl.operations.checkpoint.changes import FileChange
    from cpuctl.operations.checkpoint.file_repair import FileRepair
    from cpuctl.operations.checkpoint.states import CheckpointCase
    from cpuctl.pods.model import StoredPod

_ROUNDS: Final = 3
"""How often pods are tried again, on CPUs that others have left."""
_MOST_TRIED: Final = 8
"""How many pods are tried alone: whether the others stay without this one."""


class Attempt(NamedTuple):
    """The changes of a repair, and the verdict on the files as they are then."""

    changes: tuple[FileChange, ...]
    after: StateVerdict

    @property
    def moved(self) -> frozenset[str]:
        """The UIDs of pods that get other CPUs."""
        did = (action for change in self.changes for action in change.actions)
        return frozenset(each.pod_uid for each in did if each.did is ActionKind.MOVED)


def best_attempt(repair: FileRepair) -> Attempt:
    """Repair the files; place pods anew that a kubelet rejects if only their lost CPUs are replaced."""
    begun = best = _attempt(repair)
    if not (rejected := begun.after.rejected):
        return begun
    for uids in dict.fromkeys((begun.moved & rejected, begun.moved)):
        for placed in _placements(_changed(repair.case, begun.changes), uids, rejected):
            other = _attempt(repair, placed)
            if other.after.starts and len(other.after.rejected) < len(best.after.rejected):
                best = other
    return best


def _attempt(repair: FileRepair, placed: Placed = AS_NEEDED) -> Attempt:
    changes = tuple(repair.change(state, placed) for state in repair.case.states)
    return Attempt(changes, _changed(repair.case, changes).verdict())


def _changed(case: CheckpointCase, changes: Sequence[FileChange]) -> CheckpointCase:
    states = (
        state if change.refused else change.as_input()
        for state, change in zip(case.states, changes, strict=True)
    )
    return replace(case, states=tuple(states))


def pods_in_the_way(repair: FileRepair, rejected: frozenset[str]) -> str:
    """Name one rejected pod, or else all, if a repair without them keeps all others; empty if none does."""
    owners = repair.case.owners
    pods = owners.pods or {}
    ordered = tuple(uid for uid in pods if uid in rejected)
    for some in dict.fromkeys((*((uid,) for uid in ordered[:_MOST_TRIED]), ordered)):
        if len(some) < len(pods):
            after = best_attempt(repair.without(some)).after
            if after.starts and not after.rejected and not after.overlaps:
                return all_of([owners.name(uid) for uid in some])
    return ""


def naming_pod(repair: FileRepair, changes: tuple[FileChange, ...]) -> tuple[FileChange, ...]:
    """If a pod has to be removed, name the one without which a restart keeps most of the others."""
    at = next((each for each in changes if each.refused and SOME_POD in each.refused.advice), None)
    state = at.state.inspection.state if at is not None and at.state is not None else None
    owners = repair.case.owners
    holders = [uid for uid in owners.pods or {} if isinstance(state, CPUStateFile) and uid in state.entries]
    if len(holders) < 2:
        return changes
    tried = ((uid, best_attempt(repair.without((uid,))).after) for uid in holders[:_MOST_TRIED])
    helps = {uid: len(after.rejected) for uid, after in tried if after.starts}
    if not helps:
        return changes
    name = owners.name(min(helps, key=lambda uid: helps[uid]))
    return tuple(
        replace(each, refused=replace(each.refused, advice=each.refused.advice.replace(SOME_POD, name)))
        if each.refused
        else each
        for each in changes
    )


def _placements(case: CheckpointCase, uids: Collection[str], rejected: Collection[str]) -> Iterator[Placed]:
    """Yield ways to give running pods CPUs with which a kubelet admits them, next to what all others hold.

    First one after the other, each on free CPUs, then on those that all of them leave; always as many as find
    a place. Pods with CPUs as a whole stay where they are. *rejected* are those that the kubelet rejects
    where they are.
    """
    found = found_states(case.states, case.reader)
    node = start_on(case.host.source.info, case.host.kubelet, saved_files(found)).node
    if node is None:
        return
    state = node.cpu.state
    pods = [
        pod
        for uid, pod in (case.owners.pods or {}).items()
        if uid in uids and uid in state.assignments and uid not in state.pod_entries
    ]
    # Large pods have the fewest places.
    pods.sort(key=lambda pod: -sum(map(int.bit_count, state.assignments[pod.uid].values())))
    for ways in (_one_by_one(node, pods), _together(node, pods)):
        if ways:
            yield {uid: PlacedPod(cpus, uid in rejected) for uid, cpus in ways.items()}


def _one_by_one(node: Node, pods: Sequence[StoredPod]) -> Mapping[str, Mapping[str, CPUSet]]:
    placed: dict[str, Mapping[str, CPUSet]] = {}
    for _ in range(_ROUNDS):
        before = len(placed)
        for pod in pods:
            if pod.uid not in placed:
                trial = node.copy()
                _release(trial, pod)
                if cpus := _admitted(trial, pod, node):
                    placed[pod.uid], node = cpus, trial
        if len(placed) == before:
            break
    return placed


def _together(node: Node, pods: Sequence[StoredPod]) -> Mapping[str, Mapping[str, CPUSet]]:
    """Place pods on what all of them leave; what is left of it goes to those that the kubelet rejects."""
    trial = node.copy()
    for pod in pods:
        _release(trial, pod)
    placed = {}
    for pod in pods:
        admitting = trial.copy()
        if cpus := _admitted(admitting, pod, node):
            placed[pod.uid], trial = cpus, admitting
    return placed


def _release(node: Node, pod: StoredPod) -> None:
    for name in tuple(node.cpu.state.assignments[pod.uid]):
        node.cpu.remove_container(pod.uid, name)


def _admitted(node: Node, pod: StoredPod, before: Node) -> Mapping[str, CPUSet]:
    """Admit a pod as after a restart, and return its containers' CPUs, as many as before; else none.

    With uneven cores the kubelet takes CPUs that are not free (kubernetes issue 124066): these do not count.
    """
    policy = node.policy
    free = CPUSet(node.cpu.state.default & ~policy.reserved) if policy else CPUSet()
    (admission,) = node.readmit((pod,))
    held = node.cpu.state.assignments.get(pod.uid, {})
    if not union(map(CPUSet, held.values())) <= free:
        return {}
    if (
        not isinstance(admission.verdict, Admitted)
        or held.keys() != before.cpu.state.assignments[pod.uid].keys()
    ):
        return {}
    return {name: CPUSet(cpus) for name, cpus in held.items()}
