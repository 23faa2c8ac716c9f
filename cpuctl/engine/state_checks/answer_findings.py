"""What the running kubelet answers (its pod resources API), compared with its state files.

The kubelet answers from memory, its next start reads the files: if they differ, the files have been
changed, or could not be written. Rule: kubernetes ``pkg/kubelet/apis/podresources``: CPUs are the
exclusive ones, init containers that have ended are not listed, and allocatable CPUs are all but the reserved
ones, none at all under the policy none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.records import Record
from cpuctl.state_names import CPU_FILE, DEVICES_FILE, MEMORY_FILE

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import CPUStateFile, DevicesStateFile, MemoryBlock, MemoryStateFile
    from cpuctl.engine.state_checks.owners import Owners
    from cpuctl.machine.pod_resources.model import (
        ContainerAllocation,
        MemoryHeld,
        PodAllocation,
        PodResources,
    )

UNKNOWN_PODS = "pods (--pods): which pods the kubelet's answers (--pod-resources) belong to is unknown"


class SavedStates(NamedTuple):
    """The files that a kubelet's answers can be compared with; None if one is missing."""

    cpu: CPUStateFile | None = None
    memory: MemoryStateFile | None = None
    devices: DevicesStateFile | None = None

    @property
    def uids(self) -> frozenset[str]:
        """All pods that have an entry."""
        devices = self.devices.entries if self.devices else ()
        of_cpus = {*self.cpu.entries, *self.cpu.pod_entries} if self.cpu else set()
        of_memory = {*self.memory.entries, *self.memory.pod_entries} if self.memory else set()
        return frozenset({*of_cpus, *of_memory, *(entry.pod_uid for entry in devices)})


class AnswerGap(Record):
    """What a container holds according to the kubelet's answer and to a file that differs, both as text."""

    container: str
    file_name: str
    what: str
    saved: str
    listed: str

    @property
    def message(self) -> str:
        """The difference in a sentence about the container."""
        return (
            f"its {self.what}: the kubelet reports {self.listed}, but {self.file_name} has {self.saved}, "
            "which a restarted kubelet would use"
        )


def answer_gaps(pod: PodAllocation, uid: str, saved: SavedStates) -> Iterator[AnswerGap]:
    """Compare everything that a pod's containers hold; *uid* is empty for a pod that is in no file."""
    cpu, memory, devices = saved
    for container in pod.containers:
        # What a pod has as a whole (KEP-5526) is listed at its containers, and saved once.
        if cpu and uid not in cpu.pod_entries:
            held = cpu.entries.get(uid, {}).get(container.name, CPUSet())
            yield from _gap(container, CPU_FILE, "CPUs", str(held), str(container.cpus))
        if memory and uid not in memory.pod_entries:
            blocks = memory.entries.get(uid, {}).get(container.name, ())
            texts = _saved_blocks(blocks), _listed_blocks(container.memory)
            yield from _gap(container, MEMORY_FILE, "memory", *texts)
        if devices:
            yield from _devices(devices, uid, container)


def _devices(devices: DevicesStateFile, uid: str, container: ContainerAllocation) -> Iterator[AnswerGap]:
    saved: dict[str, set[str]] = {}
    for entry in devices.entries:
        if (entry.pod_uid, entry.container) == (uid, container.name):
            saved.setdefault(entry.resource, set()).update(entry.names)
    for resource in sorted(saved.keys() | container.devices.keys()):
        expected, listed = saved.get(resource, ()), container.devices.get(resource, ())
        yield from _gap(container, DEVICES_FILE, resource, _names(expected), _names(listed))


def _gap(
    container: ContainerAllocation, file: str, what: str, saved: str, listed: str
) -> Iterator[AnswerGap]:
    if saved != listed:
        yield AnswerGap(container.name, file, what, saved or "none", listed or "none")


def _saved_blocks(blocks: Sequence[MemoryBlock]) -> str:
    return _blocks((block.type, CPUSet.of(block.numa_affinity), block.size) for block in blocks)


def _listed_blocks(blocks: Sequence[MemoryHeld]) -> str:
    return _blocks((block.type, block.nodes, block.size) for block in blocks)


