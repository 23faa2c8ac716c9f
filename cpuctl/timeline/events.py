"""What the events of a timeline do."""

from __future__ import annotations

from cpuctl.timeline.model import (
    Admit,
    ContainerChange,
    CPUsChange,
    Event,
    KubeletAction,
    KubeletChange,
    Remove,
    Resize,
    ServerChange,
    StateFileEdit,
    StateFilePatch,
    Update,
)
from cpuctl.timeline.pods.admitting import create, remove
from cpuctl.timeline.pods.containers import end, start
from cpuctl.timeline.pods.resizing import request_resize
from cpuctl.timeline.surroundings import (
    change_cpus,
    change_server,
    edit_state_file,
    patch_state_file,
    update,
)
from cpuctl.timeline.world.failing import kubelet_stops
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import Work
from cpuctl.timeline.world.world import ContainerState, PodLife, World


def happen(world: World, event: Event) -> None:
    """Let one event happen."""
    match event:
        case Admit():
            create(world, event)
        case Resize() | Update() | Remove() | ContainerChange():
            _to_pod(world, event)
        case KubeletChange():
            change_kubelet(world, event)
        case ServerChange(server=server):
            change_server(world, server)
        case CPUsChange():
            change_cpus(world, event)
        case StateFileEdit():
            edit_state_file(world, event)
        case StateFilePatch():
            patch_state_file(world, event)


def _to_pod(world: World, event: Resize | Update | Remove | ContainerChange) -> None:
    life = world.find(event.pod)
    if life is None or life.deleted:
        world.tell(What.IGNORED, f"there is no pod {event.pod}")
        return
    match event:
        case Resize():
            request_resize(world, life, event)
        case Update():
            update(world, life, event)
        case Remove():
            remove(world, life)
        case ContainerChange():
            _change_container(world, life, event)


def _change_container(world: World, life: PodLife, event: ContainerChange) -> None:
    """Start or end a container; either is a reason to sync its pod (PLEG)."""
    kubelet = world.kubelet
    if why := _why_not(world, life, event):
        world.tell(What.IGNORED, why, life, event.container)
        return
    if not event.starts:
        end(world, life, event.container, event.code)
    elif kubelet is not None:
        containers = {each.name: each for each in life.running.allocated.all_containers}
        start(world, kubelet, life, containers[event.container])
    if kubelet is not None:
        kubelet.plan(world.now + world.timeline.timing.pod_sync, Work.SYNC, life)


def _why_not(world: World, life: PodLife, event: ContainerChange) -> str:
    """Say what keeps a container from starting or ending, nothing where it does."""
    one = life.containers[event.container]
    if not event.starts:
        return "" if one.runs else "does not run"
    if world.kubelet is None:
        return "no kubelet runs that could start it"
    if not life.runs:
        return "its pod is not admitted"
    return "runs already" if one.runs else ""


def change_kubelet(world: World, event: KubeletChange) -> None:
    """Stop the kubelet, start it, or both; a new one is another process with another setup."""
    if event.action is KubeletAction.START and world.kubelet is not None:
        world.tell(What.IGNORED, "the kubelet runs already")
        return
    if world.kubelet is not None:
        world.tell(
            What.KUBELET_STOPPED, f"kubelet {world.kubelet.setup.version} stops", action=str(event.action)
        )
        kubelet_stops(world)
    world.starts_at = None
    if event.action is KubeletAction.STOP:
        return
    world.setup = event.setup
    if event.action is KubeletAction.REBOOT:
        _reboot(world)
    world.starts_at = world.now + event.takes


def _reboot(world: World) -> None:
    """Start the machine anew: nothing runs until a kubelet starts it, and volumes in memory are empty."""
    world.boot += 1
    for life in world.pods.values():
        for container in life.containers.values():
            container.comes_back = container.runs
            container.file = None
            if container.runs:
                container.state, container.cgroup, container.milli = ContainerState.WAITING, 0, 0
