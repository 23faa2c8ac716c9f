"""Creation and deletion of pods: the API server accepts, the scheduler binds, and the kubelet admits them.

Rule: KEP-1287: the scheduler counts the maximum of a container's desired, allocated and actual resources,
without an infeasible desired amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.hints.topology_manager import HintRound, Merged
from cpuctl.engine.node_fit import Allocatable, check_fit
from cpuctl.engine.outcome import Admitted, Forbidden, KubeletFault, Pending, Rejected, Undetermined
from cpuctl.engine.placement import Isolation
from cpuctl.engine.pod_rules import node_rules
from cpuctl.engine.resize.effects import most_requested
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.phrases import named, taken_text
from cpuctl.pods.identity import with_uids
from cpuctl.pods.model import Pod, StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.rules import NodeRules, PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity
from cpuctl.timeline.model import BEST_HINT, Admit, KubeletSetup, hints_text
from cpuctl.timeline.pods import downward
from cpuctl.timeline.pods.containers import forget_pod, start_all
from cpuctl.timeline.pods.resize import PENDING, retry_deferred
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import JobKind, KubeletProcess
from cpuctl.timeline.world.scale_downs import ScaleDownEnd
from cpuctl.timeline.world.world import (
    ContainerState,
    PodLife,
    World,
    cpus_text,
    kubelet_fails,
    some_cpus,
)

_INFEASIBLE = "Infeasible"
_MOST_HINTS = 1 << 16
"""The number of hints for one resource on a machine with 16 NUMA nodes."""


def create(world: World, event: Admit) -> None:
    """Let the API server create a pod that is bound to the node, or waits for the scheduler."""
    name, stored = event.pod.pod.full_name, _stored(world, event.pod.pod)
    if world.find(name) is not None:
        refused = f'pods "{event.pod.pod.name}" already exists'
    elif world.server.validates:
        refused = "; ".join(world.api_server.create(stored).refusals)
    else:
        refused = downward.refusal(world.server, event.pod.exposed)
    if refused:
        _refuse(world, name, refused)
        return
    life = _new_life(world, event, stored)
    world.pods[life.uid] = life
    if event.scheduled or not _bindable(world, life):
        why = f": {life.message}" if life.message else ""
        world.record(EntryKind.CREATED, f"waits for the scheduler{why}", life)
        schedule(world)
    elif world.kubelet is None:
        world.record(EntryKind.CREATED, "waits for a kubelet", life)
    else:
        admit(world, world.kubelet, life)


def _refuse(world: World, name: str, why: str) -> None:
    world.refused.append(name)
    world.record(EntryKind.FORBIDDEN, f"{name} is rejected by the API server: {why}", message=why)


def _stored(world: World, pod: Pod) -> StoredPod:
    """Return a new pod as the API server would store it; a recreated one has another UID."""
    pod = pod._replace(statuses=(), counted_claims=())
    if pod.uid in world.names:
        (pod,) = with_uids([pod._replace(uid="")], world.names)
    rules = PodRules(server=world.api_server.rules, node=_node_rules(world.setup))
    return stored_pod(pod, rules, world.api_server.limit_ranges)


def _node_rules(setup: KubeletSetup) -> NodeRules:
    """Return the rules by which the kubelet reads static pods, which never reach an API server."""
    kubelet = setup.kubelet
    return node_rules(kubelet.gates) if isinstance(kubelet, Kubelet) else NodeRules(minor=setup.minor)


def _new_life(world: World, event: Admit, stored: StoredPod) -> PodLife:
    world.names[stored.uid] = stored.full_name
    return PodLife(
        stored,
        downward.stored(world.server, event.pod.exposed),
        number=len(world.names),
        starts=event.start,
        bound=not event.scheduled,
    )


def schedule(world: World) -> None:
    """Bind pods that now fit according to the scheduler, the oldest first."""
    waiting = [life for life in world.pods.values() if not life.bound]
    for life in sorted(waiting, key=lambda life: life.number):
        if world.kubelet is None or world.allocatable is None or not fits(world, life, world.allocatable):
            continue
        if not _bindable(world, life, world.allocatable):
            continue
        life.bound, life.reason, life.message = True, "", ""
        world.record(EntryKind.SCHEDULED, "is bound to the node: the scheduler finds that it fits", life)
        admit(world, world.kubelet, life)


def _bindable(world: World, life: PodLife, allocatable: Allocatable | None = None) -> bool:
    """Return whether the scheduler finds devices for a pod's claims; if not, record why the pod waits.

    With *allocatable*, the claims' node resources, known once they are allocated, must fit as well.
    """
    pod = life.running.allocated
    if world.claims is None or not pod.resource_claims:
        return True
    tried = world.claims.copy()
    found = tried.allocate(pod)
    if isinstance(found, Pending):
        life.bound, life.reason, life.message = False, "Unschedulable", found.message
        return False
    return allocatable is None or _fits(world, tried.counted(life.running.spec), allocatable)


def admit(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Let the kubelet decide on a pod that is new to it."""
    kubelet.touch(world.now)
    admission = kubelet.node.admit(life.running.allocated)
    if world.claims is not None:
        life.running = life.running.changed(world.claims.counted)
    if take_verdict(world, life, admission):
        if life.starts and not _held_back(world, life):
            start_all(world, kubelet, life)
        kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)
    if world.kubelet is kubelet:
        retry_deferred(world, kubelet)


