"""What a pod's containers read of resources before and after a resize, as a plain document.

Rule: kubelet 1.27 to 1.36. Volumes are written from the pod's spec at every sync, whatever has been granted
(``volumemanager/populator``); variables are set when a container starts, from what is allocated then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering.pods.downward_answer import file_answer, value_answer, variable_answer
from cpuctl.engine.inside import inside_of
from cpuctl.engine.node import Node
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.engine.resize.effects import restarting
from cpuctl.engine.resize.outcome import ResizeOutcome, Ruling
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.pods.downward_api import DownwardValue, Inside, tell
from cpuctl.pods.model import ResourceFieldRef, StoredPod

if TYPE_CHECKING:
    from cpuctl.answers.downward import Reread, Rereading

_STAYS = "variables stay as they are until their container starts again"
_RESTARTS = "its container starts again"
_NOT_GRANTED = "volumes tell what is asked for, granted or not"


def inside_answer(outcome: ResizeOutcome, node: Node, rules: ResizeRules) -> list[Rereading]:
    """Describe every variable and file that tells of resources, before and after."""
    refs = outcome.request.running.spec.field_refs
    if not refs:
        return []
    before, after = (inside_of(node, _held(outcome, node, after=each)) for each in (False, True))
    return [_reference(outcome, ref, node, rules, (before, after)) for ref in refs]


def _reference(
    outcome: ResizeOutcome,
    ref: ResourceFieldRef,
    node: Node,
    rules: ResizeRules,
    inside: tuple[Inside, Inside],
) -> Rereading:
    running, note = outcome.request.running, ""
    desired = running.spec if outcome.ruling is Ruling.FORBIDDEN else outcome.request.desired
    old = new = running.spec if ref.in_file else running.allocated
    if ref.in_file:
        new = desired
    elif outcome.ruling.accepted and restarting(outcome.request, ref.reader, rules):
        new, note = desired, _RESTARTS

    def told(pod: StoredPod, by: Inside) -> DownwardValue:
        return tell(node.pod_rules.view(pod), ref, by)

    before, after = told(old, inside[0]), told(new, inside[1])
    if not ref.in_file and not note and told(desired, inside[1]).text != after.text:
        note = _STAYS
    elif ref.in_file and before.text != after.text and not outcome.ruling.accepted:
        note = _NOT_GRANTED
    reread: Reread = {
        "before": value_answer(before),
        "after": value_answer(after),
        "note": note or None,
    }
    if ref.in_file:
        return {**file_answer(ref), **reread}
    return {**variable_answer(ref), **reread}


def _held(outcome: ResizeOutcome, node: Node, *, after: bool) -> dict[str, int]:
    """Tell the exclusive CPUs of containers (masks) as the CPU Manager is to have them; 0 in a pod's pool."""
    pod = outcome.request.running.allocated
    held = {}
    for container in pod.all_containers:
        share = outcome.shares.get(container.name)
        cpus = None if share is None else share.after if after and outcome.ruling.accepted else share.before
        level = isolation_of(container, assigned=cpus is not None, divided=pod.uid in node.state.pod_entries)
        held[container.name] = (cpus or 0) if level is Isolation.CONTAINER else 0
    return held
