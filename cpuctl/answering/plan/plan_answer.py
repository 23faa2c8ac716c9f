"""The answer of ``cpuctl plan`` as a plain document (schema: ``cpuctl schema plan``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.kubelet_view import topology_counts
from cpuctl.answering.memory_answer import container_memory, memory_left
from cpuctl.answering.plan.warnings_answer import plan_warnings
from cpuctl.answering.topology.devices_answer import container_devices, devices_left
from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.topology_manager import HintRound
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import (
    Admitted,
    Forbidden,
    KubeletFault,
    Pending,
    Rejected,
    Undetermined,
    Verdict,
    Weighing,
)
from cpuctl.engine.placement import Placement

if TYPE_CHECKING:
    from cpuctl.answers import decisions as answers
    from cpuctl.answers.dra import ClaimsPart
    from cpuctl.answers.plan import (
        HeldPart,
        NotStartedPlan,
        PendingCount,
        PlanHeader,
        PlanParts,
        StartedPlan,
        Summary,
        UnstartedPlanHeader,
    )
    from cpuctl.answers.start import NextPart, StaticPolicy
    from cpuctl.engine.alignment import Alignment
    from cpuctl.operations.configuration import NotStartedOutcome

MOST_SETS = 100
"""The maximum number of reported sets that a policy considered."""


def plan_document(
    node: Node, admissions: Sequence[Admission], header: PlanHeader, parts: PlanParts
) -> StartedPlan:
    """Describe a started node, every decision in order, and what is left; *parts* are appended."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        **header,
        "start": {"outcome": "Started"},
        "node": node_answer(node),
        "summary": _summary(node, admissions),
        "pods": [pod_answer(node, each) for each in admissions],
        "after": {
            **after_answer(node),
            **memory_left(node.memory),
            **devices_left(node.devices),
            **_held_by_rejected(node, admissions),
        },
        "warnings": list(plan_warnings(node, admissions)),
        **parts,
    }


def _held_by_rejected(node: Node, admissions: Iterable[Admission]) -> HeldPart:
    """Describe what rejected pods keep for a while: containers got it before the rejection."""
    rejected = [each.pod for each in admissions if isinstance(each.verdict, Rejected)]
    if not rejected:
        return {}

    from cpuctl.answering.plan.held_answer import held_answers

    held = held_answers(node, rejected)
    return {"heldByRejected": held} if held else {}


def claims_answer(node: Node, admission: Admission) -> ClaimsPart:
    """Describe the allocations of an admitted pod's claims, if it has any."""
    if node.claims is None or not isinstance(admission.verdict, Admitted):
        return {}

    from cpuctl.answering.dra_answer import claims_of_pod
    from cpuctl.operations.plan_inputs import claims_of

    claims = claims_of(node)
    return {} if claims is None else claims_of_pod(claims, admission.pod)


def not_started_document(
    start: NotStartedOutcome, header: UnstartedPlanHeader, check: str = ""
) -> NotStartedPlan:
    """Describe a kubelet that does not, or might not, start; *check* is the command that shows the fix."""
    from cpuctl.answering.config.starts import not_started_answer

    following: NextPart = {"next": check} if check else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        **header,
        "start": not_started_answer(start),
        **following,
        "pods": [],
        "warnings": [],
    }


def node_answer(node: Node) -> answers.Node:
    """Describe the machine as the kubelet counts it, and the part available to pods."""
    policy, available = node.policy, node.allocatable
    scope: answers.ScopePart = {}
    if node.topology_manager.policy != "none":
        scope = {"topologyManagerScope": "pod" if node.topology_manager.scope == "pod" else "container"}
    # CPU in millicores, everything else in bytes or pieces.
    amounts: answers.AllocatablePart = (
        {} if available is None else {"allocatable": {**available.amounts, "pods": available.pods}}
    )
    static: StaticPolicy = {}
    if policy is not None:
        static = {
            "reservedCPUs": cpu_list(policy.reserved),
            "reservedPhysicalCPUs": cpu_list(policy.reserved_physical),
            "allocatableCPUs": cpu_list(policy.allocatable),
        }
    return {
        **topology_counts(node.topology),
        "cpuManagerPolicy": "none" if policy is None else "static",
        **scope,
        **amounts,
        **static,
    }


