"""The answer of ``cpuctl pods show`` as a plain document (schema: ``cpuctl schema podsshow``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.show_answer import known_amount
from cpuctl.answering.pods.facts_answer import CgroupView, pod_answer
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.answers import pods as answers
    from cpuctl.answers.values import Amount
    from cpuctl.engine.pod_facts import PodFacts
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.pod_view import NodeView, ShownPods
    from cpuctl.pods.namespace_limits import LimitRange, QuotaCharge, ResourceQuota
    from cpuctl.pods.out_of_memory import Ranked


def show_document(shown: ShownPods, view: CgroupView, header: answers.ViewHeader) -> answers.PodsShow:
    """Describe pods and what governs their namespaces."""
    return {
        "apiVersion": API_VERSION,
        "kind": "PodsShow",
        **header,
        "pods": [_pod(facts, view) for facts in shown.pods],
        "limitRanges": [_limit_range(each) for each in shown.limit_ranges],
        "quotas": [_quota(quota, used) for quota, used in shown.quotas],
        "eviction": None if shown.eviction is None else [_ranked(each) for each in shown.eviction],
    }


def view_header(view: NodeView, sources: Sources) -> answers.ViewHeader:
    """Return the members that answers begin with: origins of inputs, releases, what is known of the node."""
    memory, allocatable = view.node.memory, view.node.allocatable
    return {
        "sources": sources.entries,
        "kubelet": {"version": str(view.kubelet.version)},
        "apiServer": {"version": view.server_version},
        "differences": [
            {
                "name": name,
                "since": f"1.{each.since}",
                "behaviour": each.after,
                "source": each.source,
                "standing": each.evidence.value,
            }
            for name, each in view.differences.items()
        ],
        "cgroupVersion": view.node.cgroup_version,
        "node": {
            "memory": None if memory is None else known_amount(Quantity.from_value(memory, Format.BINARY_SI)),
            "allocatable": None
            if allocatable is None
            else {name: known_amount(each) for name, each in allocatable.items()},
        },
    }


def _pod(facts: PodFacts, view: CgroupView) -> answers.Pod:
    pod = facts.written
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "origin": str(pod.origin),
        "owner": pod.owner or None,
        **pod_answer(facts, view),
        "quotas": [_charge(charge) for charge in facts.creation.charges],
    }


def _charge(charge: QuotaCharge) -> answers.QuotaCharge:
    return {
        "quota": charge.quota.name,
        "charged": _texts(charge.charged),
        "refusals": list(charge.refusals),
    }


def _limit_range(limit_range: LimitRange) -> answers.LimitRange:
    return {
        "namespace": limit_range.namespace,
        "name": limit_range.name,
        "origin": str(limit_range.origin),
        "problems": list(limit_range.problems),
    }


def _quota(quota: ResourceQuota, used: Mapping[str, Quantity]) -> answers.Quota:
    """Report a quota with what is used of it once all pods are created that it lets pass."""
    return {
        "namespace": quota.namespace,
        "name": quota.name,
        "origin": str(quota.origin),
        "hard": _texts(quota.hard),
        "usedBefore": None if quota.used is None else _texts(quota.used),
        "used": _texts(used),
    }


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}


def _ranked(ranked: Ranked) -> answers.Evicted:
    return {
        "namespace": ranked.pod.namespace,
        "name": ranked.pod.name,
        "usage": None if ranked.usage is None else _bytes(ranked.usage),
        "request": _bytes(ranked.request),
        "priority": ranked.priority,
        "spared": ranked.spared,
        "reason": ranked.reason,
    }


def _bytes(count: int) -> Amount:
    return known_amount(Quantity.from_value(count, Format.BINARY_SI))
