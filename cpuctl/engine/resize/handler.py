"""The path of a resize: API server, the kubelet's own checks, resource managers, the fit into the node.

Up to 1.37 a kubelet admits the pod again with its new resources, without knowing that it runs: the CPU
Manager keeps a container's CPUs, and has no hint if the container's size differs (kubernetes issue 140031).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cpuctl.engine.cpu.resizing.request import Departure, Resized, ResizeReason
from cpuctl.engine.cpu.state import delay_of
from cpuctl.engine.node_fit import fit_verdict
from cpuctl.engine.outcome import (
    Admitted,
    Forbidden,
    KubeletFault,
    Pending,
    Rejected,
    RejectionReason,
    Undetermined,
    Verdict,
)
from cpuctl.engine.provider import Candidate
from cpuctl.engine.resize.obstacles import KubeletResize
from cpuctl.engine.resize.outcome import CPUShare, DecidedBy, Obstacle, ResizeOutcome, ResizeResult
from cpuctl.engine.resize.rules import DEFAULT_RULES, ResizeRules
from cpuctl.engine.resize.running import PodResize
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.pods.qos import pod_qos
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.cpu.resizing.reference import Resizing
    from cpuctl.engine.hints.topology_manager import HintRound
    from cpuctl.engine.node import Node
    from cpuctl.engine.placement import Placement
    from cpuctl.engine.resize.server_side import ResizeServer
    from cpuctl.pods.model import StoredPod


_ABOUT_CHANGES = frozenset(ResizeReason) - {ResizeReason.ALLOCATION}
"""Reasons that never apply to a new pod."""


class ResizePath(Record):
    """The components that decide on a resize; without ``server`` the API server has agreed already.

    *capacity* is what the whole node has for pods by the kubelet's count (CPU in milli), None if it is
    not known.
    """

    kubelet: ResizeRules = DEFAULT_RULES
    server: ResizeServer | None = None
    semantics: Semantics = Semantics.KEP
    capacity: Mapping[str, int] | None = None


class _Found(Record):
    """The result of the managers and of the fit into the node."""

    decided_by: DecidedBy
    verdict: Verdict
    hint_rounds: tuple[HintRound, ...]
    placements: tuple[Placement, ...]
    preview: bool
    departures: tuple[Departure, ...] = ()


def decide(node: Node, request: PodResize, path: ResizePath) -> ResizeOutcome:
    """Decide on the resize of a pod that runs on *node*, which changes as the kubelet's managers do.

    Raise KeyError for a pod that does not run there.
    """
    if request.desired.uid not in node.active:
        raise KeyError(request.desired.uid)
    if node.claims is not None:
        count = node.claims.counted
        request = PodResize(request.running.changed(count), count(request.desired))
    before = _cpus(node, request.desired)
    early = _early(request, path)
    if early is not None:
        return replace(early, shares=_shares(node, request.desired, before))
    by_allocator = path.kubelet.allocates and node.policy is not None
    found = _by_allocator(node, request, path) if by_allocator else _by_admission(node, request.desired)
    unfollowed = unfollowed_by(node, request.desired) if isinstance(found.verdict, Admitted) else ()
    return ResizeOutcome(
        request=request,
        result=_result(found, path, unfollowed),
        decided_by=found.decided_by,
        verdict=found.verdict,
        message=_message(found.verdict),
        shares=_shares(node, request.desired, before),
        unfollowed=unfollowed,
        hint_rounds=found.hint_rounds,
        placements=found.placements,
        preview=found.preview,
        departures=found.departures,
        delay=_delay(node, request.desired),
        obstacle=obstacle_of(found.verdict),
    )


def _delay(node: Node, pod: StoredPod) -> int:
    """Return how long a pod's containers wait before they give up CPUs (KEP-6122); 0 if none of them does."""
    return delay_of(node.pod_rules.known(pod), node.delays) if node.state.pending.get(pod.uid) else 0


def _early(request: PodResize, path: ResizePath) -> ResizeOutcome | None:
    """Decide what does not need the managers; None if they are needed."""
    if not request.is_new:
        return ResizeOutcome(request=request, result=ResizeResult.UNCHANGED, decided_by=DecidedBy.NONE)
    if path.server is not None and (refusals := path.server.refusals(request)):
        message = refusals[0] if len(refusals) == 1 else f"[{', '.join(refusals)}]"
        return ResizeOutcome(
            request=request,
            result=ResizeResult.FORBIDDEN,
            decided_by=DecidedBy.API_SERVER,
            message=message,
            obstacle=path.server.obstacle(request),
        )
    if not path.kubelet.in_place and not path.kubelet.conditions:
        message = "the kubelet ignores resizes: InPlacePodVerticalScaling is off"
        return ResizeOutcome(
            request=request, result=ResizeResult.IGNORED, decided_by=DecidedBy.RESIZE_HANDLER, message=message
        )
    requested = KubeletResize(request, path.kubelet, path.capacity)
    if why := requested.objection():
        return ResizeOutcome(
            request=request,
            result=ResizeResult.INFEASIBLE,
            decided_by=DecidedBy.RESIZE_HANDLER,
            message=why,
            obstacle=requested.obstacle,
        )
    return None


