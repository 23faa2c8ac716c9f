"""The answer of ``cpuctl resize`` as a plain document (schema: ``cpuctl schema resize``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cpuctl.cli.answers.config.parts import start_answer
from cpuctl.cli.answers.plan.plan_answer import (
    after_answer,
    cpu_list,
    node_answer,
    round_answer,
    verdict_answer,
)
from cpuctl.cli.answers.resize.inside_answer import inside_answer
from cpuctl.cli.answers.resize.parts import (
    cgroup_answer,
    container_answer,
    cores_answer,
    resources_answer,
    scheduler_answer,
)
from cpuctl.cli.output import API_VERSION, Document
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

SOURCE = "KEP-5554"


def resize_document(resizes: Resizes, head: Mapping[str, Any], warnings: Iterable[str]) -> Document:
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
        "pods": [_pod(each, resizes) for each in resizes.done],
        "retryOrder": _retry_order(outcomes, path),
        "cores": cores_answer(node.topology, outcomes),
        "after": after_answer(node) | {"cpuManagerState": resizes.state_file or None},
        "warnings": list(warnings),
    }


def not_started_document(start: NotStarted, head: Mapping[str, Any]) -> Document:
    """Describe a kubelet that does not start, or of which that cannot be said."""
    return {"apiVersion": API_VERSION, "kind": "Resize", **head, "start": start_answer(start), "pods": []}


def _allocator(resizes: Resizes) -> dict[str, Any]:
    """Tell whether exclusive CPUs can follow at all, and if so, that no release does it yet."""
    rules = resizes.path.kubelet
    available = rules.allocates and resizes.node.policy is not None
    return {
        "available": available,
        "standing": "preview" if available else None,
        "source": SOURCE if available else None,
        "semantics": str(resizes.path.semantics) if available else None,
        "whyNot": None if available else _why_not(resizes),
    }


def _why_not(resizes: Resizes) -> str:
    rules = resizes.path.kubelet
    if resizes.node.policy is None:
        return POLICY_NONE
    if not rules.exclusive_cpus and rules.release.managers_refuse_resizes:
        return f"{EXCLUSIVE_CPUS} is off"
    return f"kubelet 1.{rules.minor} has none: {SOURCE} brings it"


def _pod(attempted: Attempted, resizes: Resizes) -> dict[str, Any]:
    outcome, rules, node = attempted.outcome, resizes.path.kubelet, resizes.node
    request, pod = outcome.request, outcome.request.desired
    change = cgroup_change(outcome, resizes.settings, node.pod_rules)
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "origin": str(pod.origin),
        "qosClass": str(pod_qos(node.pod_rules.view(pod)).qos_class),
        **decision_document(attempted, rules.release),
        "preview": outcome.preview,
        "attempts": attempted.attempts,
        "generation": request.generation,
        "conditions": [_condition(each) for each in conditions_of(outcome, rules)],
        "statusResize": legacy_status(outcome, rules) or None,
        "podLevel": None if pod.resources is None else _pod_level(outcome),
        "cgroup": cgroup_answer(change, POD),
        "scheduler": scheduler_answer(counted(outcome, rules)),
        "hints": [round_answer(asked) for asked in outcome.asked],
        "containers": [
            container_answer(outcome, each, node, rules) | {"cgroup": cgroup_answer(change, each.name)}
            for each in request.running.allocated.all_containers
        ],
        "downwardAPI": inside_answer(outcome, node, rules),
    }


def decision_document(attempted: Attempted, release: Behaviours) -> dict[str, Any]:
    """Describe a decision and, where that is a preview, how its reference implementation departs from it."""
    return {
        **_decision(attempted.outcome, release),
        "departures": [str(each) for each in attempted.outcome.departures],
        "reference": None if attempted.reference is None else _reference(attempted.reference),
    }


def _decision(outcome: ResizeOutcome, release: Behaviours) -> dict[str, Any]:
    told = verdict_answer(outcome.verdict)
    return {
        "outcome": str(outcome.ruling),
        "decidedBy": str(outcome.judge),
        "reason": outcome.reason or None,
        "message": outcome.message or None,
        "needsGate": gate_needed(outcome.message, release) or None,
        "container": told.get("container") or None,
        "details": told.get("details", {}),
        "where": told.get("where"),
    }


def _reference(outcome: ResizeOutcome) -> dict[str, Any]:
    return {
        "outcome": str(outcome.ruling),
        "reason": outcome.reason or None,
        "message": outcome.message or None,
        "cpus": {
            name: None if share.after is None else cpu_list(share.after)
            for name, share in outcome.shares.items()
        },
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "type": condition.type,
        "status": "True",
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }


def _pod_level(outcome: ResizeOutcome) -> dict[str, Any]:
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
