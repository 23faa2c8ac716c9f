"""Resizes: the API server accepts one, the kubelet decides on it, retries, and reports its completion.

Rule: KEP-1287, KEP-5554 and KEP-6122: a container gets additional CPUs at once, and loses CPUs when its
delay has passed; the resize is complete when all CPU sets of the pod are applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cpuctl.engine.outcome import KubeletFault
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import ResizeOutcome, ResizeResult, conditions_of
from cpuctl.engine.resize.pending import retry_order
from cpuctl.engine.resize.running import POD, PodResize, requirements, same_resources, with_requirements
from cpuctl.engine.resize.server_side import ResizeServer
from cpuctl.golang.durations import duration_text
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.records import Record, replace
from cpuctl.timeline.model import Resize
from cpuctl.timeline.world.disk import SavedWait
from cpuctl.timeline.world.entries import EntryKind
from cpuctl.timeline.world.kubelet_process import JobKind, KubeletProcess
from cpuctl.timeline.world.scale_downs import ScaleDown, ScaleDownEnd
from cpuctl.timeline.world.world import PodLife, World, cpus_text, kubelet_fails, some_cpus

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
"""The types of conditions by which a pod's status reports resizes."""

_SENTENCES = {
    ResizeResult.DEFERRED: (EntryKind.RESIZE_DEFERRED, "is deferred"),
    ResizeResult.INFEASIBLE: (EntryKind.RESIZE_INFEASIBLE, "is infeasible"),
    ResizeResult.IGNORED: (EntryKind.IGNORED, "is ignored"),
    ResizeResult.UNKNOWN: (EntryKind.UNDETERMINED, "is undetermined"),
}


def request_resize(world: World, life: PodLife, event: Resize) -> None:
    """Let the API server accept new resources for a pod, and its kubelet decide on them."""
    spec = life.running.spec
    server = ResizeServer.of(
        world.server.gates,
        node_resizes=world.kubelet is None or world.kubelet.rules.in_place,
        allocatable=None if world.allocatable is None else world.allocatable.amounts,
        namespaces=world.api_server if world.server.validates else None,
    )
    desired = server.stored(spec, with_requirements(spec, _wanted(spec, event.resources)))
    request = PodResize(life.running, desired)
    if refusals := server.refusals(request):
        message = "; ".join(refusals)
        world.record(
            EntryKind.FORBIDDEN, f"resize is rejected by the API server: {message}", life, message=message
        )
        return
    if same_resources(spec, desired):
        # No new generation of the pod: its kubelet is not notified.
        world.record(EntryKind.RESIZE_UNCHANGED, "already requests these resources", life)
        return
    life.running = replace(life.running, spec=desired, generation=request.generation)
    if world.kubelet is None:
        world.record(EntryKind.UPDATED, "will be resized once a kubelet runs", life)
    elif life.uid in world.kubelet.node.active:
        handle_resize(world, world.kubelet, life)
    else:
        world.record(EntryKind.IGNORED, "cannot be resized: it is not running", life)


def _wanted(spec: Pod, changed: Mapping[str, ResourceRequirements]) -> dict[str, ResourceRequirements]:
    """Combine new amounts with those that stay."""
    known = requirements(spec)
    wanted = {}
    for name, more in changed.items():
        before = known[name] or ResourceRequirements()
        wanted[name] = replace(
            before, requests={**before.requests, **more.requests}, limits={**before.limits, **more.limits}
        )
    return wanted


def handle_resize(world: World, kubelet: KubeletProcess, life: PodLife) -> None:
    """Let the kubelet decide on a pod's desired resources; raise UsageError if a policy would have to."""
    if kubelet.node.what_if is not None and kubelet.rules.allocates:
        from cpuctl.policies.what_if import resizes_unsupported

        raise resizes_unsupported()
    held = dict(kubelet.node.state.assignments.get(life.uid, {}))
    waiting = dict(kubelet.node.state.pending.get(life.uid, {}))
    request = PodResize(life.running, life.running.spec)
    outcome = decide(kubelet.node, request, ResizePath(kubelet=kubelet.rules, capacity=kubelet.capacity))
    kubelet.touch(world.now)
    if isinstance(outcome.verdict, KubeletFault):
        kubelet_fails(world, outcome.verdict)
    elif outcome.result.accepted:
        _accept(world, kubelet, life, outcome)
        _start_delays(world, kubelet, life, _Before(held, waiting), outcome.delay)
        save_waits(world, kubelet, life.uid)
    else:
        _refuse(world, kubelet, life, outcome)


def _accept(world: World, kubelet: KubeletProcess, life: PodLife, outcome: ResizeOutcome) -> None:
    before, desired = life.running.allocated, life.running.spec
    life.running = replace(life.running, allocated=desired, waiting_since="")
    life.conditions = {condition.type: condition for condition in conditions_of(outcome, kubelet.rules)}
    changes = ", ".join(_changes(before, desired)) or "no effective change"
    unfollowed = f"; its exclusive CPUs do not change ({', '.join(outcome.unfollowed)})"
    text = f"resize is accepted: {changes}{unfollowed if outcome.unfollowed else ''}"
    world.record(EntryKind.RESIZE_ACCEPTED, text, life, ruling=str(outcome.result), preview=outcome.preview)
    kubelet.plan(world.now + world.timeline.timing.pod_sync, JobKind.SYNC, life)


def _changes(before: Pod, after: Pod) -> list[str]:
    """Describe the changes of containers' CPU requests."""
    old, new = requirements(before), requirements(after)
    found = []
    for name, resources in new.items():
        was, now = (each.requests.get("cpu") if each is not None else None for each in (old[name], resources))
        if was != now:
            found.append(f"{name if name != POD else 'pod'} {was or 0} to {now or 0} CPUs")
    return found


