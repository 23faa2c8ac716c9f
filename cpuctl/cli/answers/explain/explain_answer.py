"""The answer of ``cpuctl explain`` as a plain document (schema: ``cpuctl schema explanation``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuctl.cli.answers.config.parts import start_answer
from cpuctl.cli.answers.memory_answer import memory_left
from cpuctl.cli.answers.plan.plan_answer import cpu_list, inside_answer, node_answer, pod_answer
from cpuctl.cli.answers.topology.devices_answer import devices_left
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.explanation import Explanation
from cpuctl.engine.explain.offers import Offer, Round
from cpuctl.engine.explain.shares import Holder, NodeShare
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.node import Node
from cpuctl.engine.start import NotStarted

if TYPE_CHECKING:
    from cpuctl.cli.answers.explain.suggestion_answer import AskWith
    from cpuctl.engine.explain.searches.searches import Search
    from cpuctl.engine.hints.hints import HintRule


def explanation_document(
    explanation: Explanation, container: str, ask_with: AskWith, head: Mapping[str, Any]
) -> Document:
    """Describe one decision; *container* is the one that was asked about, empty for the whole pod."""
    replay = explanation.replay
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        **head,
        "start": {"outcome": "Started"},
        "node": node_answer(replay.before),
        **_shared_pool(replay.after),
        "asked": {
            "container": container or None,
            "restarted": replay.scenario.restarted,
            "podsBefore": replay.position,
        },
        "pod": pod_answer(
            replay.before.topology, replay.admission, inside_answer(replay.after, replay.admission)
        ),
        "decision": _decision(explanation.decision),
        "unaligned": [_decision(decision) for decision in explanation.unaligned],
        "rounds": [_round(each) for each in explanation.rounds],
        "numaNodes": [_share(share) for share in explanation.shares],
        **_left_of_what_it_asks_for(explanation),
        "holders": [_holder(holder) for holder in explanation.holders],
        "defects": [{"text": defect.text, "reference": defect.reference} for defect in explanation.defects],
        **_searched(explanation.searches, ask_with),
    }


def _searched(searches: Sequence[Search], ask_with: AskWith) -> dict[str, Any]:
    if not searches:
        return {"suggestions": [], "searches": []}

    from cpuctl.cli.answers.explain.suggestion_answer import search_answer, suggestion_answer

    suggestions = [found for search in searches for found in search.found]
    return {
        "suggestions": [suggestion_answer(each, ask_with) for each in suggestions],
        "searches": [search_answer(search) for search in searches],
    }


def not_started_document(start: NotStarted, head: Mapping[str, Any]) -> Document:
    """Describe a kubelet that does not start, or of which that cannot be said."""
    return {"apiVersion": API_VERSION, "kind": "Explanation", **head, "start": start_answer(start)}


def _shared_pool(node: Node) -> dict[str, str]:
    """Say which CPUs containers without exclusive ones run on, where there are exclusive ones."""
    return {"sharedPool": cpu_list(node.state.default)} if node.policy else {}


def _left_of_what_it_asks_for(explanation: Explanation) -> dict[str, Any]:
    """Describe memory and devices as they were, but for resources that the pod does not ask for."""
    pod = explanation.replay.scenario.pod
    lists = [each.resources for each in pod.all_containers] + ([pod.resources] if pod.resources else [])
    asked = {name for each in lists for name in (*each.requests, *each.limits)}
    memory = memory_left(explanation.node.memory).get("memory", ())
    devices = devices_left(explanation.node.devices).get("devices", ())
    return {
        "memory": [{**node, "resources": _asked_for(node["resources"], asked)} for node in memory],
        "devices": _asked_for(devices, asked),
    }


def _asked_for(entries: Iterable[Mapping[str, Any]], asked: set[str]) -> list[Mapping[str, Any]]:
    return [entry for entry in entries if entry["resource"] in asked]


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "rule": str(decision.rule),
        "container": decision.container or None,
        "provider": decision.provider or None,
        "why": decision.why,
    }


def _round(round_: Round) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "container": round_.container.name if round_.container else None,
        "offers": [_offer(offer) for offer in round_.offers],
    }
    if not isinstance(round_.merged, Merged):
        return answer | {"merged": None}
    return answer | {"merged": {**_hint(round_.merged.hint), "admitted": round_.merged.admit}}


def _offer(offer: Offer) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "provider": offer.provider,
        "resource": offer.resource,
        "standing": str(offer.standing),
        "hints": None if offer.hints is None else [_hint(hint) for hint in offer.hints],
        "usable": None if offer.usable is None else _sets(offer.usable),
    }
    if offer.rule is not None:
        answer["width"] = offer.rule.width
        answer["narrowest"] = offer.rule.narrowest
    if offer.request is not None:
        answer["request"] = offer.request
    return answer if offer.rule is None else answer | _of_cpus(offer.rule)


def _of_cpus(rule: HintRule) -> dict[str, Any]:
    """Describe the CPUs that hints follow from; nothing where they are hints for memory."""
    from cpuctl.engine.cpu.hints import CPUHints

    if not isinstance(rule, CPUHints):
        return {}
    return {
        "free": {str(node): count for node, count in rule.free.items()},
        "reusable": {"count": rule.reusable, "numaNodes": cpu_list(rule.required)},
    }


def _sets(masks: Iterable[int]) -> list[str]:
    return [cpu_list(mask) for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask))]


def _hint(hint: Hint) -> dict[str, Any]:
    nodes = None if hint.nodes is None else cpu_list(hint.nodes)
    return {"numaNodes": nodes, "preferred": hint.preferred}


def _share(share: NodeShare) -> dict[str, Any]:
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


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "pod": holder.name,
        "uid": holder.uid,
        "cpus": cpu_list(holder.cpus),
        "count": holder.cpus.bit_count(),
        "memory": [
            {"resource": resource, "numaNodes": cpu_list(nodes), "bytes": size}
            for (resource, nodes), size in sorted(holder.memory.items())
        ],
        "running": holder.running,
    }
