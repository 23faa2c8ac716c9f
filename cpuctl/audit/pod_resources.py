"""The kubelet's answers (its pod resources API) compared with its state files, for an audit of its node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.audit.commands import RESTART
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.kubelet_state import is_gone
from cpuctl.diagnostics import Severity
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.engine.state_checks.answer_findings import SavedStates
    from cpuctl.machine.pod_resources.model import PodAllocation

_STATIC = "static"


def check_answers(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Compare every pod that the kubelet lists, and the CPUs that it reports as allocatable."""
    if snapshot.answers is None:
        return
    uids = _uids(snapshot)
    unnamed = unnamed_pods(snapshot)
    for pod in snapshot.answers.answered_pods:
        if pod.full_name in uids or not unnamed:
            yield from _pod(snapshot, pod, uids.get(pod.full_name, ""))
    yield from _unlisted(snapshot)
    yield from _allocatable(snapshot)


def unnamed_pods(snapshot: NodeSnapshot) -> bool:
    """Return whether files give something to pods with unknown names: the answer has names only."""
    return any(snapshot.pod_name(uid) == uid for uid in _saved_uids(snapshot))


def _saved_uids(snapshot: NodeSnapshot) -> frozenset[str]:
    state = snapshot.state
    devices = state.devices.entries if state.devices else ()
    memory = state.memory.entries if state.memory else {}
    return frozenset({*state.entries, *memory, *(entry.pod_uid for entry in devices)})


def _uids(snapshot: NodeSnapshot) -> Mapping[str, str]:
    """Return UIDs by pod name; of two pods with one name the one that has a control group now."""
    known = snapshot.pods.keys() | _saved_uids(snapshot)
    return {snapshot.pod_name(uid): uid for uid in (*sorted(known), *sorted(snapshot.uids))}


def _unlisted(snapshot: NodeSnapshot) -> Iterator[Finding]:
    """Report pods that exist and are in the state, but that the kubelet does not list."""
    if snapshot.answers is None or snapshot.answers.pods is None:
        return
    listed = {pod.full_name for pod in snapshot.answers.pods}
    for uid, held in snapshot.held.items():
        name = snapshot.pod_name(uid)
        if name in {uid, *listed} or is_gone(snapshot, uid, snapshot.pods.get(uid)):
            continue
        yield Finding(
            severity=Severity.WARNING,
            code="pod-not-listed",
            place=NodePart(name),
            message=f"the kubelet does not list it, but {CPU_FILE} gives it CPUs {held}",
            expected=str(held),
            detected="not listed",
        )


def _pod(snapshot: NodeSnapshot, pod: PodAllocation, uid: str) -> Iterator[Finding]:
    from cpuctl.engine.state_checks.answer_findings import answer_gaps

    for gap in answer_gaps(pod, uid, _saved(snapshot)):
        yield Finding(
            severity=Severity.ERROR,
            code="answer-differs",
            place=NodePart(f"{pod.full_name}/{gap.container}"),
            message=gap.message,
            expected=gap.saved,
            detected=gap.listed,
        )


def _saved(snapshot: NodeSnapshot) -> SavedStates:
    from cpuctl.engine.state_checks.answer_findings import SavedStates

    state = snapshot.state
    return SavedStates(state.cpu, state.memory, state.devices)


def _allocatable(snapshot: NodeSnapshot) -> Iterator[Finding]:
    listed = snapshot.answers.allocatable if snapshot.answers else None
    guaranteed = snapshot.machine.online - snapshot.configured.reserved
    if listed is None or snapshot.configured.policy != _STATIC or listed == guaranteed:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="allocatable-differs",
        place=NodePart("allocatable CPUs"),
        message=f"the kubelet reports {listed or 'none'}, but its configuration leaves {guaranteed} on "
        "this machine: one of them has changed since the kubelet started",
        expected=str(guaranteed),
        detected=str(listed) or "none",
        fix=RESTART,
    )
