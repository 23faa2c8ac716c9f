"""``assigned.cpuset``: the file of the downward API, and what the API server makes of the field (KEP-6122).

The kubelet tells what the CPU Manager is about to do: the CPUs that are left while a scale-down waits. It
does so for every pod that carries the field, whatever its gates. The API server refuses the field where its
release does not know it; while its gate is off, it drops the field from pods that are created or written
anew. So a pod that had the field before keeps its file (the KEP's upgrade plan), and one that is written
meanwhile loses it (scenario 6 of its tests). A resize goes to a subresource: the rest of the pod stays.
"""

from __future__ import annotations

from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.timeline.model import ApiServer
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import KubeletProcess
from cpuctl.timeline.world.world import PodLife, World, cpus_text

UNSUPPORTED = "unsupported container resource: assigned.cpuset"


def refusal(server: ApiServer, exposed: frozenset[str]) -> str:
    """Return why the API server does not take a pod that exposes containers, nothing where it does."""
    return UNSUPPORTED if exposed and not server.knows_assigned_cpuset else ""


def stored(server: ApiServer, exposed: frozenset[str]) -> frozenset[str]:
    """Return what is left of the field in a pod that the API server stores."""
    return exposed if server.takes_assigned_cpuset else frozenset()


def told(state: CPUManagerState, uid: str, container: str) -> str:
    """Return what ``assigned.cpuset`` is now: what a container will have left, or has; empty if it shares."""
    awaited = state.awaited(uid, container)
    return cpus_text((state.assigned(uid, container) or 0) if awaited is None else awaited)


def tell_inside(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Bring the files of a pod up to date."""
    if not kubelet.tells_assigned_cpuset:
        return
    for name, container in life.containers.items():
        text = told(kubelet.node.state, life.uid, name) if name in life.exposed else None
        if text == container.file:
            continue
        container.file = text
        if text is None:
            world.tell(What.VOLUME_WRITTEN, "assigned.cpuset is gone from its volume", life, name, value=None)
            continue
        assigned = kubelet.node.state.awaited(life.uid, name) or kubelet.node.state.assigned(life.uid, name)
        world.scale_downs.told((life.uid, name), assigned or 0, world.now)
        world.tell(What.VOLUME_WRITTEN, f'reads assigned.cpuset "{text}"', life, name, value=text)
