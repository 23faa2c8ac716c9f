"""What a kubelet makes of containers that have ended: it starts them again, or their pod has ended.

A pod that has ended is no longer active: its CPUs come back with the next clean-up, the scheduler does not
count it, and a kubelet that starts does not admit it again.
"""

from __future__ import annotations

from cpuctl.golang.durations import duration_text
from cpuctl.pods.model import ContainerKind
from cpuctl.timeline.pods.containers import end, start
from cpuctl.timeline.pods.resizing import retry_deferred
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import KubeletProcess, Work
from cpuctl.timeline.world.scale_downs import ScaleDownEnd
from cpuctl.timeline.world.world import ContainerState, Phase, PodLife, World


def ends(world: World, kubelet: KubeletProcess, life: PodLife) -> bool:
    """End a pod of which all containers have ended and none may restart; tell whether that is so."""
    phase = life.running.allocated.final_phase(life.exits)
    if not phase:
        return False
    for container in life.running.allocated.init_containers:
        if container.kind is ContainerKind.SIDECAR and life.containers[container.name].runs:
            end(world, life, container.name)
    life.ended = Phase.FAILED if phase == Phase.FAILED else Phase.SUCCEEDED
    world.api_server.end(life.running.spec)
    for name in life.containers:
        world.scale_downs.finish((life.uid, name), ScaleDownEnd.GONE)
        world.disk.waits.pop((life.uid, name), None)
    forget_pod(kubelet, life.uid)
    world.tell(What.POD_ENDED, f"has ended: {phase}", life, phase=phase)
    kubelet.node.remove(life.uid)
    kubelet.touch(world.now)
    retry_deferred(world, kubelet)
    return True


def restart_ended(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Start containers again that have ended and may: at once, or when their back-off is over."""
    pod = life.running.allocated
    for container in pod.all_containers:
        one, key = life.containers[container.name], (life.uid, container.name)
        if one.exit_code is None or not pod.restarts(container, one.exit_code):
            continue
        due = kubelet.back_offs.until(key, one.ended)
        if due <= world.now:
            kubelet.back_offs.start(key, one.ended, world.now)
            start(world, kubelet, life, container)
        elif one.state is ContainerState.TERMINATED:
            one.state = ContainerState.WAITING
            text = f"waits: back-off {duration_text(due - one.ended)} restarting failed container"
            world.tell(What.CONTAINER_WAITS, text, life, container.name, reason="CrashLoopBackOff")
            kubelet.plan(due, Work.SYNC, life)


def forget_pod(kubelet: KubeletProcess, uid: str) -> None:
    """Drop what a kubelet remembers of a pod that is over."""
    kubelet.timers.forget(uid)
    kubelet.back_offs.forget(uid)
    kubelet.last_update = {key: cpus for key, cpus in kubelet.last_update.items() if key[0] != uid}
