"""Resizing a pod as the text of KEP-5554 specifies, where its reference implementation differs.

The reference is tried first, and its answer stands unless the text contradicts it: a rejection changes
nothing; forbidden moves are refused under their own names, whatever kind of container requests them; an init
container that has ended is left alone; what fails only for lack of CPUs, or by the Topology Manager's policy,
is tried as in the text: a container grows to a superset of what it has, and shrinks to a set between its
baseline and what it has; one that keeps its size is left alone. Containers are processed in the kubelet's
order, so CPUs that a later one gives up do not help an earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.picking.packed import not_enough
from cpuctl.engine.cpu.provider import CPUAnswer, pod_count
from cpuctl.engine.cpu.resizing.allocation import RETAINED, allocate_resized, complete, too_few
from cpuctl.engine.cpu.resizing.packed import KEPT, complete_packed
from cpuctl.engine.cpu.resizing.request import (
    Departure,
    Resized,
    ResizeReason,
    ResizeRequest,
    cannot_allocate,
    infeasible,
    not_a_subset,
    to_shared,
)
from cpuctl.engine.hints.hints import IMPOSSIBLE
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import Admitted, AllocationError, KubeletFault, Picked, Rejected, RejectionReason
from cpuctl.pods.model import Container, ContainerKind, QosClass
from cpuctl.quantity import Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.cpu.resizing.reference import Resizing
    from cpuctl.engine.provider import Refusal

_FORBIDDEN = frozenset({ResizeReason.PROHIBITED, ResizeReason.INCONSISTENT})
_NEVER_DONE = _FORBIDDEN | {ResizeReason.NO_BASELINE, ResizeReason.UNSUPPORTED}


def resize_by_reference(resizing: Resizing) -> Resized:
    """Resize as the reference implementation does."""
    return resizing.answer(resizing.run())


def resize_by_kep(resizing: Resizing) -> Resized:
    """Resize as the KEP's text specifies; a refusal leaves the state of *resizing* unchanged."""
    reference = resizing.fresh()
    verdict = reference.run()
    match verdict:
        case Admitted():
            return _accepted(resizing, reference)
        case Rejected():
            return _refused(resizing, reference, verdict)
        case _:
            return reference.answer(verdict)


def _accepted(resizing: Resizing, reference: Resizing) -> Resized:
    if forbidden := _forbidden(resizing):
        return reference.answer(forbidden, Departure.FORBIDDEN)
    if not _ended(resizing):
        resizing.adopt(reference)
        return resizing.answer(Admitted())
    trial = resizing.fresh()
    return _adopted(resizing, trial, KEPResize(trial).run(), Departure.ENDED)


def _refused(resizing: Resizing, reference: Resizing, refusal: Rejected) -> Resized:
    """Keep the refusal, without side effects, unless the KEP has another reason or does not refuse."""
    if refusal.reason not in _NEVER_DONE:
        forbidden = _forbidden(resizing)
        renamed = refusal.reason != RejectionReason.SMT_ALIGNMENT
        if forbidden is not None and renamed and refusal.container in ("", forbidden.container):
            return reference.answer(forbidden, Departure.FORBIDDEN)
        trial = resizing.fresh()
        verdict = KEPResize(trial).run()
        if _progress(resizing, verdict) > _progress(resizing, refusal):
            if forbidden is not None and _progress(resizing, verdict) >= _progress(resizing, forbidden):
                return reference.answer(forbidden, Departure.FORBIDDEN)
            return _adopted(resizing, trial, verdict, Departure.POSSIBLE)
    if reference.state.assignments != resizing.state.assignments:
        return reference.answer(refusal, Departure.NOTHING_KEPT)
    return reference.answer(refusal)


def _adopted(
    resizing: Resizing, trial: Resizing, verdict: Admitted | Refusal, departure: Departure
) -> Resized:
    """Return the answer of a trial, and adopt its state unless it is a rejection."""
    if isinstance(verdict, Admitted):
        resizing.adopt(trial)
    return trial.answer(verdict, departure)


