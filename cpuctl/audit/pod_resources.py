"""What the kubelet answers (its pod resources API) against its state files.

The running kubelet answers from memory, its next start reads the files: where both differ, somebody has
changed the files, or they could not be written. Rule: kubernetes ``pkg/kubelet/apis/podresources``: CPUs are
the exclusive ones, init containers that have ended are not listed, and allocatable CPUs are all but the
reserved ones, none at all under the policy none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cpuctl.audit.commands import RESTART
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.kubelet_state import is_gone
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.checkpoints.model import DevicesStateFile, MemoryBlock
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.pod_resources.model import ContainerHoldings, MemoryHeld, PodHoldings
from cpuctl.state_names import CPU_FILE, DEVICES_FILE, MEMORY_FILE

_STATIC = "static"


def check_answers(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare every pod that the kubelet lists, and the CPUs that it calls allocatable."""
    if snapshot.answers is None:
        return
    uids = _uids(snapshot)
    unnamed = unnamed_pods(snapshot)
    for pod in snapshot.answers.pods or ():
        if pod.full_name in uids or not unnamed:
            yield from _pod(snapshot, pod, uids.get(pod.full_name, ""))
    yield from _unlisted(snapshot)
    yield from _allocatable(snapshot)


def unnamed_pods(snapshot: NodeSnapshot) -> bool:
    """Tell whether files give something to pods whose names nobody knows: the answer has names only."""
    return any(snapshot.pod_name(uid) == uid for uid in _saved_uids(snapshot))


def _saved_uids(snapshot: NodeSnapshot) -> frozenset[str]:
    state = snapshot.state
    devices = state.devices.entries if state.devices else ()
    memory = state.memory.entries if state.memory else {}
    return frozenset({*state.entries, *memory, *(entry.pod_uid for entry in devices)})


def _uids(snapshot: NodeSnapshot) -> Mapping[str, str]:
    """Return UIDs by the names of pods; of two with one name that which has a control group now."""
    known = snapshot.pods.keys() | _saved_uids(snapshot)
    return {snapshot.pod_name(uid): uid for uid in (*sorted(known), *sorted(snapshot.uids))}


def _unlisted(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Tell pods that are there and in the state, and that the kubelet does not list."""
    if snapshot.answers is None or snapshot.answers.pods is None:
        return
    listed = {pod.full_name for pod in snapshot.answers.pods}
    for uid, held in snapshot.held.items():
        name = snapshot.pod_name(uid)
        if name in {uid, *listed} or is_gone(snapshot, uid, snapshot.pods.get(uid)):
            continue
        yield Finding(
            severity=Severity.WARNING,
            code="answer-lacks-pod",
            place=NodePart(name),
            message=f"the kubelet does not list it, and {CPU_FILE} gives it CPUs {held}",
            expected=str(held),
            detected="not listed",
        )


def _pod(snapshot: NodeSnapshot, pod: PodHoldings, uid: str) -> Iterator[Finding]:
    cpu, memory, devices = snapshot.state.cpu, snapshot.state.memory, snapshot.state.devices
    for container in pod.containers:
        place = NodePart(f"{pod.full_name}/{container.name}")
        # What a pod has as a whole (KEP-5526) is listed at its containers, and saved once.
        if cpu and uid not in cpu.pod_entries:
            saved = cpu.entries.get(uid, {}).get(container.name, CPUSet())
            yield from _differs(place, CPU_FILE, "CPUs", str(saved), str(container.cpus))
        if memory and uid not in memory.pod_entries:
            blocks = memory.entries.get(uid, {}).get(container.name, ())
            yield from _differs(
                place, MEMORY_FILE, "memory", _saved_blocks(blocks), _listed_blocks(container.memory)
            )
        if devices:
            yield from _devices(place, devices, uid, container)


def _devices(
    place: NodePart, devices: DevicesStateFile, uid: str, container: ContainerHoldings
) -> Iterator[Finding]:
    saved: dict[str, set[str]] = {}
    for entry in devices.entries:
        if (entry.pod_uid, entry.container) == (uid, container.name):
            saved.setdefault(entry.resource, set()).update(entry.names)
    for resource in sorted(saved.keys() | container.devices.keys()):
        expected, listed = saved.get(resource, ()), container.devices.get(resource, ())
        yield from _differs(place, DEVICES_FILE, resource, _names(expected), _names(listed))


def _differs(place: NodePart, file: str, what: str, saved: str, listed: str) -> Iterator[Finding]:
    if saved != listed:
        yield Finding(
            severity=Severity.ERROR,
            code="answer-differs",
            place=place,
            message=f"its {what}: the kubelet answers {listed or 'none'}, and {file} has {saved or 'none'}, "
            "by which a kubelet goes that starts again",
            expected=saved or "none",
            detected=listed or "none",
        )


def _allocatable(snapshot: NodeSnapshot) -> Iterator[Finding]:
    listed = snapshot.answers.allocatable if snapshot.answers else None
    promised = snapshot.machine.online - snapshot.configured.reserved
    if listed is None or snapshot.configured.policy != _STATIC or listed == promised:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="allocatable-differs",
        place=NodePart("allocatable CPUs"),
        message=f"the kubelet answers {listed or 'none'}, and its configuration leaves {promised} on this "
        "machine: it has not started again since one of both has changed",
        expected=str(promised),
        detected=str(listed) or "none",
        fix=RESTART,
    )


def _saved_blocks(blocks: Sequence[MemoryBlock]) -> str:
    return _blocks((block.type, CPUSet.of(block.numa_affinity), block.size) for block in blocks)


def _listed_blocks(blocks: Sequence[MemoryHeld]) -> str:
    return _blocks((block.type, block.nodes, block.size) for block in blocks)


def _blocks(blocks: Iterable[tuple[str, CPUSet, int]]) -> str:
    return ", ".join(sorted(f"{kind} {size} on {nodes or 'none'}" for kind, nodes, size in blocks if size))


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
