"""The answer of ``cpuctl resize`` as a plain document (schema: ``cpuctl schema resize``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.plan.plan_answer import (
    after_answer,
    cpu_list,
    node_answer,
    round_answer,
    verdict_answer,
)
from cpuctl.answering.resize.inside_answer import inside_answer
from cpuctl.answering.resize.parts import (
    cgroup_answer,
    container_answer,
    cores_answer,
    resources_answer,
    scheduler_answer,
)
from cpuctl.engine.placement import POLICY_NONE
from cpuctl.engine.resize.effects import cgroup_change, changed_amounts, counted
from cpuctl.engine.resize.handler import ResizePath
from cpuctl.engine.resize.obstacles import gate_needed
from cpuctl.engine.resize.outcome import Condition, ResizeOutcome, Ruling, conditions_of, legacy_status
from cpuctl.engine.resize.pending import Attempted, retry_order
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS
from cpuctl.engine.resize.running import POD
from cpuctl.engine.start import NotStarted
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.operations.resize import Resizes
from cpuctl.pods.qos import pod_qos

if TYPE_CHECKING:
    from cpuctl.answers import resize as answers
    from cpuctl.answers.start import PlanningHead

    FixFor = Callable[[answers.ResizeDecision], str]
    """Writes the option that switches on what a resize lacks; nothing where it lacks nothing."""

SOURCE = "KEP-5554"


def resize_document(resizes: Resizes, head: PlanningHead, fix_for: FixFor) -> answers.DecidedResize:
    """Describe every decision in the order asked for, and the node afterwards."""
    node, path = resizes.node, resizes.path
    outcomes = [each.outcome for each in resizes.done]
    return {
        "apiVersion": API_VERSION,
        "kind": "Resize",
        **head,
        "start": {"outcome": "Started"},
        "node": node_answer(node),
        "allocator": _allocator(resizes),
        "pods": [_pod(each, resizes, fix_for) for each in resizes.done],
        "retryOrder": _retry_order(outcomes, path),
        "cores": cores_answer(node.topology, outcomes),
        "after": {**after_answer(node), "cpuManagerState": resizes.state_file or None},
        "warnings": list(resizes.warnings),
    }


def not_started_document(start: NotStarted, head: PlanningHead) -> answers.NotStartedResize:
    """Describe a kubelet that does not start, or of which that cannot be said."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Resize",
        **head,
        "start": not_started_answer(start),
        "pods": [],
    }


def _allocator(resizes: Resizes) -> answers.Allocator:
    """Tell whether exclusive CPUs can follow at all, and if so, that no release does it yet."""
    rules = resizes.path.kubelet
    if rules.allocates and resizes.node.policy is not None:
        return {
            "available": True,
            "standing": "preview",
            "source": SOURCE,
            "semantics": resizes.path.semantics.value,
            "whyNot": None,
        }
    return {
        "available": False,
        "standing": None,
        "source": None,
        "semantics": None,
        "whyNot": _why_not(resizes),
    }


def _why_not(resizes: Resizes) -> str:
    rules = resizes.path.kubelet
    if resizes.node.policy is None:
        return POLICY_NONE
    if not rules.exclusive_cpus and rules.release.managers_refuse_resizes:
        return f"{EXCLUSIVE_CPUS} is off"
    return f"kubelet 1.{rules.minor} has none: {SOURCE} brings it"


def _pod(attempted: Attempted, resizes: Resizes, fix_for: FixFor) -> answers.ResizedPod:
    outcome, rules, node = attempted.outcome, resizes.path.kubelet, resizes.node
    request, pod = outcome.request, outcome.request.desired
    change = cgroup_change(outcome, resizes.settings, node.pod_rules)
    decision = decision_document(attempted, rules.release)
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "origin": str(pod.origin),
        "qosClass": pod_qos(node.pod_rules.view(pod)).qos_class.value,
        **decision,
        "preview": outcome.preview,
        "attempts": attempted.attempts,
        "generation": request.generation,
        "conditions": [_condition(each) for each in conditions_of(outcome, rules)],
        "statusResize": legacy_status(outcome, rules),
        "podLevel": None if pod.resources is None else _pod_level(outcome),
        "cgroup": cgroup_answer(change, POD),
        "scheduler": scheduler_answer(counted(outcome, rules)),
        "hints": [round_answer(asked) for asked in outcome.asked],
        "containers": [
            container_answer(outcome, each, node, change, rules)
            for each in request.running.allocated.all_containers
        ],
        "downwardAPI": inside_answer(outcome, node, rules),
        "fix": fix_for(decision) or None,
    }


def decision_document(attempted: Attempted, release: Behaviours) -> answers.ResizeDecision:
    """Describe a decision and, where that is a preview, how its reference implementation departs from it."""
    outcome = attempted.outcome
    verdict = verdict_answer(outcome.verdict)
    return {
        "outcome": outcome.ruling.value,
        "decidedBy": outcome.judge.value,
        "reason": outcome.reason or None,
        "message": outcome.message or None,
        "needsGate": gate_needed(outcome.message, release) or None,
        "container": verdict.get("container") or None,
        "details": verdict.get("details", {}),
        "where": verdict.get("where"),
        "departures": [str(each) for each in outcome.departures],
        "reference": None if attempted.reference is None else _reference(attempted.reference),
    }


def _reference(outcome: ResizeOutcome) -> answers.Reference:
    return {
        "outcome": outcome.ruling.value,
        "reason": outcome.reason or None,
        "message": outcome.message or None,
        "cpus": {
            name: None if share.after is None else cpu_list(share.after)
            for name, share in outcome.shares.items()
        },
    }


def _condition(condition: Condition) -> answers.Condition:
    return {
        "type": condition.type,
        "status": "True",
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }


def _pod_level(outcome: ResizeOutcome) -> answers.PodLevel:
    return {
        "changed": bool(changed_amounts(outcome.request, POD)),
        "resources": resources_answer(outcome, POD),
    }


def _retry_order(outcomes: Sequence[ResizeOutcome], path: ResizePath) -> list[str] | None:
    """Name the pods that wait in the order in which they are tried again, where releases have one."""
    if not path.kubelet.release.orders_pending_resizes:
        return None
    waiting = [each.request for each in outcomes if each.ruling is Ruling.DEFERRED]
    return [request.desired.full_name for request in retry_order(waiting, path)]