def _progress(resizing: Resizing, verdict: Admitted | Refusal) -> int:
    """Return how far a verdict got in the containers' order: an admission is beyond the last one."""
    order = ["", *(container.name for container in resizing.request.pod.all_containers)]
    match verdict:
        case Admitted():
            return len(order)
        case Rejected(container=name):
            return order.index(name)
        case _:
            return -1


def _forbidden(resizing: Resizing) -> Rejected | None:
    """Find the first container of any kind that requests a forbidden resize, judged by what it has now."""
    request = ResizeRequest.of(resizing.request.pod, resizing.request.before).with_all_allocated()
    if resizing.candidate.qos.qos_class is not QosClass.GUARANTEED:
        return None
    for container in request.pod.all_containers:
        if refused := _never_done(resizing, request, container):
            return refused
    return None


def _never_done(resizing: Resizing, request: ResizeRequest, container: Container) -> Rejected | None:
    uid, name = request.pod.uid, container.name
    requested, held = container.resources.requests.get("cpu"), resizing.state.assigned(uid, name)
    if held is not None and requested is not None and not resizing.claim(container).cpus:
        # An earlier error may have left a container with CPUs that it does not claim.
        return to_shared(requested, Quantity.from_value(held.bit_count()), name)
    if request.allocated.get(name) == requested or (held is None and _ends(container, request)):
        return None
    refused = infeasible(request, container, resizing.state.baseline(uid, name))
    return refused if refused is not None and refused.reason in _FORBIDDEN else None


def _ends(container: Container, request: ResizeRequest) -> bool:
    """Return whether a container releases its CPUs long before its pod ends."""
    had = request.allocated.get(container.name)
    return container.kind is ContainerKind.INIT and had is not None and had.sign > 0 and had.is_integral_cpu


def _ended(resizing: Resizing) -> bool:
    """Return whether an init container has already released its CPUs."""
    uid = resizing.request.pod.uid
    return any(
        container.kind is ContainerKind.INIT
        and resizing.claim(container).cpus
        and resizing.state.assigned(uid, container.name) is None
        for container in resizing.request.pod.init_containers
    )


class _Candidates(Record):
    """The CPUs a container may get: those it keeps, and others; masks."""

    kept: CPUMask
    others: CPUMask


