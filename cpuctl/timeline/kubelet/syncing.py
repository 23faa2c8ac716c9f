"""What a kubelet does for a pod whenever there is a reason to: weights, status, and in a while its volumes.

Rule: ``SyncPod`` (KEP-1287), and KEP-6122: the resize is complete, and the pod's status tells its new
resources, once all of its CPU sets are applied and no delay goes on.
"""

from __future__ import annotations

from cpuctl.timeline.pods.containers import requested_milli, weight_of
from cpuctl.timeline.pods.downward import tell_inside
from cpuctl.timeline.pods.ending import ends, restart_ended
from cpuctl.timeline.pods.resizing import IN_PROGRESS, retry_deferred
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import KubeletProcess, Work
from cpuctl.timeline.world.world import PodLife, World


def sync_pod(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Sync one pod, unless it has gone meanwhile."""
    life = world.pods.get(uid)
    if life is None or not life.runs or ends(world, kubelet, life):
        return
    restart_ended(world, kubelet, life)
    _write_weights(world, life)
    kubelet.plan(world.now + world.timeline.timing.volume_sync, Work.VOLUMES, life)
    waits = kubelet.waits_for_cpusets and cpusets_change(kubelet, life)
    if not waits or not world.timeline.defers_actual:
        life.running = life.running._replace(actual=life.running.allocated)
    if IN_PROGRESS in life.conditions and not waits:
        del life.conditions[IN_PROGRESS]
        world.tell(What.RESIZE_COMPLETED, "resize is complete", life)
        retry_deferred(world, kubelet)


def _write_weights(world: World, life: PodLife) -> None:
    """Let the runtime write ``cpu.weight`` of every container that runs, at once: only CPU sets wait."""
    for container in life.running.allocated.all_containers:
        one, milli = life.containers[container.name], requested_milli(container)
        if one.runs and one.milli != milli:
            before, one.milli = weight_of(one.milli), milli
            text = f"cpu.weight {before} becomes {weight_of(milli)}"
            world.tell(
                What.WEIGHT_WRITTEN, text, life, container.name, before=before, weight=weight_of(milli)
            )


def cpusets_change(kubelet: KubeletProcess, life: PodLife) -> bool:
    """Tell whether a container of a pod waits, or runs on other CPUs than are its own now."""
    assignments = kubelet.node.state.assignments.get(life.uid, {})
    return any(
        kubelet.timers.waits((life.uid, name))
        or (container.runs and assignments.get(name) not in (None, kubelet.last_update.get((life.uid, name))))
        for name, container in life.containers.items()
    )


def sync_volumes(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Write a pod's volumes, unless it has gone meanwhile."""
    life = world.pods.get(uid)
    if life is not None and life.runs:
        tell_inside(world, kubelet, life)
