"""The answer of ``cpuctl explain`` as a plain document (schema: ``cpuctl schema explanation``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.answering import API_VERSION
from cpuctl.answering.memory_answer import memory_left
from cpuctl.answering.plan.plan_answer import (
    cpu_list,
    node_answer,
    pod_answer,
)
from cpuctl.answering.plan.warnings_answer import cpu_warnings
from cpuctl.answering.topology.devices_answer import NO_NODE, devices_left
from cpuctl.documents.files import file_argument
from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.explanation import Explanation, Holder, NodeShare
from cpuctl.engine.explain.offers import Offer, Round
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.memory.tables import free_in, is_huge_pages
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Forbidden, Pending, Rejected, Undetermined
from cpuctl.operations.command_lines import (
    advise_command,
    assuming_command,
    claims_command,
    lint_command,
    planning_command,
)
from cpuctl.operations.plan_inputs import claims_of
from cpuctl.pods.manifest import owner_of
from cpuctl.pods.requests import pod_requests

if TYPE_CHECKING:
    from cpuctl.answering.explain.suggestion_answer import AskWith
    from cpuctl.answers import explanation as answers
    from cpuctl.answers.decisions import MemoryTable, Pod
    from cpuctl.answers.dra import ClaimDevicesPart
    from cpuctl.answers.start import NextPart, PlanningHeader, UnstartedHeader
    from cpuctl.engine.explain.scenario import Replay
    from cpuctl.engine.explain.searches.searches import Search
    from cpuctl.engine.hints.hints import HintRule
    from cpuctl.engine.resize.pending import RetriedResize
    from cpuctl.operations.configuration import NotStartedOutcome
    from cpuctl.operations.explain import Explained
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.reading.events import RejectionEvent


def explained_document(planning: Planning, explained: Explained) -> answers.ExplainedDecision:
    """Describe a decision of a planned node, with the commands to try changes to it."""
    from cpuctl.answering.plan.plan_document import mixed_cores, planning_header

    named = planning.inputs.events
    events = (option_names.EVENTS, file_argument(named)) if named else ()
    ask_with = partial(planning_command, planning.inputs, ("explain", explained.name, *events))
    mixed = mixed_cores(planning.source.machine, [explained.admission])
    resize = _pending(planning, explained.resize)
    return explanation_document(
        explained, ask_with, planning_header(planning), mixed, resize, _next(planning, explained)
    )


def _next(planning: Planning, explained: Explained) -> NextPart:
    """Return the command that shows what fits, finds settings, adds devices, or lints the broken rules.

    For a pod whose claims are not satisfied, it shows the devices of the node.
    """
    if isinstance(explained.admission.verdict, Forbidden):
        command = lint_command(planning.inputs)
        return {"next": command} if command else {}
    if isinstance(explained.admission.verdict, Admitted) and _policy_shares(explained):
        command = advise_command(planning)
        return {"next": command} if command else {}
    if isinstance(explained.admission.verdict, Rejected) or explained.explanation.unaligned:
        return {"next": planning_command(planning.inputs, ("plan", option_names.CAPACITY))}
    if isinstance(explained.admission.verdict, Pending):
        return {"next": claims_command(planning)}
    if not isinstance(explained.admission.verdict, Undetermined):
        return {}
    node = explained.explanation.replay.before
    command = assuming_command(planning, node, ("explain", explained.name))
    return {"next": command} if command else {}


def _policy_shares(explained: Explained) -> bool:
    """Return whether the pod has no exclusive CPUs because the CPU Manager's policy is none."""
    from cpuctl.answering.plan.plan_document import lacks_static_policy

    node = explained.explanation.node
    return node.what_if is None and node.claims is None and lacks_static_policy(explained.admission)


def _pending(planning: Planning, pending: RetriedResize | None) -> answers.PendingResize | None:
    """Describe the outcome of a running pod's pending resize; None if no resize is pending."""
    if pending is None:
        return None

    from cpuctl.answering.resize_answer import decision_document

    decision = decision_document(pending)
    return {**decision, "command": planning_command(planning.inputs, ("resize",))}


