"""What the scheduler sees of the node, and the pods that wait for it to have room.

Rule: KEP-1287: it counts the most of what a container is to have, was granted and has, but for what is
infeasible.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.node_fit import Allocatable, check_fit
from cpuctl.engine.resize.effects import most_requested
from cpuctl.pods.model import Pod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.timeline.pods.resizing import PENDING
from cpuctl.timeline.world.world import PodLife, World

_INFEASIBLE = "Infeasible"


def counted(life: PodLife) -> Pod:
    """Return a pod with the requests that the scheduler counts."""
    running, pending = life.running, life.conditions.get(PENDING)
    if pending is not None and pending.reason == _INFEASIBLE:
        return most_requested(running.allocated, running.actual)
    return most_requested(running.spec, running.allocated, running.actual)


def free(world: World) -> Mapping[str, Quantity]:
    """Return what is left of CPU and memory; nothing where no kubelet has told yet what the node has."""
    if world.allocatable is None:
        return {}
    used = [pod_requests(counted(life)) for life in world.on_node()]
    left = {}
    for name in ("cpu", "memory"):
        if name not in world.allocatable.amounts:
            continue
        amount = world.allocatable.amounts[name]
        total = Quantity.from_milli(amount) if name == "cpu" else Quantity.from_value(amount)
        for requests in used:
            total = total - requests.get(name, Quantity())
        left[name] = total
    return left


def fits(world: World, life: PodLife, allocatable: Allocatable) -> bool:
    """Tell whether the scheduler finds room for a pod."""
    running = [counted(other) for other in world.on_node()]
    return check_fit(life.running.spec, running, allocatable, pod_level=True) is None
