"""Scale-downs that wait, as they are kept on disk with the announced delay of pods (KEP-6122, redesign)."""

from __future__ import annotations

from cpuctl.timeline.world.disk import SavedWait
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.world import World


def save_waits(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Write down which containers of a pod wait, and until when; nothing where waits end with the kubelet."""
    for key in [key for key in world.disk.waits if key[0] == uid]:
        del world.disk.waits[key]
    if not kubelet.setup.grace_of_pods:
        return
    for name, cpus in kubelet.node.state.pending.get(uid, {}).items():
        world.disk.waits[uid, name] = SavedWait(cpus, kubelet.timers.due[uid, name], world.boot)