def _by_admission(node: Node, pod: StoredPod) -> _Found:
    """Admit the pod again; a refused one keeps running, with what its containers got before the refusal."""
    active = dict(node.active)
    admission = node.admit(pod)
    if not isinstance(admission.verdict, Admitted):
        node.active = active
    return _Found(
        decided_by=DecidedBy.NODE_FIT if _is_short(admission) else DecidedBy.MANAGERS,
        verdict=admission.verdict,
        hint_rounds=admission.hint_rounds,
        placements=admission.placements,
        preview=False,
    )


def _is_short(admission: Admission) -> bool:
    verdict = admission.verdict
    return isinstance(verdict, Rejected) and verdict.reason.startswith("OutOf")


def _by_allocator(node: Node, request: PodResize, path: ResizePath) -> _Found:
    """Ask the allocator, then check whether the pod fits: if not, by the KEP everything stays as it was."""
    pod, running = request.desired, node.active[request.desired.uid]
    short = _shortage(node, pod)
    on_trial = short is not None and path.semantics is Semantics.KEP
    used = node.copy() if on_trial else node
    held = _cpus(used, pod)
    resized = used.resize(pod, _allocator(path.semantics))
    found = _Found(
        decided_by=DecidedBy.MANAGERS,
        verdict=resized.verdict,
        hint_rounds=resized.hint_rounds,
        placements=resized.placements,
        preview=True,
        departures=resized.departures + _more_departures(resized, path),
    )
    if short is None or not isinstance(resized.verdict, Admitted):
        return found
    if not on_trial:
        node.active[pod.uid] = running
    kept = (Departure.NOTHING_KEPT,) if on_trial and _cpus(used, pod) != held else ()
    return replace(found, decided_by=DecidedBy.NODE_FIT, verdict=short, departures=kept)


def _allocator(semantics: Semantics) -> Callable[[Resizing], Resized]:
    from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference

    return resize_by_kep if semantics is Semantics.KEP else resize_by_reference


def _more_departures(resized: Resized, path: ResizePath) -> tuple[Departure, ...]:
    """Return the departure of the reference implementation if it would keep trying."""
    refusal = resized.verdict
    if path.semantics is not Semantics.KEP or not isinstance(refusal, Rejected):
        return ()
    return () if refusal.reason == RejectionReason.TOPOLOGY_AFFINITY else (Departure.FINAL,)


def _result(found: _Found, path: ResizePath, unfollowed: tuple[str, ...]) -> ResizeResult:
    match found.verdict:
        case Admitted():
            return ResizeResult.NO_EFFECT if unfollowed else ResizeResult.ADMITTED
        case Forbidden():
            return ResizeResult.FORBIDDEN
        case KubeletFault():
            return ResizeResult.FAULT
        case Undetermined() | Pending():  # claims of a pod that runs are served already
            return ResizeResult.UNKNOWN
        case Rejected(reason=reason):
            return _refusal(found, path, reason)


def _refusal(found: _Found, path: ResizePath, reason: str) -> ResizeResult:
    """Distinguish a final refusal from one that is retried: releases retry all of them."""
    if not found.preview or found.decided_by is DecidedBy.NODE_FIT:
        return ResizeResult.DEFERRED
    final = path.semantics is Semantics.KEP or reason == RejectionReason.TOPOLOGY_AFFINITY
    return ResizeResult.INFEASIBLE if final else ResizeResult.DEFERRED


def obstacle_of(verdict: Verdict) -> Obstacle | None:
    """Return the obstacle to a resize that resource managers or the fit into the node refuse."""
    if not isinstance(verdict, Rejected):
        return None
    return Obstacle.POD if verdict.reason in _ABOUT_CHANGES else Obstacle.NODE


def _message(verdict: Verdict) -> str:
    match verdict:
        case Admitted():
            return ""
        case Rejected(message=message):
            return message
        case Forbidden(refusals=refusals):
            return "; ".join(refusals)
        case KubeletFault(why=why) | Undetermined(text=why) | Pending(message=why):
            return why


def _shortage(node: Node, pod: StoredPod) -> Rejected | Undetermined | None:
    """Return why a pod does not fit next to the others, None if it does or if that is not checked."""
    if node.allocatable is None:
        return None
    allocatable = node.allocatable.with_amounts(node.devices.allocatable(pod))
    return fit_verdict(pod, node.active.values(), allocatable, pod_level=node.pod_level_resources)


def _cpus(node: Node, pod: StoredPod) -> dict[str, int]:
    """Return the CPUs that containers hold, or will hold once a delay has passed (KEP-6122)."""
    held, awaited = (of.get(pod.uid, {}) for of in (node.state.assignments, node.state.pending))
    return {**held, **awaited}


def _shares(node: Node, pod: StoredPod, before: Mapping[str, int]) -> dict[str, CPUShare]:
    """Pair the exclusive CPUs that containers had with those that they have now, if they had or have any."""
    after, baselines = _cpus(node, pod), node.state.baselines.get(pod.uid, {})
    return {
        each.name: CPUShare(before.get(each.name), after.get(each.name), baselines.get(each.name))
        for each in pod.all_containers
        if each.name in before or each.name in after
    }


def unfollowed_by(node: Node, pod: StoredPod) -> tuple[str, ...]:
    """Name the containers that hold a different number of CPUs than they are due now."""
    if node.cpu.rules.divides(pod):
        return ()
    candidate = Candidate(pod, pod_qos(node.pod_rules.view(pod)))
    held = _cpus(node, pod)
    return tuple(
        each.name
        for each in pod.all_containers
        if each.name in held and held[each.name].bit_count() != node.cpu.claim(candidate, each).cpus
    )
