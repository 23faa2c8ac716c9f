"""The answer of ``cpuctl resize`` as a plain document (schema: ``cpuctl schema resize``).

Rule for the values that containers read: kubelet 1.27 to 1.36. Volumes are written from the pod's spec at
every sync, regardless of the granted resources (``volumemanager/populator``); variables are set when a
container starts, from the resources allocated at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.plan_answer import (
    after_answer,
    cpu_list,
    node_answer,
    round_answer,
    verdict_answer,
)
from cpuctl.answering.pods.downward_answer import downward_context, file_answer, value_answer, variable_answer
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.node import Node
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.engine.resize.effects import (
    CgroupChange,
    ScheduledAmounts,
    cgroup_change,
    changed_amounts,
    counted,
    restarting,
)
from cpuctl.engine.resize.handler import ResizePath
from cpuctl.engine.resize.missing_gates import MissingGate
from cpuctl.engine.resize.outcome import (
    Condition,
    CPUShare,
    Obstacle,
    ResizeOutcome,
    ResizeResult,
    conditions_of,
    legacy_status,
)
from cpuctl.engine.resize.pending import RetriedResize, retry_order
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, ResizeRules
from cpuctl.engine.resize.running import POD, RESIZABLE, requirements
from cpuctl.exports.outcomes import splits_core
from cpuctl.golang.durations import duration_text
from cpuctl.operations.resize import Resizes
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.cgroups.files import WeightFormula
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.pods.downward_api import DownwardContext, DownwardValue, downward_value
from cpuctl.pods.manifest import is_of_deployment, owner_of
from cpuctl.pods.model import Container, ResourceFieldRef, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers import resize as answers
    from cpuctl.answers.downward import Reread, Rereading
    from cpuctl.answers.start import NextPart, PlanningHeader, UnstartedHeader
    from cpuctl.operations.configuration import NotStartedOutcome

    FixFor = Callable[[Sequence[MissingGate]], str]
    """Writes the options that enable missing gates, if any."""


SOURCE = "KEP-5554"
RECREATE = "kubectl replace --force -f FILE"
"""Deletes a pod, or a Job, whose template cannot be changed, and creates it again from a file."""
ROLL_OUT = "kubectl apply -f FILE"
"""Changes the template of a workload, which recreates its pods."""
EDIT = "kubectl edit "
_ROLLED_OUT = ("Deployment", "StatefulSet", "DaemonSet")
_REPLACED_BY_HAND = ("ReplicaSet", "ReplicationController")
"""Controllers that create pods from a changed template, but keep those that run."""
_EDITED = {"VirtualMachineInstance.kubevirt.io": "VirtualMachine.kubevirt.io"}
"""Owners that are themselves created from an object of the same name."""


def resize_document(
    resizes: Resizes, header: PlanningHeader, fix_for: FixFor, capacity: str = ""
) -> answers.DecidedResize:
    """Describe every decision in the requested order, and the node afterwards.

    *capacity* is the command that shows what else fits on the node, if there is one.
    """
    node, path = resizes.node, resizes.path
    outcomes = [each.outcome for each in resizes.done]
    pods = [resized_pod(each, resizes, fix_for(each.missing)) for each in resizes.done]
    return {
        "apiVersion": API_VERSION,
        "kind": "Resize",
        **header,
        "start": {"outcome": "Started"},
        "node": node_answer(node),
        "allocator": _allocator(resizes),
        **_following(pods, outcomes, capacity),
        "pods": pods,
        "retryOrder": _retry_order(outcomes, path),
        "cores": cores_answer(node.topology, outcomes),
        "after": {**after_answer(node), "cpuManagerState": resizes.state_file or None},
        "warnings": list(resizes.warnings),
    }


def _following(
    pods: Sequence[answers.ResizedPod], outcomes: Sequence[ResizeOutcome], capacity: str
) -> NextPart:
    """Return the command for refused resizes, unless a gate or another number of CPUs would do."""
    refused = [
        each
        for pod, each in zip(pods, outcomes, strict=True)
        if each.obstacle and not pod["fix"] and not splits_core(pod["details"])
    ]
    unchangeable = [each.request.running.spec for each in refused if each.obstacle is Obstacle.POD]
    if unchangeable:
        command = next(filter(None, map(_recreation, unchangeable)), "")
        return {"next": command} if command else {}
    return {"next": capacity} if capacity and refused else {}


def _recreation(pod: StoredPod) -> str:
    """Return the command that recreates a pod with other resources, or first changes them in its owner.

    Empty if it is a static pod: its manifest is a file of the node.
    """
    owner = owner_of(pod)
    if not owner:
        return "" if pod.static else RECREATE
    kind, _, name = owner.partition("/")
    if kind in _ROLLED_OUT or is_of_deployment(pod) or (kind in _REPLACED_BY_HAND and pod.owner):
        # The names of pods that were read from a workload are not known.
        return ROLL_OUT
    if kind in _REPLACED_BY_HAND:
        return f"{ROLL_OUT} && kubectl delete pod -n {quote(pod.namespace)} {quote(pod.name)}"
    if kind == "Job":
        return RECREATE
    if kind == "Node":
        return ""
    edited = _EDITED.get(kind, kind).lower()
    return f"{EDIT}-n {quote(pod.namespace)} {quote(f'{edited}/{name}')}"


def not_started_document(
    start: NotStartedOutcome, header: UnstartedHeader, check: str = ""
) -> answers.NotStartedResize:
    """Describe a kubelet that does not, or might not, start; *check* is the command that shows the fix."""
    from cpuctl.answering.config.starts import not_started_answer

    following: NextPart = {"next": check} if check else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Resize",
        **header,
        "start": not_started_answer(start),
        **following,
        "pods": [],
    }


def _allocator(resizes: Resizes) -> answers.Allocator:
    """Describe whether exclusive CPUs can follow, and if so, that no release supports it."""
    rules = resizes.path.kubelet
    if rules.allocates and resizes.node.policy is not None:
        return {
            "available": True,
            "status": "preview",
            "source": SOURCE,
            "semantics": resizes.path.semantics.value,
            "whyNot": None,
        }
    return {
        "available": False,
        "status": None,
        "source": None,
        "semantics": None,
        "whyNot": _why_not(resizes),
    }


def _why_not(resizes: Resizes) -> str:
    rules = resizes.path.kubelet
    if resizes.node.policy is None:
        return POLICY_NONE
    if rules.has_allocator:
        return f"{EXCLUSIVE_CPUS} is off"
    return f"kubelet 1.{rules.minor} cannot change them (see {SOURCE})"


def resized_pod(attempted: RetriedResize, resizes: Resizes, fix: str = "") -> answers.ResizedPod:
    """Describe the decision on one pod and its effects; *fix* are options that enable the missing gates."""
    outcome, rules, node = attempted.outcome, resizes.path.kubelet, resizes.node
    request, pod = outcome.request, outcome.request.desired
    change = cgroup_change(outcome, resizes.settings, node.pod_rules)
    decision = decision_document(attempted)
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
        "hints": [round_answer(requested) for requested in outcome.hint_rounds],
        "containers": [
            container_answer(outcome, each, node, change, rules)
            for each in request.running.allocated.all_containers
        ],
        "downwardAPI": inside_answer(outcome, node, rules),
        "fix": fix or None,
    }


def decision_document(attempted: RetriedResize) -> answers.ResizeDecision:
    """Describe a decision and, for a preview, how the reference implementation differs from it."""
    outcome = attempted.outcome
    verdict = verdict_answer(outcome.verdict)
    return {
        "outcome": outcome.result.value,
        "decidedBy": outcome.decided_by.value,
        "reason": outcome.reason or None,
        "message": outcome.message or None,
        "needsGate": attempted.missing[0].name if attempted.missing else None,
        "container": verdict.get("container") or None,
        "details": verdict.get("details", {}),
        "where": verdict.get("where"),
        "departures": [str(each) for each in outcome.departures],
        "reference": None if attempted.reference is None else _reference(attempted.reference),
    }


def _reference(outcome: ResizeOutcome) -> answers.Reference:
    return {
        "outcome": outcome.result.value,
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
    """Name the waiting pods in the order of their retries, if releases have one."""
    if not path.kubelet.release.orders_pending_resizes:
        return None
    waiting = [each.request for each in outcomes if each.result is ResizeResult.DEFERRED]
    return [request.desired.full_name for request in retry_order(waiting, path)]


def container_answer(
    outcome: ResizeOutcome, container: Container, node: Node, change: CgroupChange, rules: ResizeRules
) -> answers.ResizedContainer:
    """Describe one container: its resources, whether it restarts, its exclusive CPUs or why it has none.

    Containers of a pod that is not on the node have neither.
    """
    share = outcome.shares.get(container.name)
    pod = node.active.get(outcome.request.running.allocated.uid, outcome.request.running.allocated)
    there = pod.uid in node.active
    now = next((each for each in pod.all_containers if each.name == container.name), container)
    if share is not None and not rules.exclusive_cpus:
        share = replace(share, baseline=None)  # without the gate nothing is promised
    restarts = restarting(outcome.request, container.name, rules)
    return {
        "name": container.name,
        "kind": container.kind.value,
        "changed": bool(changed_amounts(outcome.request, container.name)),
        "restarts": [resource for resource in RESIZABLE if resource in restarts],
        "resources": resources_answer(outcome, container.name),
        "isolation": (
            isolation_of(
                now,
                assigned=node.state.assigned(pod.uid, container.name) is not None,
                divided=pod.uid in node.state.pod_entries,
            ).value
            if there
            else None
        ),
        "whyShared": (node.why_shared(pod, now) or None) if there else None,
        "cpus": None if share is None else _cpus(outcome, container.name, share, node.topology),
        "cgroup": cgroup_answer(change, container.name),
    }


def resources_answer(outcome: ResizeOutcome, container: str) -> answers.States:
    """Describe resources right after the decision: the granted ones have not been actuated."""
    running, desired = outcome.request.running, outcome.request.desired
    if outcome.result is ResizeResult.FORBIDDEN:
        desired = running.spec
    allocated = desired if outcome.result.accepted else running.allocated
    return {
        "before": _amounts(running.allocated, container),
        "requested": _amounts(outcome.request.desired, container),
        "desired": _amounts(desired, container),
        "allocated": _amounts(allocated, container),
        "actuated": _amounts(running.actuated, container),
        "actual": _amounts(running.actual, container),
    }


def _amounts(pod: StoredPod, container: str) -> answers.Resources:
    resources = requirements(pod).get(container)
    if resources is None:
        return {"requests": {}, "limits": {}}
    return {"requests": _texts(resources.requests), "limits": _texts(resources.limits)}


def _texts(amounts: Mapping[str, Quantity]) -> answers.Amounts:
    texts: answers.Amounts = {}
    for name in RESIZABLE:
        if name in amounts:
            texts[name] = str(amounts[name])
    return texts


def _cpus(outcome: ResizeOutcome, name: str, share: CPUShare, topology: CPUTopology) -> answers.ResizedCPUs:
    before, after, guaranteed = share.before or 0, share.after or 0, share.baseline
    steps = [step for placed in outcome.placements if placed.container.name == name for step in placed.steps]
    return {
        "before": None if share.before is None else cpu_list(before),
        "after": None if share.after is None else cpu_list(after),
        "baseline": None if guaranteed is None else cpu_list(guaranteed),
        "kept": cpu_list(before & after),
        "added": cpu_list(after & ~before),
        "removed": cpu_list(before & ~after),
        "counts": {"before": before.bit_count(), "after": after.bit_count()},
        "matchesRequest": name not in outcome.unfollowed,
        "numaNodes": [number for number, mask in topology.numa_nodes.items() if mask & after],
        "releasedAfter": duration_text(outcome.delay) if outcome.delay and before & ~after else None,
        "steps": [{"rule": step.rule, "cpus": cpu_list(step.cpus)} for step in steps],
    }


def cores_answer(topology: CPUTopology, outcomes: Iterable[ResizeOutcome]) -> list[answers.Core]:
    """List the cores of all NUMA nodes on which resized containers are, were, or were promised CPUs."""
    cpus = 0
    for outcome in outcomes:
        for share in outcome.shares.values():
            cpus |= (share.before or 0) | (share.after or 0) | (share.baseline or 0)
    return [
        {"numaNode": number, "core": core, "cpus": list(CPUSet(mask & node))}
        for number, node in topology.numa_nodes.items()
        if node & cpus
        for core, mask in topology.cores.items()
        if mask & node
    ]


def scheduler_answer(counts: ScheduledAmounts) -> answers.Scheduled:
    """Describe the resources that the scheduler counts for the pod."""
    return {
        "before": _texts(counts.before),
        "during": _texts(counts.meanwhile),
        "after": _texts(counts.settled),
    }


def cgroup_answer(change: CgroupChange, name: str) -> answers.Cgroups:
    """Describe the cgroup of a container, or without one of the pod, before and after."""
    before = change.before[name]
    return {"before": _cgroup(before), "after": _cgroup(change.after.get(name, before))}


def _cgroup(values: CgroupValues) -> answers.Cgroup:
    return {
        "cpuShares": values.shares,
        "cpuWeight": {
            "linear": WeightFormula.LINEAR.weight(values.shares),
            "quadratic": WeightFormula.CURVED.weight(values.shares),
        },
        "cpuQuota": values.quota,
        "cpuPeriod": values.period,
        "memoryLimit": values.memory,
    }


_STAYS = "variables stay unchanged until their container restarts"
_RESTARTS = "its container restarts"
_NOT_GRANTED = "volumes show what is requested, whether granted or not"


def inside_answer(outcome: ResizeOutcome, node: Node, rules: ResizeRules) -> list[Rereading]:
    """Describe every variable and file that shows resources, before and after."""
    refs = outcome.request.running.spec.field_refs
    if not refs:
        return []
    before, after = (downward_context(node, _held(outcome, node, after=each)) for each in (False, True))
    return [_reread(outcome, ref, node, rules, (before, after)) for ref in refs]


def _reread(
    outcome: ResizeOutcome,
    ref: ResourceFieldRef,
    node: Node,
    rules: ResizeRules,
    inside: tuple[DownwardContext, DownwardContext],
) -> Rereading:
    running, note = outcome.request.running, ""
    desired = running.spec if outcome.result is ResizeResult.FORBIDDEN else outcome.request.desired
    old = new = running.spec if ref.in_file else running.allocated
    if ref.in_file:
        new = desired
    elif outcome.result.accepted and restarting(outcome.request, ref.reader, rules):
        new, note = desired, _RESTARTS

    def value_in(pod: StoredPod, by: DownwardContext) -> DownwardValue:
        return downward_value(node.pod_rules.view(pod), ref, by)

    before, after = value_in(old, inside[0]), value_in(new, inside[1])
    if not ref.in_file and not note and value_in(desired, inside[1]).text != after.text:
        note = _STAYS
    elif ref.in_file and before.text != after.text and not outcome.result.accepted:
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
    """Return containers' exclusive CPUs (masks) as the CPU Manager should assign them; 0 in a pod's pool."""
    pod = outcome.request.running.allocated
    held = {}
    for container in pod.all_containers:
        share = outcome.shares.get(container.name)
        cpus = None if share is None else share.after if after and outcome.result.accepted else share.before
        level = isolation_of(container, assigned=cpus is not None, divided=pod.uid in node.state.pod_entries)
        held[container.name] = (cpus or 0) if level is Isolation.CONTAINER else 0
    return held
