"""The owners of CPUs at a moment, and the history of every CPU in spans of time.

CPUs with the same history are grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.records import Record
from cpuctl.timeline.world.world import World


class AssignedCPUs(Record):
    """A container's CPUs (masks): those that stay, and those to be released that are still in its cgroup."""

    stays: int
    goes: int = 0


class Owners(Record):
    """Exclusive CPUs by pod and container (``namespace/pod/container``), and the shared pool.

    CPUs that a pod holds as a whole and gives to no single container (KEP-5526) have the pod's own name.
    """

    containers: Mapping[str, AssignedCPUs]
    shared: int


NO_OWNERS = Owners({}, 0)
"""The owners before the first kubelet."""


class Sample(Record):
    """The owners of CPUs from a time on, in nanoseconds."""

    at: int
    owners: Owners


def owners(world: World, before: Owners) -> Owners:
    """Return the current owners; while no kubelet runs, running containers keep their CPUs from *before*."""
    if world.kubelet is None:
        running = {
            f"{life.name}/{name}"
            for life in world.pods.values()
            for name, container in life.containers.items()
            if container.runs
        }
        pods = {name.rpartition("/")[0] for name in running}
        kept = {name: held for name, held in before.containers.items() if name in running or name in pods}
        return Owners(kept, before.shared)
    node = world.kubelet.node
    return Owners(dict(_allocations(world, node)), node.state.default if node.policy else 0)


def _allocations(world: World, node: Node) -> Iterator[tuple[str, AssignedCPUs]]:
    for uid, containers in node.state.assignments.items():
        whole = node.state.pod_entries.get(uid, 0)
        if uid not in world.pods:
            # The kubelet has not yet noticed the pod's removal.
            pod = world.names.get(uid, uid)
            gone = {pod: whole} if whole else {f"{pod}/{name}": cpus for name, cpus in containers.items()}
            yield from ((name, AssignedCPUs(0, cpus)) for name, cpus in gone.items())
            continue
        life, pending = world.pods[uid], node.state.pending.get(uid, {})
        sharing = _sharing(life.running.allocated) if whole else {}
        pool, leftover = 0, whole
        for name, cpus in containers.items():
            if name in sharing:
                # The CPUs of earlier init containers are in the pod's pool by then.
                pool |= 0 if sharing[name] is ContainerKind.INIT else cpus
                continue
            leftover &= ~cpus
            if (one := life.containers.get(name)) is not None:
                kept = pending.get(name, cpus)
                yield f"{life.name}/{name}", AssignedCPUs(kept, (cpus | one.cgroup) & ~kept)
        if pool or leftover:
            yield life.name, AssignedCPUs(pool or leftover)


def _sharing(pod: StoredPod) -> dict[str, ContainerKind]:
    """Return the containers in their pod's pool: the state's CPUs are not exclusive to any of them."""
    return {
        each.name: each.kind
        for each in pod.all_containers
        if isolation_of(each, assigned=True, divided=True) is Isolation.POD
    }


_NOTHING = AssignedCPUs(0)


class CPUUse(StrEnum):
    """The use of a CPU by a container or by all.

    ``leaving``: it is to be released, or was, and is still in the container's cgroup; ``contested``: it is
    already exclusive to another container.
    """

    OWNED = "owned"
    LEAVING = "leaving"
    CONTESTED = "contested"
    SHARED = "shared"
    NONE = "none"


class CPUStatus(Record):
    """The status of a CPU at a moment; ``container`` is empty if no container has it exclusively."""

    use: CPUUse
    container: str = ""


class Span(Record):
    """A time span with constant CPU status, from ``start`` to before ``end`` in nanoseconds."""

    start: int
    end: int
    status: CPUStatus


class ChartRow(Record):
    """CPUs (a mask) with their history."""

    cpus: int
    spans: tuple[Span, ...]


def chart(samples: Sequence[Sample], cpus: int, until: int) -> list[ChartRow]:
    """Return the history of *cpus* (a mask) up to *until* in nanoseconds; rows are sorted by lowest CPU."""
    histories: dict[int, list[tuple[int, CPUStatus]]] = {}
    before = NO_OWNERS
    for sample in samples:
        changed = cpus if before is NO_OWNERS else _changed(before, sample.owners)
        for cpu in CPUSet(changed & cpus):
            status, history = _status(sample.owners, 1 << cpu), histories.setdefault(cpu, [])
            if not history or history[-1][1] != status:
                history.append((sample.at, status))
        before = sample.owners
    rows: dict[tuple[Span, ...], int] = {}
    for cpu, history in sorted(histories.items()):
        spans = tuple(_spans(history, until))
        rows[spans] = rows.get(spans, 0) | 1 << cpu
    return [ChartRow(mask, spans) for spans, mask in rows.items()]


def _changed(before: Owners, after: Owners) -> int:
    """Return the CPUs (a mask) whose status may have changed."""
    changed = before.shared ^ after.shared
    for name in before.containers.keys() | after.containers.keys():
        old, new = before.containers.get(name, _NOTHING), after.containers.get(name, _NOTHING)
        changed |= (old.stays ^ new.stays) | (old.goes ^ new.goes)
    return changed


def _status(owners: Owners, cpu: int) -> CPUStatus:
    """Return the status of one CPU (a mask); of a pod's successive containers, the last one counts."""
    owner = leaving = ""
    for name, held in owners.containers.items():
        owner = name if held.stays & cpu else owner
        leaving = name if held.goes & cpu else leaving
    if owner and leaving and _pod(owner) != _pod(leaving):
        return CPUStatus(CPUUse.CONTESTED, owner)
    if owner:
        return CPUStatus(CPUUse.OWNED, owner)
    if leaving:
        return CPUStatus(CPUUse.LEAVING, leaving)
    return CPUStatus(CPUUse.SHARED if owners.shared & cpu else CPUUse.NONE)


def _pod(name: str) -> list[str]:
    """Return namespace and pod of a container, or of a pod that holds CPUs as a whole."""
    return name.split("/")[:2]


def _spans(history: Sequence[tuple[int, CPUStatus]], until: int) -> Iterator[Span]:
    ends = [at for at, _ in history[1:]] + [until]
    for (start, status), end in zip(history, ends, strict=True):
        if start < end:
            yield Span(start, end, status)
