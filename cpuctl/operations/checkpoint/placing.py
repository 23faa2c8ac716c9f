"""Other CPUs for running pods that a kubelet would reject with what a repaired state file gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cpuctl.cpuset import CPUSet, union
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.engine.state_repair import PlacedPod
from cpuctl.engine.state_start import start_on
from cpuctl.operations.checkpoint.states import found_states

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpuctl.engine.node import Node
    from cpuctl.engine.state_repair import Placed
    from cpuctl.operations.checkpoint.states import CheckpointCase
    from cpuctl.pods.model import StoredPod

_ROUNDS: Final = 3
"""How often pods are tried again, on CPUs that others have left."""


def placements(case: CheckpointCase, uids: Collection[str], rejected: Collection[str]) -> Iterator[Placed]:
    """Yield ways to give running pods CPUs with which a kubelet admits them, next to what all others hold.

    First one after the other, each on free CPUs, then on those that all of them leave; always as many as find
    a place. Pods with CPUs as a whole stay where they are. *rejected* are those that the kubelet rejects
    where they are.
    """
    node = _node(case)
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
    for found in (_one_by_one(node, pods), _together(node, pods)):
        if found:
            yield {uid: PlacedPod(cpus, uid in rejected) for uid, cpus in found.items()}


def _node(case: CheckpointCase) -> Node | None:
    found = found_states(case.states, case.reader)
    files = SavedFiles(
        cpu=found.cpu.read if found.cpu else None, memory=found.memory.read if found.memory else None
    )
    return start_on(case.host.source.info, case.host.kubelet, files).node


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
