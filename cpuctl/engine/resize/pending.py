"""Several resizes on one node: pending ones are retried, in the kubelet's order.

Rule: ``sortPendingResizes`` and ``retryPendingResizes`` of ``pkg/kubelet/allocation`` (1.34). A kubelet
retries every three minutes, and whenever a pod is added, removed, changed or has been resized.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Verdict
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.missing_gates import MissingGate, missing_gates
from cpuctl.engine.resize.outcome import ResizeOutcome, ResizeResult
from cpuctl.engine.resize.running import PodResize
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.pods.model import QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_NOTHING = Quantity()


class RetriedResize(Record):
    """The outcome of a resize after ``attempts`` attempts.

    ``reference`` is the reference implementation's answer to the first attempt, if it differs. ``missing``
    are the gates that would let a refused resize through, in the order in which they are missed.
    """

    outcome: ResizeOutcome
    reference: ResizeOutcome | None
    attempts: int = 1
    missing: tuple[MissingGate, ...] = ()


def resize_all(node: Node, requests: Iterable[PodResize], path: ResizePath) -> list[RetriedResize]:
    """Resize pods that run on *node*, in the order given; after each granted one, retry those that wait."""
    done: list[RetriedResize] = []
    for request in requests:
        before = node.copy()
        outcome = decide(node, request, path)
        missing = missing_gates(before, outcome, path)
        done.append(RetriedResize(outcome, _reference(before, outcome, path), missing=missing))
        while outcome.result.accepted and _retry(node, done, path):
            pass
    return done


def _reference(before: Node, outcome: ResizeOutcome, path: ResizePath) -> ResizeOutcome | None:
    """Ask the reference implementation, if the KEP's text requires something else."""
    if not outcome.departures:
        return None
    return decide(before, outcome.request, replace(path, semantics=Semantics.REFERENCE))


def _retry(node: Node, done: list[RetriedResize], path: ResizePath) -> bool:
    """Retry all pending resizes; return whether one of them was granted."""
    granted = False
    waiting = {each.outcome.request.desired.uid: index for index, each in enumerate(done) if _waits(each)}
    for request in retry_order([done[index].outcome.request for index in waiting.values()], path):
        index = waiting[request.desired.uid]
        outcome = decide(node, request, path)
        done[index] = replace(done[index], outcome=outcome, attempts=done[index].attempts + 1)
        granted |= outcome.result.accepted
    return granted


def _waits(attempted: RetriedResize) -> bool:
    return attempted.outcome.result is ResizeResult.DEFERRED


def retry_order(waiting: Sequence[PodResize], path: ResizePath) -> list[PodResize]:
    """Sort pending resizes into the order in which they are retried.

    First those that do not request more than the pod has, then by priority, then Guaranteed pods, then
    those that have waited longest; *waiting* is in order of arrival, which breaks ties.
    """
    if not path.kubelet.release.orders_pending_resizes:
        return list(waiting)
    level = path.kubelet.pod_level_resources

    def rank(request: PodResize) -> tuple[bool, int, bool, bool, str]:
        since = request.running.waiting_since
        return (
            _requests_more(request, pod_level=level),
            -(request.desired.priority or 0),
            pod_qos(request.desired, pod_level=level).qos_class is not QosClass.GUARANTEED,
            not since,
            since,
        )

    return sorted(waiting, key=rank)


def _requests_more(request: PodResize, *, pod_level: bool) -> bool:
    old, new = (
        pod_requests(pod, pod_level=pod_level) for pod in (request.running.allocated, request.desired)
    )
    return any(old.get(name, _NOTHING) < new.get(name, _NOTHING) for name in ("cpu", "memory"))


def refused_after_restart(node: Node, uids: Collection[str]) -> dict[str, Verdict]:
    """Return the verdicts on these pods that a restarted kubelet does not readmit; *node* stays unchanged."""
    trial = node.copy()
    readmitted = trial.readmit(list(trial.active.values())) if uids else ()
    return {
        admission.pod.uid: admission.verdict
        for admission in readmitted
        if admission.pod.uid in uids and not isinstance(admission.verdict, Admitted)
    }
