"""The effects of a timeline's events."""

from __future__ import annotations

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.checkpoints.reader import DEFAULT_READER
from cpuctl.cpuset import CPUSet
from cpuctl.engine.pod_rules import server_rules
from cpuctl.records import replace
from cpuctl.state_names import CPU_FILE
from cpuctl.timeline.model import (
    Admit,
    ApiServer,
    ContainerEvent,
    Event,
    HotplugEvent,
    KubeletAction,
    KubeletEvent,
    Remove,
    Resize,
    ServerEvent,
    StateFileEdit,
    StateFilePatch,
    Update,
)
from cpuctl.timeline.pods import downward
from cpuctl.timeline.pods.containers import end, start
from cpuctl.timeline.pods.lifecycle import create, remove
from cpuctl.timeline.pods.resize import request_resize
from cpuctl.timeline.world.disk import WrittenCPUs
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import JobKind
from cpuctl.timeline.world.world import ContainerState, PodLife, World, cpus_text, kubelet_stops, some_cpus


def apply_event(world: World, event: Event) -> None:
    """Carry out one event."""
    match event:
        case Admit():
            create(world, event)
        case Resize() | Update() | Remove() | ContainerEvent():
            _to_pod(world, event)
        case KubeletEvent():
            act_on_kubelet(world, event)
        case ServerEvent(server=server):
            replace_server(world, server)
        case HotplugEvent():
            hotplug_cpus(world, event)
        case StateFileEdit():
            edit_state_file(world, event)
        case StateFilePatch():
            patch_state_file(world, event)


def _to_pod(world: World, event: Resize | Update | Remove | ContainerEvent) -> None:
    life = world.find(event.pod)
    if life is None or life.deleted:
        world.record(EntryKind.IGNORED, f"pod {event.pod} does not exist")
        return
    match event:
        case Resize():
            request_resize(world, life, event)
        case Update():
            update(world, life, event)
        case Remove():
            remove(world, life)
        case ContainerEvent():
            _act_on_container(world, life, event)


def _act_on_container(world: World, life: PodLife, event: ContainerEvent) -> None:
    """Start or end a container; either is a reason to sync its pod (PLEG)."""
    kubelet = world.kubelet
    if why := _why_not(world, life, event):
        world.record(EntryKind.IGNORED, why, life, event.container)
        return
    if not event.starts:
        end(world, life, event.container, event.code)
    elif kubelet is not None:
        containers = {each.name: each for each in life.running.allocated.all_containers}
        start(world, kubelet, life, containers[event.container])
    if kubelet is not None:
        kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)


def _why_not(world: World, life: PodLife, event: ContainerEvent) -> str:
    """Return what prevents a container from starting or ending; empty if nothing does."""
    one = life.containers[event.container]
    if not event.starts:
        return "" if one.runs else "is not running"
    if world.kubelet is None:
        return "no kubelet is running to start it"
    if not life.runs:
        return "its pod is not admitted"
    return "is already running" if one.runs else ""


def act_on_kubelet(world: World, event: KubeletEvent) -> None:
    """Stop the kubelet, start it, or both; the new process may have another setup."""
    if event.action is KubeletAction.START and world.kubelet is not None:
        world.record(EntryKind.IGNORED, "the kubelet is already running")
        return
    if world.kubelet is not None:
        world.record(
            EntryKind.KUBELET_STOPPED,
            f"kubelet {world.kubelet.setup.version} stops",
            action=str(event.action),
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
    """Restart the machine: nothing runs until a kubelet starts it, and volumes in memory are empty."""
    world.boot += 1
    for life in world.pods.values():
        for container in life.containers.values():
            container.returns = container.runs
            container.file = None
            if container.runs:
                container.state, container.cgroup, container.milli = ContainerState.WAITING, 0, 0


def hotplug_cpus(world: World, event: HotplugEvent) -> None:
    """Take CPUs offline or bring them back online.

    Rule: *Documentation/admin-guide/cgroup-v1/cpusets.rst*: with v1, a cgroup permanently loses CPUs that go
    offline; with v2, only while they are offline.
    """
    world.online = world.online & ~event.offline | event.online
    for what, cpus in (("now offline", event.offline), ("now online", event.online)):
        if cpus:
            online = cpus_text(world.online)
            world.record(EntryKind.CPUS_CHANGED, f"{what}: {some_cpus(cpus)}", online=online)
    if world.timeline.cgroup_version == 1:
        for life in world.pods.values():
            for container in life.containers.values():
                container.cgroup &= world.online


def edit_state_file(world: World, event: StateFileEdit) -> None:
    """Replace or delete a state file; a running kubelet does not read it."""
    if event.file == CPU_FILE:
        world.disk.cpu = event.text
    else:
        world.disk.memory = event.text
    how = "is deleted" if event.text is None else "is replaced"
    world.record(EntryKind.STATE_FILE_EDITED, f"{event.file} {how}", file=event.file)


def patch_state_file(world: World, event: StateFilePatch) -> None:
    """Change the content of ``cpu_manager_state``."""
    writer = world.disk.cpu.writer if isinstance(world.disk.cpu, WrittenCPUs) else DEFAULT_READER
    state = world.disk.read_cpu(writer)
    if not isinstance(state, CPUStateFile):
        world.record(
            EntryKind.IGNORED, "cpu_manager_state does not exist or cannot be read, so it is unchanged"
        )
        return
    entries = {uid: dict(containers) for uid, containers in state.entries.items()}
    for (pod, container), cpus in event.entries.items():
        life = world.find(pod)
        if life is None:
            continue
        if cpus is None:
            entries.get(life.uid, {}).pop(container, None)
        else:
            entries.setdefault(life.uid, {})[container] = CPUSet(cpus)
    pool = state.default_cpu_set if event.default is None else CPUSet(event.default)
    changed = {uid: containers for uid, containers in entries.items() if containers}
    world.disk.cpu = WrittenCPUs(replace(state, default_cpu_set=pool, entries=changed), writer)
    world.record(EntryKind.STATE_FILE_EDITED, f"{CPU_FILE} is changed", file=CPU_FILE)


def replace_server(world: World, server: ApiServer) -> None:
    """Replace the API server."""
    world.server = replace(server, validates=world.server.validates)
    world.api_server.rules = server_rules(server.gates)
    verb = "accepts" if server.takes_assigned_cpuset else "drops"
    what = verb if server.knows_assigned_cpuset else "does not know"
    world.record(
        EntryKind.SERVER_CHANGED, f"the API server is 1.{server.gates.minor} and {what} assigned.cpuset"
    )


def update(world: World, life: PodLife, event: Update) -> None:
    """Write a pod object again, as applying its manifest does."""
    if refused := downward.refusal(world.server, event.exposed):
        text = f"update is rejected by the API server: {refused}"
        world.record(EntryKind.FORBIDDEN, text, life, message=refused)
        return
    life.exposed = downward.stored(world.server, event.exposed)
    names = ", ".join(sorted(life.exposed))
    shows = f"and exposes the CPUs of {names}" if names else "and no longer exposes any CPUs"
    world.record(EntryKind.UPDATED, f"is updated, {shows}", life, exposes=names or "nothing")
    if world.kubelet is not None and life.runs:
        world.kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)