def explanation_document(
    explained: Explained,
    ask_with: AskWith,
    header: PlanningHeader,
    mixed: Iterable[answers.MixedCores],
    resize: answers.PendingResize | None,
    following: NextPart,
) -> answers.ExplainedDecision:
    """Describe one decision, and the outcome of the pod's pending *resize*.

    *mixed* are containers with CPUs of both kinds of cores.
    """
    explanation = explained.explanation
    replay, requested = explanation.replay, _requested_resources(explanation)
    suggestions, searches = _searched(explanation.searches, ask_with)
    pod = pod_answer(replay.after, replay.admission)
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        **header,
        "start": {"outcome": "Started"},
        "node": node_answer(replay.before),
        **_shared_pool(replay.after),
        "query": {
            "container": explained.container or None,
            "restarted": replay.scenario.restarted,
            "podsBefore": replay.position,
        },
        "pod": pod,
        "decision": _decision(explanation.decision),
        "unaligned": [_decision(decision) for decision in explanation.unaligned],
        "rounds": [_round(each) for each in explanation.rounds],
        "numaNodes": [_share(share) for share in explanation.shares],
        "memory": _memory_left(explanation.node, requested),
        "devices": [
            left
            for left in devices_left(explanation.node.devices).get("devices", ())
            if left["resource"] in requested
        ],
        "holders": [_holder(holder) for holder in explanation.holders],
        "defects": [{"text": defect.text, "reference": defect.reference} for defect in explanation.defects],
        "suggestions": suggestions,
        "searches": searches,
        "mixedCores": list(mixed),
        "resize": resize,
        "warnings": list(cpu_warnings(replay.after, replay.admission)),
        "replacement": _replacement(replay, explanation.decision),
        **_pages(explained),
        **_also_lacking(explanation),
        **_claim_devices(replay, explanation.decision),
        **_message_seen(explained.rejection, pod),
        **following,
    }


def _claim_devices(replay: Replay, decision: Decision) -> ClaimDevicesPart:
    """Describe the devices of the node if the scheduler finds none for a claim."""
    claims = claims_of(replay.before)
    if claims is None or decision.rule is not Rule.CLAIMS:
        return {}

    from cpuctl.answering.dra_answer import claim_devices

    return claim_devices(claims, replay.admission.pod)


def _replacement(replay: Replay, decision: Decision) -> answers.Replacement | None:
    pod, verdict = replay.admission.pod, replay.admission.verdict
    if not isinstance(verdict, Rejected):
        return None

    from cpuctl.engine.explain.replacement import remedy_of, replacement_of, successor_of

    successor = successor_of(replay)
    rejected = successor.verdict if isinstance(successor.verdict, Rejected) else verdict
    remedy = remedy_of(rejected, replay.before.topology_manager.policy)
    found = replacement_of(
        rejected, decision, owner_of(pod), static=pod.static, successor=successor, remedy=remedy
    )
    return {"loops": found.loops, "text": found.text, "admitted": found.admitted} if found else None


def _searched(
    searches: Sequence[Search], ask_with: AskWith
) -> tuple[list[answers.Suggestion], list[answers.Search]]:
    if not searches:
        return [], []

    from cpuctl.answering.explain.suggestion_answer import search_answer, suggestion_answer

    suggestions = [suggestion_answer(found, ask_with) for search in searches for found in search.found]
    return suggestions, [search_answer(search) for search in searches]


def _message_seen(rejection: RejectionEvent | None, pod: Pod) -> answers.ReportedPart:
    if rejection is None:
        return {}
    return {
        "reported": {
            "reason": rejection.reason,
            "message": rejection.message,
            "count": rejection.times,
            "lastTimestamp": rejection.last,
            "node": rejection.node,
            "agrees": pod["outcome"] == "Rejected" and pod["reason"] == rejection.reason,
        }
    }


def _pages(explained: Explained) -> answers.HugePagesPart:
    if not explained.pages:
        return {}

    from cpuctl.answering.explain.suggestion_answer import pages_answer

    return pages_answer(explained.pages, in_the_way=explained.state_in_the_way, repair=explained.repair)


def _also_lacking(explanation: Explanation) -> answers.MissingPart:
    """Name huge pages that no NUMA node has free, if the pod was rejected for another reason."""
    replay = explanation.replay
    if not isinstance(replay.admission.verdict, Rejected) or explanation.decision.provider == "memory":
        return {}
    node = replay.before.copy()
    node.clean_up()
    tables = node.memory.state.tables
    lacking = [
        name
        for name, amount in sorted(pod_requests(replay.scenario.pod).items())
        if is_huge_pages(name) and amount.sign > 0 and tables and not free_in(tables, tables, name)
    ]
    return {"alsoMissing": lacking} if lacking else {}