def _held_back(world: World, life: PodLife) -> bool:
    """Return whether a pod cannot start because of its claims, and record why."""
    problem = "" if world.claims is None else world.claims.problem(life.uid)
    if problem:
        life.message = problem
        world.record(EntryKind.CONTAINER_WAITS, f"does not start: {problem}", life, reason=problem)
    return bool(problem)


def take_verdict(world: World, life: PodLife, admission: Admission) -> bool:
    """Write the kubelet's verdict on a pod into its status; return whether the kubelet runs the pod."""
    again = " again" if life.admitted else ""
    if world.timeline.log:
        life.hints = dict(_hint_texts(life.name, admission.hint_rounds))
    match admission.verdict:
        case Admitted():
            life.admitted = True
            placed = "; ".join((_placed(admission), *_claimed(world, life), *_shared(admission)))
            world.record(EntryKind.ADMITTED, f"is admitted{again}: {placed}", life)
            return True
        case Rejected(reason=reason, message=message):
            fail(world, life, str(reason), message)
        case Forbidden(refusals=refusals):
            _refuse(world, life.name, "; ".join(refusals))
        case KubeletFault() as fault:
            kubelet_fails(world, fault)
        case Undetermined(text=why) | Pending(message=why):
            life.reason, life.message = "Undetermined", why
            world.record(
                EntryKind.UNDETERMINED, f"whether it is admitted is unknown: {why}", life, message=why
            )
    return False


def _shared(admission: Admission) -> Iterator[str]:
    if taken := CPUSet(admission.taken_from_others):
        yield f"{named(taken)} {taken_text(taken)}"


