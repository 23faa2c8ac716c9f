"""Containers: their start and end, the values that a runtime writes for them, and the end of their pod.

A pod that has ended is no longer active: its CPUs are released with the next cleanup, the scheduler does not
count it, and a kubelet that starts does not admit it again.
"""

from __future__ import annotations

from cpuctl.golang.durations import duration_text
from cpuctl.pods.cgroups.linux_resources import linear_weight, shares_of
from cpuctl.pods.downward_api import unsupported_inside
from cpuctl.pods.model import Container, ContainerKind
from cpuctl.pods.rules import ASSIGNED_CPUSET
from cpuctl.quantity import Quantity
from cpuctl.timeline.pods.downward import write_volumes
from cpuctl.timeline.pods.resize import retry_deferred
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import JobKind, KubeletProcess
from cpuctl.timeline.world.scale_downs import ScaleDownEnd
from cpuctl.timeline.world.world import ContainerState, Phase, PodLife, World, cpus_text, some_cpus

_NOTHING = Quantity()


def start_all(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Start a pod's containers; its ordinary init containers have ended by then."""
    for container in life.running.allocated.all_containers:
        if container.kind is ContainerKind.INIT:
            life.containers[container.name].state = ContainerState.TERMINATED
            life.containers[container.name].exit_code = 0
            if world.runtime is not None:
                world.runtime.created(world, life, container.name)
            kubelet.node.start_container(life.running.allocated, container.name)
        else:
            start(world, kubelet, life, container)


def start(world: World, kubelet: KubeletProcess, life: PodLife, container: Container) -> None:
    """Start a container after writing its volumes.

    Rule: kubelet ``internalContainerLifecycleImpl``: the CPU set is the one in the CPU Manager's state, if
    any; the runtime is not called again until that changes.
    """
    one, key = life.containers[container.name], (life.uid, container.name)
    if life.exposed and not kubelet.writes_assigned_cpuset:
        why = f"its volume cannot be set up: {unsupported_inside(ASSIGNED_CPUSET)}"
        world.record(EntryKind.CONTAINER_WAITS, f"waits: {why}", life, container.name, reason=why)
        return
    write_volumes(world, kubelet, life)
    state = kubelet.node.state
    assigned = state.assigned(*key)
    one.state, one.exit_code = ContainerState.RUNNING, None
    one.cgroup = 0
    driven = _driver_cpus(world, kubelet, key)
    write_cpuset(world, life, container.name, own_or_shared(kubelet, key) if driven is None else driven)
    if assigned is not None:
        kubelet.last_update[key] = assigned
    one.milli = requested_milli(container)
    if world.runtime is not None:
        world.runtime.created(world, life, container.name)
    kubelet.node.start_container(life.running.allocated, container.name)
    where = some_cpus(one.cgroup)
    world.record(
        EntryKind.CONTAINER_STARTED, f"starts on {where}", life, container.name, cpus=cpus_text(one.cgroup)
    )
    _shrink_others(world, kubelet, key)


def _driver_cpus(world: World, kubelet: KubeletProcess, key: tuple[str, str]) -> int | None:
    """Return the CPUs that the CPU driver gives a container: those of its claims, or all unclaimed ones.

    None without a driver, and with the static policy, whose kubelet writes CPU sets itself.
    """
    if world.claims is None or kubelet.node.policy is not None:
        return None
    claimed = world.claims.cpus_of(*key)
    return world.claims.driver.shared.mask if claimed is None else claimed.mask


def _shrink_others(world: World, kubelet: KubeletProcess, key: tuple[str, str]) -> None:
    """Remove a claim's CPUs from running containers without claims when the claim's container first starts.

    Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/driver/nri_hooks.go``: only containers that are
    created later get the CPUs released by a claim.
    """
    if world.claims is None or key in world.claimants or world.claims.cpus_of(*key) is None:
        return
    world.claimants.add(key)
    if kubelet.node.policy is not None:
        return
    shared = world.claims.driver.shared.mask
    for life in world.pods.values():
        for name, other in life.containers.items():
            if other.runs and other.cgroup != shared and world.claims.cpus_of(life.uid, name) is None:
                text = f"moves from {some_cpus(other.cgroup)} to {some_cpus(shared)}, to make way for a claim"
                cpus = {"before": cpus_text(other.cgroup), "cpus": cpus_text(shared)}
                write_cpuset(world, life, name, shared)
                world.record(EntryKind.CPUSET_WRITTEN, text, life, name, **cpus)


def own_or_shared(kubelet: KubeletProcess, key: tuple[str, str]) -> int:
    """Return the CPUs that a container should run on: its own or the shared pool; 0 with policy ``none``."""
    if kubelet.node.policy is None:
        return 0
    state = kubelet.node.state
    assigned = state.assigned(*key)
    return state.default if assigned is None else assigned


def write_cpuset(world: World, life: PodLife, name: str, cpus: int) -> bool:
    """Let the runtime write ``cpuset.cpus``; False if the kernel refuses: v1 accepts only online CPUs."""
    if world.timeline.cgroup_version == 1 and cpus & ~world.online:
        return False
    life.containers[name].cgroup = cpus
    world.scale_downs.applied((life.uid, name), cpus, world.now)
    return True


def end(world: World, life: PodLife, name: str, code: int = 0) -> None:
    """End a container's processes; it keeps its CPUs, as it may be restarted."""
    one = life.containers[name]
    one.state, one.cgroup, one.milli = ContainerState.TERMINATED, 0, 0
    one.exit_code, one.ended = code, world.now
    world.record(
        EntryKind.CONTAINER_ENDED, f"exits with code {code}" if code else "exits", life, name, code=code
    )


def requested_milli(container: Container) -> int:
    """Return the CPUs that a container requests, in milli-CPUs."""
    return container.resources.requests.get("cpu", _NOTHING).milli_value


def weight_of(milli: int) -> int:
    """Return ``cpu.weight`` for an amount in milli-CPUs, as kubelets convert it."""
    return linear_weight(shares_of(milli))


def ends(world: World, kubelet: KubeletProcess, life: PodLife) -> bool:
    """End a pod if all of its containers have ended and none may restart; return whether it ended."""
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
    world.record(EntryKind.POD_ENDED, f"has completed: {phase}", life, phase=phase)
    kubelet.node.remove(life.uid)
    kubelet.touch(world.now)
    retry_deferred(world, kubelet)
    return True


def restart_ended(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Restart containers that have ended and may restart: at once, or when their back-off is over."""
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
            world.record(EntryKind.CONTAINER_WAITS, text, life, container.name, reason="CrashLoopBackOff")
            kubelet.plan(due, JobKind.SYNC, life)


def forget_pod(kubelet: KubeletProcess, uid: str) -> None:
    """Drop a kubelet's data about a pod that has ended."""
    kubelet.timers.forget(uid)
    kubelet.back_offs.forget(uid)
    kubelet.last_update = {key: cpus for key, cpus in kubelet.last_update.items() if key[0] != uid}
