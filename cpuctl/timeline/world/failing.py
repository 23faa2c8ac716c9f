"""How a kubelet ends: stopped, or failing by itself. Its containers run on."""

from __future__ import annotations

from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.scale_downs import ScaleDownEnd
from cpuctl.timeline.world.world import World

NotRunning = StartRefused | KubeletFault | Undetermined


def kubelet_stops(world: World) -> None:
    """Let the kubelet end; what it kept in memory only is lost."""
    if world.kubelet is None:
        return
    for key in world.kubelet.timers.due.keys() - world.disk.waits.keys():
        world.scale_downs.finish(key, ScaleDownEnd.INTERRUPTED)
    world.kubelet = None


def kubelet_fails(world: World, why: NotRunning) -> None:
    """Let the kubelet end for a reason of its own."""
    kubelet_stops(world)
    match why:
        case StartRefused(stage=stage, error=error):
            world.why_down = error
            world.tell(
                What.KUBELET_FAILED,
                f"the kubelet does not start ({stage}): {error}",
                error=error,
                stage=stage,
            )
        case KubeletFault(kind=kind, where=where, why=error):
            world.why_down = error
            world.tell(
                What.KUBELET_FAILED,
                f"the kubelet fails ({kind} in {where}): {error}",
                error=error,
                stage=where,
            )
        case Undetermined(text=error):
            world.why_down = error
            world.tell(What.KUBELET_FAILED, f"the kubelet may start or not: {error}", error=error, stage="")