def _hint_texts(pod: str, rounds: Iterable[HintRound]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the hints of an admission in the format of a log's; excessively long lists are cut off."""
    for requested in rounds:
        texts = {
            resource: hints_text(islice(hints, _MOST_HINTS))
            for answer in requested.answers.values()
            for resource, hints in (answer or {}).items()
            if hints
        }
        if isinstance(requested.merged, Merged):
            texts[BEST_HINT] = hints_text([requested.merged.hint])
        yield (f"{pod}/{requested.container.name}" if requested.container else pod), texts


def fail(world: World, life: PodLife, reason: str, message: str) -> None:
    """End a pod that the kubelet refuses, with any running containers."""
    life.failed, life.reason, life.message = True, reason, message
    world.api_server.end(life.running.spec)
    for name, container in life.containers.items():
        world.scale_downs.finish((life.uid, name), ScaleDownEnd.GONE)
        world.disk.waits.pop((life.uid, name), None)
        container.state, container.cgroup, container.milli = ContainerState.TERMINATED, 0, 0
    world.record(
        EntryKind.REJECTED, f"is rejected: {reason}: {message}", life, reason=reason, message=message
    )


def _placed(admission: Admission) -> str:
    """Describe which containers have exclusive CPUs or their pod's, and why others share the node's."""
    parts = [
        f"{each.container.name} {cpus_text(each.cpus)}" for each in admission.placements if each.exclusive
    ]
    pools: dict[int, list[str]] = {}
    shared: dict[str, list[str]] = {}
    for each in admission.placements:
        if each.isolation is Isolation.POD:
            pools.setdefault(each.cpus, []).append(each.container.name)
        elif each.isolation is Isolation.HOST:
            shared.setdefault(each.claim.why_not, []).append(each.container.name)
    for cpus, names in pools.items():
        parts.append(f"{', '.join(names)} in the pod's pool {cpus_text(cpus)}")
    for why, names in shared.items():
        every = len(names) == len(admission.placements)
        owner = "" if every else f" for {', '.join(names)}"
        parts.append(f"no exclusive CPUs{owner}, because {why}")
    return "; ".join(parts)


def _claimed(world: World, life: PodLife) -> Iterator[str]:
    """Describe the CPUs that a pod has through its claims."""
    known = None if world.claims is None else world.claims.pods.get(life.uid)
    for each in known.distinct if known is not None else ():
        if isinstance(each.prepared, Undetermined):
            yield f"which CPUs claim {each.claim} gets is unknown: {each.prepared.text}"
        elif each.cpus:
            yield f"claim {each.claim} {each.cpus}"


def remove(world: World, life: PodLife) -> None:
    """Delete a pod; while no kubelet runs, its containers continue to run."""
    if world.kubelet is None and any(each.runs for each in life.containers.values()):
        life.deleted = True
        world.record(EntryKind.REMOVED, "is deleted; its containers run until a kubelet stops them", life)
        return
    kept = world.kubelet.node.kept_for(life.uid) if world.kubelet is not None else 0
    keeps = f", but keeps {some_cpus(kept)} until another pod is admitted (up to 1.31)" if kept else ""
    world.record(EntryKind.REMOVED, f"is removed{keeps}", life)
    forget(world, life)
    if world.kubelet is not None:
        world.kubelet.node.remove(life.uid)
        world.kubelet.touch(world.now)
        retry_deferred(world, world.kubelet)


def forget(world: World, life: PodLife) -> None:
    """Drop everything about a pod that has ended."""
    del world.pods[life.uid]
    world.api_server.release(life.running.spec)
    if world.claims is not None:
        world.claims.release(life.uid)
    for name in life.containers:
        world.scale_downs.finish((life.uid, name), ScaleDownEnd.GONE)
        world.disk.waits.pop((life.uid, name), None)
    if world.kubelet is not None:
        forget_pod(world.kubelet, life.uid)


def counted(life: PodLife) -> StoredPod:
    """Return a pod with the requests that the scheduler counts."""
    running, pending = life.running, life.conditions.get(PENDING)
    if pending is not None and pending.reason == _INFEASIBLE:
        return most_requested(running.allocated, running.actual)
    return most_requested(running.spec, running.allocated, running.actual)


def free(world: World) -> Mapping[str, Quantity]:
    """Return the free CPU and memory; empty if no kubelet has reported the node's resources yet."""
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
    """Return whether a pod fits according to the scheduler."""
    return _fits(world, life.running.spec, allocatable)


def _fits(world: World, pod: StoredPod, allocatable: Allocatable) -> bool:
    running = [counted(other) for other in world.on_node()]
    return check_fit(pod, running, allocatable, pod_level=True) is None