def _blocks(blocks: Iterable[tuple[str, CPUSet, int]]) -> str:
    return ", ".join(sorted(f"{kind} {size} on {nodes or 'none'}" for kind, nodes, size in blocks if size))


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def answer_findings(saved: SavedStates, answers: PodResources, owners: Owners) -> Iterator[StateFinding]:
    """Report where files differ from the kubelet's answers, which identify pods by name alone."""
    uids = {pod.full_name: uid for uid, pod in (owners.pods or {}).items()}
    named = not unnamed(saved, owners)
    for pod in answers.answered_pods:
        if pod.full_name in uids or named:
            yield from _of_pod(pod, uids.get(pod.full_name, ""), saved)
    if answers.pods is not None:
        yield from _unlisted(saved, answers, owners)
    if not named and saved.cpu:
        yield from _unowned_cpus(saved.cpu, answers.answered_pods)


def unnamed(saved: SavedStates, owners: Owners) -> bool:
    """Return whether files have entries of pods with unknown names."""
    return not saved.uids <= (owners.pods or {}).keys()


def _of_pod(pod: PodAllocation, uid: str, saved: SavedStates) -> Iterator[StateFinding]:
    for gap in answer_gaps(pod, uid, saved):
        yield StateFinding(
            Severity.WARNING,
            "answer-differs",
            StatePlace(gap.file_name, uid, gap.container),
            f"{pod.full_name}/{gap.container}: {gap.message}",
            expected=gap.saved,
            detected=gap.listed,
        )


def _unlisted(saved: SavedStates, answers: PodResources, owners: Owners) -> Iterator[StateFinding]:
    """Report pods that run and hold CPUs, but that the kubelet does not list."""
    listed = {pod.full_name for pod in answers.pods or ()}
    entries: Mapping[str, Mapping[str, CPUSet]] = saved.cpu.entries if saved.cpu else {}
    for uid, containers in sorted(entries.items()):
        pod = (owners.pods or {}).get(uid)
        if pod is None or pod.full_name in listed or pod.terminal:
            continue
        held = CPUSet.of(cpu for cpus in containers.values() for cpu in cpus)
        alone = answers.alone.get(pod.full_name)
        yield StateFinding(
            Severity.WARNING,
            "pod-not-listed",
            StatePlace(CPU_FILE, uid),
            f"{pod.full_name} has CPUs {held} in {CPU_FILE}, but the kubelet does not list it"
            + (f"; queried individually (Get), {_answer_text(alone)}" if alone else ""),
            expected=str(held),
            detected="not listed",
        )


def _answer_text(answer: PodAllocation | str) -> str:
    if isinstance(answer, str):
        return f"the answer is: {answer}"
    held = CPUSet.of(cpu for container in answer.containers for cpu in container.cpus)
    return f"it reports CPUs {held or 'none'}"


def _unowned_cpus(state: CPUStateFile, pods: Iterable[PodAllocation]) -> Iterator[StateFinding]:
    """Without the names of pods, report at least the CPUs that have no owner in the file."""
    held = (*state.pod_entries.values(), *(cpus for each in state.entries.values() for cpus in each.values()))
    saved = CPUSet.of(cpu for cpus in held for cpu in cpus)
    for pod, container in [(each, inside) for each in pods for inside in each.containers]:
        if missing := container.cpus - saved:
            yield StateFinding(
                Severity.WARNING,
                "answer-differs",
                StatePlace(CPU_FILE),
                f"{pod.full_name}/{container.name}: the kubelet reports CPUs {container.cpus}, but {missing} "
                f"are not assigned in {CPU_FILE}, which a restarted kubelet would use",
                expected="none",
                detected=str(missing),
            )


def allocatable_findings(answers: PodResources, guaranteed: CPUSet) -> Iterator[StateFinding]:
    """Report allocatable CPUs of the running kubelet that differ from those of this static policy."""
    listed = answers.allocatable
    if listed is not None and listed != guaranteed:
        yield StateFinding(
            Severity.WARNING,
            "allocatable-differs",
            StatePlace(CPU_FILE),
            f"the kubelet reports CPUs {listed or 'none'} as allocatable, but with its current configuration "
            f"and machine they would be {guaranteed}: one of them has changed since it started",
            expected=str(guaranteed),
            detected=str(listed) or "none",
        )