def _summary(node: Node, admissions: Iterable[Admission]) -> Summary:
    outcomes = Counter(type(admission.verdict).__name__ for admission in admissions)
    exclusive = node.topology.cpus & ~node.state.default if node.policy else 0
    pending: PendingCount = {"pending": outcomes["Pending"]} if outcomes["Pending"] else {}
    return {
        "pods": sum(outcomes.values()),
        "admitted": outcomes["Admitted"],
        "rejected": outcomes["Rejected"],
        "forbidden": outcomes["Forbidden"],
        **pending,
        "kubeletFault": outcomes["KubeletFault"],
        "undetermined": outcomes["Undetermined"],
        "exclusiveCPUs": exclusive.bit_count() - _never_shared(node).bit_count(),
    }


def _never_shared(node: Node) -> int:
    """Return the reserved CPUs that strict reservation keeps out of the shared pool."""
    strict = node.policy is not None and node.policy.options.strict_cpu_reservation
    return node.policy.reserved if strict and node.policy else 0


def pod_answer(node: Node, admission: Admission) -> answers.Pod:
    """Describe the decision on one pod, with the values its containers read and its claims' allocations."""
    pod = admission.pod
    cpus = admission.pod_cpus if isinstance(admission.verdict, Admitted) else 0
    held: answers.PodCPUs = {"podCPUs": cpu_list(cpus)} if cpus else {}
    evicted: answers.Evictions = {"evicted": list(admission.evicted)} if admission.evicted else {}
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "origin": str(pod.origin),
        "qosClass": admission.qos.qos_class.value,
        "qosReason": admission.qos.reason,
        **verdict_answer(admission.verdict),
        **evicted,
        **held,
        "hints": [round_answer(requested) for requested in admission.hint_rounds],
        "containers": list(_containers(node.topology, admission)),
        **claims_answer(node, admission),
        **inside_answer(node, admission),
    }


def _containers(topology: CPUTopology, admission: Admission) -> Iterator[answers.Container]:
    """Describe what containers get; the temporary allocation of a rejected pod is free again."""
    if isinstance(admission.verdict, Admitted):
        yield from placed_containers(topology, admission)
        return
    for placement in admission.placements:
        container = placement.container
        yield {"name": container.name, "kind": container.kind.value, "exclusive": None}


def placed_containers(topology: CPUTopology, admission: Admission) -> Iterator[answers.PlacedContainer]:
    """Describe what the containers of an admitted pod get."""
    for placement in admission.placements:
        yield _placed(topology, placement)


def inside_answer(node: Node, admission: Admission) -> answers.DownwardPart:
    """Return the resources that containers of an admitted pod read by the downward API, if any does."""
    refs = admission.pod.field_refs
    if not refs or not isinstance(admission.verdict, Admitted):
        return {}

    from cpuctl.answering.pods.downward_answer import downward_answer, downward_context
    from cpuctl.pods.downward_api import downward_value

    held = {each.container.name: each.cpus if each.exclusive else 0 for each in admission.placements}
    inside, pod = downward_context(node, held), node.pod_rules.view(admission.pod)
    return {"downwardAPI": [downward_answer(ref, downward_value(pod, ref, inside)) for ref in refs]}


def round_answer(hint_round: HintRound) -> answers.HintRound:
    """Describe one round of the Topology Manager: for a container, or (None) for the pod as a whole."""
    from cpuctl.answering.explain.offers_answer import offers_answer

    container = hint_round.container.name if hint_round.container else None
    if isinstance(hint_round.merged, KubeletFault):
        return {"container": container, "outcome": "KubeletFault", **_fault(hint_round.merged)}
    if isinstance(hint_round.merged, Undetermined):
        return {"container": container, "outcome": "Undetermined", "why": hint_round.merged.text}
    hint = hint_round.merged.hint
    return {
        "container": container,
        "numaNodes": None if hint.nodes is None else cpu_list(hint.nodes),
        "preferred": hint.preferred,
        "admitted": hint_round.merged.admit,
        "offers": offers_answer(hint_round),
    }


def verdict_answer(verdict: Verdict) -> answers.Verdict:
    """Describe a verdict: its outcome, and the kubelet's message if there is one."""
    return {"outcome": "Admitted"} if isinstance(verdict, Admitted) else {**rejection_answer(verdict)}