class _Before(Record):
    """The CPUs (masks) that containers had (``held``) and would keep (``waiting``) before a resize."""

    held: Mapping[str, int]
    waiting: Mapping[str, int]


def _start_delays(world: World, kubelet: KubeletProcess, life: PodLife, before: _Before, delay: int) -> None:
    """Start or restart the delay of containers that shrink; those that grow have none."""
    state = kubelet.node.state
    kubelet.timers.restart(state, life.uid, [*before.held, *before.waiting], world.now + delay)
    for name, held in before.held.items():
        awaited, now = state.awaited(life.uid, name), state.assigned(life.uid, name) or 0
        if awaited is None and name in before.waiting:
            world.scale_downs.finish((life.uid, name), ScaleDownEnd.CANCELLED)
            kept = cpus_text(now)
            world.record(EntryKind.DELAY_CANCELLED, f"keeps {some_cpus(now)}", life, name, cpus=kept)
        after = now if awaited is None else awaited
        if held & ~after:
            _begin(world, life, name, (held, after), delay, again=name in before.waiting)


def _begin(world: World, life: PodLife, name: str, cpus: tuple[int, int], delay: int, *, again: bool) -> None:
    """Record the start of a scale-down, which may start *again*.

    KEP-6122 ("Consecutive Scaling") restarts the delay with another scale-down, and does not define a resize
    that leaves the container's CPUs unchanged. Every resize processes all containers of its pod.
    """
    scale_down = _scale_down(world, life, name, cpus, delay)
    world.scale_downs.begin((life.uid, name), scale_down)
    keeps, leaves = cpus_text(cpus[1]), cpus_text(cpus[0] & ~cpus[1])
    when = f"after {duration_text(delay)}" if delay else "immediately"
    restarted = "; the delay restarts with any resize of the pod" if again and delay else ""
    world.record(
        EntryKind.SCALE_DOWN,
        f"will release {some_cpus(cpus[0] & ~cpus[1])} {when} and keep {some_cpus(cpus[1])}{restarted}",
        life,
        name,
        keeps=keeps,
        givesUp=leaves,
        due=duration_text(scale_down.due),
    )


def _scale_down(world: World, life: PodLife, name: str, cpus: tuple[int, int], delay: int) -> ScaleDown:
    # If it is decided again, as after a restart, the volume may contain it already.
    known = life.containers[name].file == cpus_text(cpus[1])
    return ScaleDown(
        pod=life.name,
        container=name,
        before=cpus[0],
        after=cpus[1],
        decided=world.now,
        due=world.now + delay,
        exposed=name in life.exposed,
        notified=world.now if known else None,
    )


def _refuse(world: World, kubelet: KubeletProcess, life: PodLife, outcome: ResizeOutcome) -> None:
    if outcome.result is ResizeResult.UNCHANGED:
        life.running = replace(life.running, waiting_since="")
        if life.conditions.pop(PENDING, None) is not None:
            world.record(EntryKind.RESIZE_UNCHANGED, "requests the current resources again", life)
        return
    latest = {condition.type: condition for condition in conditions_of(outcome, kubelet.rules)}
    news = latest.get(PENDING) != life.conditions.get(PENDING) or not latest
    life.conditions |= latest
    since = ""
    if outcome.result is ResizeResult.DEFERRED:
        since = life.running.waiting_since or f"{world.now:020}"
        kubelet.retry_after = world.now if kubelet.retry_after is None else kubelet.retry_after
    life.running = replace(life.running, waiting_since=since)
    if news:
        what, sentence = _SENTENCES[outcome.result]
        text = f"resize {sentence}: {outcome.message}{_held_back(world, kubelet, outcome)}"
        world.record(what, text, life, reason=outcome.reason, message=outcome.message)


def _held_back(world: World, kubelet: KubeletProcess, outcome: ResizeOutcome) -> str:
    """Return a note for a final refusal if CPUs are about to become free, as the resize is not retried."""
    if outcome.result is not ResizeResult.INFEASIBLE or not outcome.preview:
        return ""
    state = kubelet.node.state
    waiting = [
        f"{some_cpus(held & ~kept)} of {world.names.get(uid, uid)}/{name}"
        for uid, containers in state.pending.items()
        for name, kept in containers.items()
        if (held := state.assigned(uid, name) or 0) & ~kept
    ]
    if not waiting:
        return ""
    return (
        f"; according to KEP-5554 this is final, although {', '.join(waiting)} become free when their delay "
        "has expired (KEP-6122): request the resize again then"
    )


def retry_deferred(world: World, kubelet: KubeletProcess) -> None:
    """Retry deferred resizes in the kubelet's order."""
    managed = [life for life in world.on_node() if life.uid in kubelet.node.active]
    waiting = {life.uid: life for life in managed if life.running.waiting_since}
    kubelet.retry_after = world.now if waiting else None
    requests = [PodResize(life.running, life.running.spec) for life in waiting.values()]
    for request in retry_order(requests, ResizePath(kubelet=kubelet.rules)):
        if world.kubelet is kubelet:
            handle_resize(world, kubelet, waiting[request.desired.uid])


def save_waits(world: World, kubelet: KubeletProcess, uid: str) -> None:
    """Save which containers of a pod wait, and until when; none if waits end with the kubelet."""
    for key in [key for key in world.disk.waits if key[0] == uid]:
        del world.disk.waits[key]
    if not kubelet.setup.grace_of_pods:
        return
    for name, cpus in kubelet.node.state.pending.get(uid, {}).items():
        world.disk.waits[uid, name] = SavedWait(cpus, kubelet.timers.due[uid, name], world.boot)
