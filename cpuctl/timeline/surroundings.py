"""What happens around the kubelet: CPUs go, files are edited, the API server changes, pods are written."""

from __future__ import annotations

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.checkpoints.reader import DEFAULT_READER
from cpuctl.cpuset import CPUSet
from cpuctl.engine.pod_rules import server_rules
from cpuctl.timeline.model import CPU_FILE, ApiServer, CPUsChange, StateFileEdit, StateFilePatch, Update
from cpuctl.timeline.pods import downward
from cpuctl.timeline.world.disk import WrittenCPUs
from cpuctl.timeline.world.happenings import What
from cpuctl.timeline.world.kubelet_process import Work
from cpuctl.timeline.world.world import PodLife, World, cpus_text, some_cpus


def change_cpus(world: World, event: CPUsChange) -> None:
    """Let CPUs go offline or come back.

    Rule: *Documentation/admin-guide/cgroup-v1/cpusets.rst*: with v1 a group loses what goes offline for good,
    with v2 only as long as it is away.
    """
    world.online = world.online & ~event.offline | event.online
    for what, cpus in (("offline from now on", event.offline), ("online from now on", event.online)):
        if cpus:
            online = cpus_text(world.online)
            world.tell(What.CPUS_CHANGED, f"{what}: {some_cpus(cpus)}", online=online)
    if world.timeline.cgroup_version == 1:
        for life in world.pods.values():
            for container in life.containers.values():
                container.cgroup &= world.online


def edit_state_file(world: World, event: StateFileEdit) -> None:
    """Replace or delete a state file; a kubelet that runs does not look at it."""
    if event.file == CPU_FILE:
        world.disk.cpu = event.text
    else:
        world.disk.memory = event.text
    how = "is deleted" if event.text is None else "is replaced"
    world.tell(What.STATE_FILE_EDITED, f"{event.file} {how}", file=event.file)


def patch_state_file(world: World, event: StateFilePatch) -> None:
    """Change what ``cpu_manager_state`` says."""
    writer = world.disk.cpu.writer if isinstance(world.disk.cpu, WrittenCPUs) else DEFAULT_READER
    state = world.disk.read_cpu(writer)
    if not isinstance(state, CPUStateFile):
        world.tell(What.IGNORED, "there is no cpu_manager_state that could be changed")
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
    world.disk.cpu = WrittenCPUs(state._replace(default_cpu_set=pool, entries=changed), writer)
    world.tell(What.STATE_FILE_EDITED, f"{CPU_FILE} is changed", file=CPU_FILE)


def change_server(world: World, server: ApiServer) -> None:
    """Let another API server take over."""
    world.server = server._replace(validates=world.server.validates)
    world.api_server.rules = server_rules(server.gates)
    words = "takes" if server.takes_assigned_cpuset else "drops"
    what = words if server.knows_assigned_cpuset else "does not know"
    world.tell(What.SERVER_CHANGED, f"the API server is 1.{server.gates.minor}, and {what} assigned.cpuset")


def update(world: World, life: PodLife, event: Update) -> None:
    """Write a pod object anew, as somebody who applies its manifest does."""
    if refused := downward.refusal(world.server, event.exposed):
        text = f"update is refused by the API server: {refused}"
        world.tell(What.FORBIDDEN, text, life, message=refused)
        return
    life.exposed = downward.stored(world.server, event.exposed)
    told = ", ".join(sorted(life.exposed)) or "nothing"
    world.tell(What.UPDATED, f"is written anew, and exposes the CPUs of {told}", life, exposes=told)
    if world.kubelet is not None and life.runs:
        world.kubelet.plan(world.now + world.timeline.timing.pod_sync, Work.SYNC, life)