def rejection_answer(verdict: Verdict) -> answers.Rejection:
    """Describe a verdict other than an admission."""
    assert not isinstance(verdict, Admitted)
    match verdict:
        case Rejected():
            return {
                "outcome": "Rejected",
                "reason": str(verdict.reason),
                "message": verdict.message,
                "container": verdict.container,
                "details": dict(verdict.details),
            }
        case Forbidden():
            return {
                "outcome": "Forbidden",
                "message": "; ".join(verdict.refusals),
                "rejections": list(verdict.refusals),
            }
        case Pending():
            return {"outcome": "Pending", "message": verdict.message}
        case KubeletFault():
            return {
                "outcome": "KubeletFault",
                "fault": verdict.kind.value,
                "where": verdict.where,
                "why": verdict.why,
            }
        case Undetermined():
            return {"outcome": "Undetermined", "why": verdict.text}


def _fault(fault: KubeletFault) -> answers.Faulty:
    return {"fault": fault.kind.value, "where": fault.where, "why": fault.why}


def _placed(topology: CPUTopology, placement: Placement) -> answers.PlacedContainer:
    if not placement.exclusive:
        return {
            "name": placement.container.name,
            "kind": placement.container.kind.value,
            "exclusive": False,
            "isolation": placement.isolation.value,
            "cpus": cpu_list(placement.cpus),
            "whyShared": placement.claim.why_not,
            **container_memory(placement),
            **container_devices(topology, placement),
        }

    from cpuctl.engine.alignment import alignment_of

    alignment = alignment_of(topology, placement.cpus)
    return {
        "name": placement.container.name,
        "kind": placement.container.kind.value,
        "exclusive": True,
        "isolation": placement.isolation.value,
        "cpus": cpu_list(placement.cpus),
        "count": placement.cpus.bit_count(),
        "alignment": {
            "core": alignment.core,
            "uncoreCache": alignment.uncore_cache,
            "numaNode": alignment.numa_node,
            "socket": alignment.socket,
        },
        "aligned": _evidence(alignment),
        "steps": [{"rule": step.rule, "cpus": cpu_list(step.cpus)} for step in placement.steps],
        **_weighed(placement),
        **container_memory(placement),
        **container_devices(topology, placement),
    }


def _weighed(placement: Placement) -> answers.PolicyChoice:
    """Describe how a policy in the kubelet's place reached its choice."""
    if not placement.weighings:
        return {}
    return {"scoring": [_weighing(each) for each in placement.weighings]}


def _weighing(weighing: Weighing) -> answers.Scoring:
    by_score: dict[float, int] = {}
    for cpu, score in weighing.scores.items():
        by_score[score] = by_score.get(score, 0) | 1 << cpu
    places = sorted(
        range(len(weighing.sets)),
        key=lambda place: (-weighing.sets[place][1], place != weighing.winner, place),
    )
    return {
        "remainder": weighing.aside,
        "removed": cpu_list(weighing.removed),
        "scores": [{"cpus": cpu_list(by_score[score]), "score": score} for score in sorted(by_score)[::-1]],
        "sets": [
            {"cpus": cpu_list(weighing.sets[place][0]), "score": weighing.sets[place][1]}
            for place in places[:MOST_SETS]
        ],
        "setCount": len(places),
    }


def _evidence(alignment: Alignment) -> answers.Aligned:
    return {
        "cores": _lists(alignment.by_core),
        "uncoreCaches": None if alignment.by_uncore_cache is None else _lists(alignment.by_uncore_cache),
        "numaNodes": _lists(alignment.by_numa_node),
        "sockets": _lists(alignment.by_socket),
    }


def after_answer(node: Node) -> answers.CPUsLeft:
    """Describe the remaining CPUs, in total and on each NUMA node."""
    shared = node.state.default
    free = shared & ~node.policy.reserved if node.policy else 0
    return {
        "sharedPool": cpu_list(shared),
        "sharedPoolSize": shared.bit_count(),
        "freeCPUs": cpu_list(free),
        "free": free.bit_count(),
        "numaNodes": [
            {
                "id": number,
                "cpus": cpu_list(mask),
                "sharedCPUs": cpu_list(shared & mask),
                "freeCPUs": cpu_list(free & mask),
                "free": (free & mask).bit_count(),
            }
            for number, mask in node.topology.numa_nodes.items()
        ],
    }


def _lists(masks: Mapping[int, int]) -> dict[str, str]:
    return {str(element): cpu_list(mask) for element, mask in masks.items()}


def cpu_list(mask: int) -> str:
    """Write a mask as the kernel's list."""
    return str(CPUSet(mask))