def not_started_document(
    start: NotStartedOutcome, header: UnstartedHeader, check: str = ""
) -> answers.NotStartedExplanation:
    """Describe a kubelet that does not, or might not, start; *check* is the command that shows the fix."""
    from cpuctl.answering.config.starts import not_started_answer

    following: NextPart = {"next": check} if check else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        **header,
        "start": not_started_answer(start),
        **following,
    }


def _shared_pool(node: Node) -> answers.SharedPoolPart:
    """Describe the CPUs of containers without exclusive CPUs, if there are exclusive CPUs."""
    return {"sharedPool": cpu_list(node.state.default)} if node.policy else {}


def _requested_resources(explanation: Explanation) -> set[str]:
    pod = explanation.replay.scenario.pod
    lists = [each.resources for each in pod.all_containers] + ([pod.resources] if pod.resources else [])
    return {name for each in lists for name in (*each.requests, *each.limits)}


def _memory_left(node: Node, requested: set[str]) -> list[MemoryTable]:
    """Describe memory at that time, without resources that the pod does not request."""
    return [
        {**table, "resources": [entry for entry in table["resources"] if entry["resource"] in requested]}
        for table in memory_left(node.memory).get("memory", ())
    ]


def _decision(decision: Decision) -> answers.Decision:
    return {
        "rule": decision.rule.value,
        "container": decision.container or None,
        "provider": decision.provider or None,
        "why": decision.why,
    }


def _round(round_: Round) -> answers.Round:
    merged = round_.merged
    return {
        "container": round_.container.name if round_.container else None,
        "offers": [_offer(offer) for offer in round_.offers],
        "merged": {**_hint(merged.hint), "admitted": merged.admit} if isinstance(merged, Merged) else None,
    }


def _offer(offer: Offer) -> answers.ProviderOffer:
    request: answers.RequestPart = {} if offer.request is None else {"request": offer.request}
    return {
        "provider": offer.provider,
        "resource": offer.resource,
        "status": offer.status.value,
        "hints": None if offer.hints is None else [_hint(hint) for hint in offer.hints],
        "usable": None if offer.usable is None else _sets(offer.usable),
        **_widths(offer.rule),
        **request,
        **_of_cpus(offer.rule),
    }


def _widths(rule: HintRule | None) -> answers.RulePart:
    return {} if rule is None else {"width": rule.width, "narrowest": rule.narrowest}


def _of_cpus(rule: HintRule | None) -> answers.CPUsPart:
    """Describe the CPUs from which hints follow; return nothing for hints of memory."""
    from cpuctl.engine.cpu.hints import CPUHints

    if not isinstance(rule, CPUHints):
        return {}
    return {
        "free": {str(node): count for node, count in rule.free.items()},
        "reusable": {"count": rule.reusable, "numaNodes": cpu_list(rule.required)},
    }


def _sets(masks: Iterable[int]) -> list[str]:
    return [cpu_list(mask) for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask))]


def _hint(hint: Hint) -> answers.Hint:
    nodes = None if hint.nodes is None else cpu_list(hint.nodes)
    return {"numaNodes": nodes, "preferred": hint.preferred}


def _share(share: NodeShare) -> answers.CPUShare:
    return {
        "id": share.node,
        "cpus": cpu_list(share.cpus),
        "reserved": cpu_list(share.reserved),
        "own": cpu_list(share.own),
        "held": cpu_list(share.held),
        "free": cpu_list(share.free),
        "counts": {
            "cpus": share.cpus.bit_count(),
            "reserved": share.reserved.bit_count(),
            "own": share.own.bit_count(),
            "held": share.held.bit_count(),
            "free": share.free.bit_count(),
        },
    }


def _holder(holder: Holder) -> answers.Holder:
    return {
        "pod": holder.name,
        "uid": holder.uid,
        "cpus": cpu_list(holder.cpus),
        "count": holder.cpus.bit_count(),
        "memory": [
            {"resource": resource, "numaNodes": cpu_list(nodes), "bytes": size}
            for (resource, nodes), size in sorted(holder.memory.items())
        ],
        "devices": [
            {"resource": resource, "numaNodes": cpu_list(nodes) or NO_NODE, "count": count}
            for (resource, nodes), count in sorted(holder.devices.items())
        ],
        "running": holder.running,
        "waiting": holder.waiting,
    }
