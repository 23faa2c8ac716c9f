"""The CPU Manager's loop: release what is due, forget who is gone, write every CPU set that has changed.

Rule: KEP-6122 and kubelet v1.36 ``cpu_manager.go``, ``reconcileState``, in this order.
"""

from __future__ import annotations

from cpuctl.timeline.pods.containers import own_or_shared, write_cpuset
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import KubeletProcess, Work
from cpuctl.timeline.world.scale_downs import Key
from cpuctl.timeline.world.world import ContainerLife, PodLife, World, cpus_text, some_cpus


def reconcile(world: World, kubelet: KubeletProcess) -> None:
    """Make one pass."""
    _release(world, kubelet)
    before = kubelet.node.state.default
    kubelet.node.clean_up()
    if released := kubelet.node.state.default & ~before:
        text = f"shared again, as whoever had that is gone: {some_cpus(released)}"
        world.tell(What.RELEASED, text, cpus=cpus_text(released))
    kubelet.unsettled = False
    for life in world.on_node():
        if life.uid in kubelet.node.active:
            for name, container in life.containers.items():
                _settle(world, kubelet, life, name, container)
    kubelet.last_pass = world.now


def _release(world: World, kubelet: KubeletProcess) -> None:
    """Let containers whose delay has passed have what they will have left."""
    for key in kubelet.timers.take_due(world.now):
        released = kubelet.node.cpu.settle(*key)
        world.disk.waits.pop(key, None)
        life = world.pods.get(key[0])
        if released and life is not None:
            written = own_or_shared(kubelet, key) == kubelet.last_update.get(key, 0)
            if written or not life.containers[key[1]].runs:
                # Nobody is told to write anything, so nobody else asks for this.
                kubelet.plan(world.now + world.timeline.timing.pod_sync, Work.SYNC, life)
            world.tell(
                What.DELAY_PASSED,
                f"gives up {some_cpus(released)}: its delay has passed",
                life,
                key[1],
                cpus=cpus_text(released),
            )


def _settle(
    world: World, kubelet: KubeletProcess, life: PodLife, name: str, container: ContainerLife
) -> None:
    """Write the CPU set of one container, where its runtime was last given another one."""
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
        why = f"{some_cpus(wanted)} cannot be written while offline" if wanted else "there is none to share"
        world.tell(What.CPUSET_REFUSED, f"keeps {some_cpus(before)}: {why}", life, name)
        return
    kubelet.refused.discard(key)
    kubelet.last_update[key] = wanted
    if before == wanted:
        text = f"is given {some_cpus(wanted)} once more"
    else:
        text = f"moves from {some_cpus(before)} to {some_cpus(wanted)}"
    cpus = {"before": cpus_text(before), "cpus": cpus_text(wanted)}
    world.tell(What.CPUSET_WRITTEN, text, life, name, **cpus)
    if kubelet.node.state.assigned(*key) is not None:
        kubelet.plan(world.now + world.timeline.timing.pod_sync, Work.SYNC, life)
