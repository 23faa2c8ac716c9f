"""The periodic work of a kubelet: its CPU Manager reconciles CPU sets, and pods are synced.

Rule: kubelet v1.36 ``cpu_manager.go``, ``reconcileState``, and KEP-6122: release CPUs that are due, forget
removed containers, write every changed CPU set, in this order. ``SyncPod`` (KEP-1287) runs whenever there is
a reason: weights, status, and later the pod's volumes. The resize is complete, and the status shows the new
resources, once all of its CPU sets are applied and no delay is pending.
"""

from __future__ import annotations

from cpuctl.records import replace
from cpuctl.timeline.pods.containers import (
    ends,
    own_or_shared,
    requested_milli,
    restart_ended,
    weight_of,
    write_cpuset,
)
from cpuctl.timeline.pods.downward import write_volumes
from cpuctl.timeline.pods.resize import IN_PROGRESS, retry_deferred
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import JobKind, KubeletProcess
from cpuctl.timeline.world.scale_downs import Key
from cpuctl.timeline.world.world import ContainerLife, PodLife, World, cpus_text, some_cpus


def reconcile(world: World, kubelet: KubeletProcess) -> None:
    """Run one pass of the CPU Manager's loop."""
    _release(world, kubelet)
    before = kubelet.node.state.default
    kubelet.node.clean_up()
    if released := kubelet.node.state.default & ~before:
        text = f"{some_cpus(released)} returned to the shared pool (container removed)"
        world.record(EntryKind.RELEASED, text, cpus=cpus_text(released))
    kubelet.unsettled = False
    for life in world.on_node():
        if life.uid in kubelet.node.active:
            for name, container in life.containers.items():
                _settle(world, kubelet, life, name, container)
    kubelet.last_pass = world.now


def _release(world: World, kubelet: KubeletProcess) -> None:
    """Reduce containers whose delay has passed to the CPUs that they keep."""
    for key in kubelet.timers.take_due(world.now):
        released = kubelet.node.cpu.settle(*key)
        world.disk.waits.pop(key, None)
        life = world.pods.get(key[0])
        if released and life is not None:
            written = own_or_shared(kubelet, key) == kubelet.last_update.get(key, 0)
            if written or not life.containers[key[1]].runs:
                # No file is to be written, so nothing else triggers this.
                kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)
            world.record(
                EntryKind.DELAY_PASSED,
                f"releases {some_cpus(released)}: the delay has expired",
                life,
                key[1],
                cpus=cpus_text(released),
            )


def _settle(
    world: World, kubelet: KubeletProcess, life: PodLife, name: str, container: ContainerLife
) -> None:
    """Write the CPU set of one container if its runtime last got a different one."""
    key: Key = (life.uid, name)
    wanted = own_or_shared(kubelet, key)
    if not container.runs or wanted == kubelet.last_update.get(key, 0):
        return
    before = container.cgroup
    if not wanted or not write_cpuset(world, life, name, wanted):
        kubelet.unsettled = True
        if key in kubelet.refused:
            return
        kubelet.refused.add(key)
        why = f"{some_cpus(wanted)} cannot be written while offline" if wanted else "the shared pool is empty"
        world.record(EntryKind.CPUSET_REFUSED, f"keeps {some_cpus(before)}: {why}", life, name)
        return
    kubelet.refused.discard(key)
    kubelet.last_update[key] = wanted
    if before == wanted:
        text = f"is set to {some_cpus(wanted)} again"
    else:
        text = f"moves from {some_cpus(before)} to {some_cpus(wanted)}"
    cpus = {"before": cpus_text(before), "cpus": cpus_text(wanted)}
    world.record(EntryKind.CPUSET_WRITTEN, text, life, name, **cpus)
    if kubelet.node.state.assigned(*key) is not None:
        kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)


def sync_pod(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Sync one pod, unless it has been removed in the meantime."""
    life = world.pods.get(uid)
    if life is None or not life.runs or ends(world, kubelet, life):
        return
    restart_ended(world, kubelet, life)
    _write_weights(world, life)
    kubelet.plan(world.now + world.timeline.timing.volume_sync, JobKind.VOLUMES, life)
    waits = kubelet.waits_for_cpusets and cpusets_change(kubelet, life)
    if not waits or not world.timeline.defers_actual:
        life.running = replace(life.running, actual=life.running.allocated)
    if IN_PROGRESS in life.conditions and not waits:
        del life.conditions[IN_PROGRESS]
        world.record(EntryKind.RESIZE_COMPLETED, "resize is complete", life)
        retry_deferred(world, kubelet)


def _write_weights(world: World, life: PodLife) -> None:
    """Let the runtime write ``cpu.weight`` of every running container immediately: only CPU sets wait."""
    for container in life.running.allocated.all_containers:
        one, milli = life.containers[container.name], requested_milli(container)
        if one.runs and one.milli != milli:
            before, one.milli = weight_of(one.milli), milli
            text = f"cpu.weight changes from {before} to {weight_of(milli)}"
            world.record(
                EntryKind.WEIGHT_WRITTEN, text, life, container.name, before=before, weight=weight_of(milli)
            )


def cpusets_change(kubelet: KubeletProcess, life: PodLife) -> bool:
    """Return whether a container of a pod waits, or runs on CPUs other than its current ones."""
    assignments = kubelet.node.state.assignments.get(life.uid, {})
    return any(
        kubelet.timers.waits((life.uid, name))
        or (container.runs and assignments.get(name) not in (None, kubelet.last_update.get((life.uid, name))))
        for name, container in life.containers.items()
    )


def sync_volumes(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Write a pod's volumes, unless it has been removed in the meantime."""
    life = world.pods.get(uid)
    if life is not None and life.runs:
        write_volumes(world, kubelet, life)
