"""Pods that run when a kubelet starts, and what becomes of scale-downs that waited.

Rule: KEP-6122: the kubelet sees that a container has more CPUs than its pod asks for, allocates anew, and the
whole delay starts over. A kubelet that cannot resize exclusive CPUs refuses instead, and the container keeps
them (scenario 8 of the KEP's tests). With the announced delay of pods a wait outlasts the restart.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.provider import Candidate
from cpuctl.engine.resize.outcome import Condition
from cpuctl.engine.resize.running import with_requirements
from cpuctl.pods.model import Container, Pod, ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.timeline.pods.admitting import fail, take_verdict
from cpuctl.timeline.pods.containers import end, start
from cpuctl.timeline.pods.resizing import IN_PROGRESS
from cpuctl.timeline.world.disk import SavedWait
from cpuctl.timeline.world.kubelet_process import KubeletProcess, Work
from cpuctl.timeline.world.scale_downs import Key
from cpuctl.timeline.world.world import PodLife, World

KILLED = 137
"""The exit code of a container whose end nobody has seen."""
_SWITCHED_OFF = "the scale-down delay of pods is switched off (announced; the kubelet's words are not known)"


def take_back(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Admit a pod that runs once more."""
    waits = {key[1]: wait for key, wait in world.disk.waits.items() if key[0] == life.uid}
    if waits and not kubelet.setup.grace_of_pods:
        fail(world, life, "UnexpectedAdmissionError", _SWITCHED_OFF)
        return
    granted, as_held = life.running.allocated, _as_held(kubelet, life.running.allocated)
    allocates = kubelet.rules.allocates
    if not take_verdict(world, life, kubelet.node.admit(as_held if allocates else granted)):
        return
    if as_held != granted and (allocates or IN_PROGRESS in life.conditions):
        life.running = life.running._replace(allocated=as_held)
        life.conditions.pop(IN_PROGRESS, None)
    if waits:
        _go_on(world, kubelet, life, granted, waits)
    for container in granted.all_containers:
        if life.containers[container.name].comes_back:
            life.containers[container.name].comes_back = False
            if granted.restarts(container, KILLED):
                start(world, kubelet, life, container)
            else:
                # Nobody knows how it ended, so it failed (ContainerStatusUnknown).
                end(world, life, container.name, KILLED)
    kubelet.plan(world.now + world.timeline.timing.pod_sync, Work.SYNC, life)


def _as_held(kubelet: KubeletProcess, pod: Pod) -> Pod:
    """Return the pod with as many CPUs for each container as it has, where it is due another number."""
    held, rules = kubelet.node.state.assignments.get(pod.uid, {}), kubelet.node.pod_rules
    if not held or kubelet.node.cpu.rules.divides(pod):
        return pod
    candidate = Candidate(pod, pod_qos(rules.view(pod)))
    changed = {
        each.name: _with_cpus(each, held[each.name].bit_count())
        for each in pod.all_containers
        if each.name in held and kubelet.node.cpu.claim(candidate, each).cpus != held[each.name].bit_count()
    }
    return with_requirements(pod, changed) if changed else pod


def _with_cpus(container: Container, count: int) -> ResourceRequirements:
    """Return a container's resources with so many CPUs."""
    cpus = {"cpu": Quantity.from_value(count)}
    resources = container.resources
    return resources._replace(requests={**resources.requests, **cpus}, limits={**resources.limits, **cpus})


def _go_on(
    world: World, kubelet: KubeletProcess, life: PodLife, granted: Pod, waits: Mapping[str, SavedWait]
) -> None:
    """Let scale-downs wait on that still make sense; the others begin anew, if they are still wanted.

    Rule: the announced redesign of KEP-6122: another boot, or another size asked for since, means a new wait.
    """
    kept = {
        each.name: each.resources
        for each in granted.all_containers
        if each.name in waits and _makes_sense(world, kubelet, each, (life.uid, each.name))
    }
    for name in waits:
        wait = world.disk.waits.pop((life.uid, name))
        if name in kept:
            world.disk.waits[life.uid, name] = wait
            kubelet.node.state.postpone(life.uid, name, wait.cpus)
            kubelet.timers.due[life.uid, name] = wait.due
    if kept:
        allocated = with_requirements(life.running.allocated, kept)
        life.running = life.running._replace(allocated=allocated)
        life.conditions[IN_PROGRESS] = Condition(type=IN_PROGRESS)
        kubelet.node.active[life.uid] = kubelet.node.pod_rules.known(allocated)


def _makes_sense(world: World, kubelet: KubeletProcess, container: Container, key: Key) -> bool:
    wait, held = world.disk.waits[key], kubelet.node.state.assigned(*key) or 0
    wanted = container.resources.requests.get("cpu", Quantity()).value
    return wait.boot == world.boot and held.bit_count() != wanted == wait.cpus.bit_count()