class KEPResize:
    """A resize of the containers whose size changes, by the text of the KEP.

    ``withheld`` are the CPUs that the reference implementation gives to init containers that have ended:
    they get none here, but the CPUs available to others stay comparable.
    """

    def __init__(self, question: Resizing) -> None:
        self.round = question
        self.withheld = NO_CPUS

    def run(self) -> Admitted | Refusal:
        """Give every changed container its new size, in order, or return the first refusal."""
        merged: Merged | Refusal = Merged(IMPOSSIBLE, admit=True)
        scope = self.round.manager.scope
        if scope == "pod":
            merged = self.round.judge(None, self._pod_hints())
        for container in self.round.request.pod.all_containers:
            if missing := self._outside(container):
                return missing
            candidates = self._candidates(container)
            if candidates is None:
                self._leave(container)
                continue
            if scope == "container":
                merged = self.round.judge(container, self._hints(candidates, self._count(container)))
            if not isinstance(merged, Merged):
                return merged
            if refused := self._resize_container(container, candidates, merged.hint.nodes):
                return refused
        return Admitted()

    def _count(self, container: Container) -> int:
        return self.round.claim(container).cpus

    def _held(self, container: Container) -> CPUMask | None:
        return self.round.state.assigned(self.round.request.pod.uid, container.name)

    def _ended(self, container: Container) -> bool:
        return container.kind is ContainerKind.INIT and self._held(container) is None

    @property
    def _free(self) -> CPUMask:
        return self.round.state.default & ~self.round.policy.reserved & ~self.withheld

    def _candidates(self, container: Container) -> _Candidates | None:
        """Return the CPUs that a container may get; None for one that does not change."""
        held, count = self._held(container), self._count(container)
        if held is None or not count or count == held.bit_count():
            return None
        if count > held.bit_count():
            return _Candidates(held, self._free)
        baseline = self.round.container_cpus(container).baseline
        return _Candidates(baseline, held & ~baseline)

    def _outside(self, container: Container) -> Rejected | None:
        """Refuse a container that does not have all CPUs it was promised."""
        held, baseline = self._held(container), self.round.container_cpus(container).baseline
        if held is None or not baseline & ~held:
            return None
        why = not_a_subset(RETAINED, baseline, "reusable CPUs", held)
        return cannot_allocate(self.round.request.pod.uid, container.name, why)

    def _leave(self, container: Container) -> None:
        self.round.state.call_off(self.round.request.pod.uid, container.name)
        self.round.record(container, self._held(container) or NO_CPUS)
        if self._ended(container):
            count, container_cpus = self._count(container), self.round.container_cpus(container)
            fresh = allocate_resized(self.round.policy, container_cpus, count, None)
            self.withheld |= fresh.cpus if isinstance(fresh, Picked) else NO_CPUS

    def _pod_hints(self) -> CPUAnswer:
        """Return hints for the whole pod, out of what it keeps, what it may give up, and what is free."""
        containers = [each for each in self.round.request.pod.all_containers if not self._ended(each)]
        kept, others = NO_CPUS, self._free
        for container in containers:
            candidates = self._candidates(container)
            kept |= (self._held(container) or NO_CPUS) if candidates is None else candidates.kept
            others |= NO_CPUS if candidates is None else candidates.others
        return self._hints(_Candidates(kept, others & ~kept), pod_count(containers, self._count))

    def _hints(self, candidates: _Candidates, count: int) -> CPUAnswer:
        policy = self.round.policy
        align = policy.options.align_by_socket
        return {
            "cpu": CPUHints.generate(
                policy.topology, candidates.others, candidates.kept, count, align_by_socket=align
            )
        }

    def _resize_container(
        self, container: Container, candidates: _Candidates, affinity: NodeMask | None
    ) -> Rejected | KubeletFault | None:
        count, held = self._count(container), self._held(container)
        assert held is not None  # it has candidates
        refused = self.round.policy.smt_refusal(self.round.state, container, count, own=held.bit_count())
        if refused is not None:
            return refused
        few = too_few(count, self.round.container_cpus(container))
        picked = few or self._pick(candidates, count, affinity)
        if isinstance(picked, AllocationError):
            return cannot_allocate(self.round.request.pod.uid, container.name, picked.message)
        self.round.take(container, picked.cpus)
        self.round.record(container, picked.cpus, picked.steps)
        return None

    def _pick(
        self, candidates: _Candidates, count: int, affinity: NodeMask | None
    ) -> Picked | AllocationError:
        """Complete the kept CPUs, near the affinity first."""
        if count > (candidates.kept | candidates.others).bit_count():
            return not_enough(count, candidates.kept | candidates.others)
        others = candidates.others
        near = others if affinity is None else others & self.round.policy.near(affinity)
        first = self._complete(near, min(count, (candidates.kept | near).bit_count()), candidates.kept)
        rest = self._complete(others, count, first.cpus)
        return Picked(rest.cpus, first.steps + tuple(step for step in rest.steps if step.rule != KEPT))

    def _complete(self, others: CPUMask, count: int, kept: CPUMask) -> Picked:
        """Complete the kept CPUs from others, of which there are enough."""
        policy = self.round.policy
        picked = complete(policy, others | kept, count, kept)
        if not isinstance(picked, Picked):
            # If equal shares are impossible, packed CPUs are better than none.
            picked = complete_packed(policy.topology, others | kept, count, kept)
        assert isinstance(picked, Picked)
        return picked
