"""Resizing a pod as KEP-5554 says it, where its reference implementation does otherwise.

The reference is asked first, and its answer stands unless the text contradicts it: a refusal changes
nothing; forbidden moves are refused under their own names, whatever kind of container asks for them; an init
container that has ended is left alone; what ``careful`` finds possible is done.
"""

from __future__ import annotations

from cpuctl.engine.cpu.resizing.careful import Careful
from cpuctl.engine.cpu.resizing.feasibility import infeasible
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import ResizeReason, ResizeRequest, to_shared
from cpuctl.engine.cpu.resizing.resized import Departure, Resized
from cpuctl.engine.outcome import Admitted, Rejected, RejectionReason
from cpuctl.engine.provider import Refusal
from cpuctl.pods.model import Container, ContainerKind, QosClass
from cpuctl.quantity import Quantity


def resize_by_reference(asked: Resizing) -> Resized:
    """Resize as the reference implementation does."""
    return asked.answer(asked.run())


def resize_by_kep(asked: Resizing) -> Resized:
    """Resize as the KEP's text says; on a refusal the state of *asked* is as before."""
    reference = asked.fresh()
    verdict = reference.run()
    match verdict:
        case Admitted():
            return _accepted(asked, reference)
        case Rejected():
            return _refused(asked, reference, verdict)
        case _:
            return reference.answer(verdict)


def _accepted(asked: Resizing, reference: Resizing) -> Resized:
    if forbidden := _forbidden(asked):
        return reference.answer(forbidden, Departure.FORBIDDEN)
    if not _ended(asked):
        asked.adopt(reference)
        return asked.answer(Admitted())
    trial = asked.fresh()
    return _adopted(asked, trial, Careful(trial).run(), Departure.ENDED)


def _refused(asked: Resizing, reference: Resizing, refusal: Rejected) -> Resized:
    """Let the refusal stand, without its traces, unless the KEP wants another name for it or none at all."""
    if refusal.reason not in _NEVER_DONE:
        forbidden = _forbidden(asked)
        renamed = refusal.reason != RejectionReason.SMT_ALIGNMENT
        if forbidden is not None and renamed and refusal.container in ("", forbidden.container):
            return reference.answer(forbidden, Departure.FORBIDDEN)
        trial = asked.fresh()
        verdict = Careful(trial).run()
        if _place(asked, verdict) > _place(asked, refusal):
            if forbidden is not None and _place(asked, verdict) >= _place(asked, forbidden):
                return reference.answer(forbidden, Departure.FORBIDDEN)
            return _adopted(asked, trial, verdict, Departure.POSSIBLE)
    if reference.state.assignments != asked.state.assignments:
        return reference.answer(refusal, Departure.NOTHING_KEPT)
    return reference.answer(refusal)


def _adopted(asked: Resizing, trial: Resizing, verdict: Admitted | Refusal, departure: Departure) -> Resized:
    """Answer with what a try has come to; a refusal changes nothing."""
    if isinstance(verdict, Admitted):
        asked.adopt(trial)
    return trial.answer(verdict, departure)


def _place(asked: Resizing, verdict: Admitted | Refusal) -> int:
    """Tell how far a walk over the containers has come: none is beyond the end."""
    order = ["", *(container.name for container in asked.request.pod.all_containers)]
    match verdict:
        case Admitted():
            return len(order)
        case Rejected(container=name):
            return order.index(name)
        case _:
            return -1


_FORBIDDEN = frozenset({ResizeReason.PROHIBITED, ResizeReason.INCONSISTENT})
_NEVER_DONE = _FORBIDDEN | {ResizeReason.NO_BASELINE, ResizeReason.UNSUPPORTED}


def _forbidden(asked: Resizing) -> Rejected | None:
    """Find the first container of any kind that asks for what is never done, by what it has now."""
    request = ResizeRequest.of(asked.request.pod, asked.request.before).with_all_allocated()
    if asked.candidate.qos.qos_class is not QosClass.GUARANTEED:
        return None
    for container in request.pod.all_containers:
        if refused := _never_done(asked, request, container):
            return refused
    return None


def _never_done(asked: Resizing, request: ResizeRequest, container: Container) -> Rejected | None:
    uid, name = request.pod.uid, container.name
    requested, held = container.resources.requests.get("cpu"), asked.state.assigned(uid, name)
    if held is not None and requested is not None and not asked.claim(container).cpus:
        # An earlier mistake may have left a container with CPUs that it does not claim.
        return to_shared(requested, Quantity.from_value(held.bit_count()), name)
    if request.allocated.get(name) == requested or (held is None and _ends(container, request)):
        return None
    refused = infeasible(request, container, asked.state.baseline(uid, name))
    return refused if refused is not None and refused.reason in _FORBIDDEN else None


def _ends(container: Container, request: ResizeRequest) -> bool:
    """Tell whether a container gives its CPUs back long before its pod ends."""
    had = request.allocated.get(container.name)
    return container.kind is ContainerKind.INIT and had is not None and had.sign > 0 and had.is_integral_cpu


def _ended(asked: Resizing) -> bool:
    """Tell whether an init container has given its CPUs back already."""
    uid = asked.request.pod.uid
    return any(
        container.kind is ContainerKind.INIT
        and asked.claim(container).cpus
        and asked.state.assigned(uid, container.name) is None
        for container in asked.request.pod.init_containers
    )
