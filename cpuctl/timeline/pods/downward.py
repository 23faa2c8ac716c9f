"""``assigned.cpuset``: the file of the downward API, and the API server's handling of the field (KEP-6122).

The kubelet exposes what the CPU Manager is about to do: the remaining CPUs while a scale-down waits. It does
so for every pod with the field, regardless of its gates. The API server refuses the field if its release
does not know it; while its gate is off, it drops the field from pods that are created or written again. So a
pod that had the field before keeps its file (the KEP's upgrade plan), and one that is written in the meantime
loses it (scenario 6 of its tests). A resize uses a subresource: the rest of the pod does not change.
"""

from __future__ import annotations

from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.engine.pod_rules import server_rules
from cpuctl.pods.model import Container
from cpuctl.pods.rules import ASSIGNED_CPUSET
from cpuctl.pods.validation.field_refs import FieldRef, check_field_ref
from cpuctl.pods.validation.finding import FieldPath
from cpuctl.quantity import Quantity
from cpuctl.timeline.model import ApiServer
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.world import PodLife, World, cpus_text, some_cpus

_SPOT = FieldPath((), "resourceFieldRef")


def refusal(server: ApiServer, exposed: frozenset[str]) -> str:
    """Return why the API server refuses a pod that exposes containers; empty if it accepts it."""
    rules = server_rules(server.gates)
    for name in sorted(exposed):
        ref = FieldRef(_SPOT, ASSIGNED_CPUSET, name, Quantity(), in_volume=True)
        for finding in check_field_ref(ref, rules):
            return str(finding)
    return ""


def stored(server: ApiServer, exposed: frozenset[str]) -> frozenset[str]:
    """Return the exposed containers that remain in a pod that the API server stores."""
    return exposed if server.takes_assigned_cpuset else frozenset()


def assigned_cpuset(state: CPUManagerState, uid: str, container: Container) -> int:
    """Return the current ``assigned.cpuset`` as a mask: the CPUs that a container will keep, or has.

    0 for a container with shared CPUs: the state has its pod's pool for a container in that pool, but the
    pool is exclusive only to the pod.
    """
    assigned = state.assigned(uid, container.name)
    level = isolation_of(container, assigned=assigned is not None, divided=uid in state.pod_entries)
    if level is not Isolation.CONTAINER:
        return 0
    awaited = state.awaited(uid, container.name)
    return (assigned or 0) if awaited is None else awaited


def write_volumes(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Update the files of a pod."""
    if not kubelet.writes_assigned_cpuset:
        return
    state = kubelet.node.state
    models = {each.name: each for each in life.running.allocated.all_containers}
    for name, container in life.containers.items():
        cpus = assigned_cpuset(state, life.uid, models[name]) if name in life.exposed else None
        text = None if cpus is None else cpus_text(cpus)
        if text == container.file:
            continue
        container.file = text
        if cpus is None:
            world.record(
                EntryKind.VOLUME_WRITTEN, "assigned.cpuset is removed from its volume", life, name, value=None
            )
            continue
        world.scale_downs.notified((life.uid, name), cpus, world.now)
        pool = "" if cpus else _pool(state, life.uid, name)
        world.record(
            EntryKind.VOLUME_WRITTEN, f'reads assigned.cpuset "{text}"{pool}', life, name, value=text
        )


def _pool(state: CPUManagerState, uid: str, container: str) -> str:
    """Return a note if the state file has a pod's pool for a container that reads no CPUs."""
    pool = state.assigned(uid, container)
    return f": {some_cpus(pool)} are its pod's pool; it has no CPUs of its own (KEP-6122)" if pool else ""
