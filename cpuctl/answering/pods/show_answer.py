"""The answer of ``cpuctl pods show`` as a plain document (schema: ``cpuctl schema podsshow``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.show_answer import known_amount
from cpuctl.answering.pods.downward_answer import downward_answer
from cpuctl.engine.cpu.exclusive_advice import SpecEdit
from cpuctl.engine.pod_facts import ContainerFacts, EphemeralFacts, PodFacts
from cpuctl.pods.cgroups.files import CgroupFile, CgroupHost, WeightFormula, v1_files, v2_files
from cpuctl.pods.cgroups.linux_resources import page_size_name
from cpuctl.pods.cgroups.values import CgroupRules, CgroupValues
from cpuctl.pods.consumers import ConsumedAmount
from cpuctl.pods.effective import Effective
from cpuctl.pods.stored import AmountField, AmountSource
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers import pods as answers
    from cpuctl.answers.values import Amount
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.pod_view import NodeView, ShownPods
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.out_of_memory import Ranked
    from cpuctl.pods.resource_quotas import QuotaCharge, ResourceQuota

# The facts derived from one pod, as a plain document: ``pods show`` prints it, ``pods diff`` compares two.


_WEIGHT = "cpu.weight"


class CgroupView(Record):
    """How cgroup values are written; ``formula`` is None if the runtime's is unknown."""

    version: int
    host: CgroupHost
    formula: WeightFormula | None

    def files(self, values: CgroupValues, formula: WeightFormula | None) -> dict[str, CgroupFile]:
        """Return this version's files with their contents; a weight can be one of two."""
        if self.version == 1:
            return v1_files(values, self.host)
        linear, curved = (v2_files(values, each, self.host) for each in WeightFormula)
        if formula is not None:
            return linear if formula is WeightFormula.LINEAR else curved
        weights = (linear[_WEIGHT].text, curved[_WEIGHT].text)
        return linear | {_WEIGHT: CgroupFile(" or ".join(dict.fromkeys(weights)))}


def cgroup_view(view: NodeView) -> CgroupView:
    """Return how a node's cgroup values are written."""
    host = CgroupHost(systemd=view.systemd, memory_page=view.node.settings.memory_page)
    return CgroupView(version=view.node.cgroup_version, host=host, formula=view.formula)


def pod_answer(facts: PodFacts, view: CgroupView) -> answers.PodFacts:
    """Describe one pod: its classes and sums, its cgroups, its containers, its downward API readers."""
    return {
        "qosClass": facts.qos.qos_class.value,
        "qosReason": facts.qos.reason,
        "apiServer": {"rejections": list(facts.creation.refusals)},
        "kubelet": _rejection(facts),
        "warnings": list(facts.notices),
        "amounts": list(_amounts(facts)),
        "dropped": [{**_place(place), "rule": rule} for place, rule in facts.stored.dropped.items()],
        "effective": {"requests": _effective(facts.requests), "limits": _effective(facts.limits)},
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, WeightFormula.LINEAR),
        "containers": [_container(each, view) for each in facts.containers],
        "ephemeralContainers": [_ephemeral(each, view) for each in facts.ephemeral],
        "readers": [_reading(reading) for reading in facts.consumed_amounts],
        "downwardAPI": [downward_answer(ref, value) for ref, value in facts.downward],
    }


def _rejection(facts: PodFacts) -> answers.NotRejected | answers.RejectedByKubelet:
    rejected = facts.rejected
    if rejected is None:
        return {"rejected": False}
    return {"rejected": True, "reason": str(rejected.reason), "message": rejected.message}


def _amounts(facts: PodFacts) -> Iterator[answers.StoredAmount]:
    """List every amount of the pod as stored, in the order of the manifest, with its source."""
    pod, sources = facts.stored.pod, facts.stored.sources
    groups = [(each.name, each.resources) for each in pod.all_containers]
    if pod.resources is not None:
        groups.append(("", pod.resources))
    for name, resources in groups:
        for side, amounts in resources.sides:
            for resource in sorted(amounts):
                place = AmountField(name, side, resource)
                yield {**_place(place), **known_amount(amounts[resource]), **_source(sources[place])}
    for resource in sorted(pod.overhead):
        place = AmountField("", "overhead", resource)
        yield {**_place(place), **known_amount(pod.overhead[resource]), **_source(sources[place])}


def _place(place: AmountField) -> answers.Place:
    return {"container": place.container or None, "side": place.side, "resource": place.resource}


def _source(source: AmountSource) -> answers.AmountSource:
    return {"how": source.how, "rule": source.rule or None}


def _effective(amounts: Mapping[str, Effective]) -> list[answers.EffectiveAmount]:
    return [
        {"resource": name, **known_amount(each.amount), "how": "derived", "rule": each.rule}
        for name, each in sorted(amounts.items())
    ]


def _cgroup(
    values: CgroupValues, rules: CgroupRules, view: CgroupView, formula: WeightFormula | None
) -> answers.Cgroup:
    """Describe values and files; a container's weight by both formulas if its runtime is unknown."""
    return {
        "cpuShares": values.shares,
        "cpuWeight": {
            "linear": WeightFormula.LINEAR.weight(values.shares),
            "quadratic": WeightFormula.CURVED.weight(values.shares),
            "formula": formula.value if formula else None,
        },
        "cpuQuota": values.quota,
        "cpuPeriod": values.period,
        "memoryLimit": values.memory,
        "memoryMin": values.memory_min,
        "memoryLow": values.memory_low,
        "memoryHigh": values.memory_high,
        "hugetlb": {page_size_name(size): limit for size, limit in values.hugetlb.items()},
        "pidsMax": values.pids,
        "unknown": dict(values.unknown),
        "rules": {"cpuShares": rules.shares, "cpuQuota": rules.quota, "memoryLimit": rules.memory},
        "files": {
            name: {"text": file.text, "written": file.written}
            for name, file in view.files(values, formula).items()
        },
    }


def _container(facts: ContainerFacts, view: CgroupView) -> answers.Container:
    advice = facts.advice
    return {
        "name": facts.container.name,
        "kind": facts.container.kind.value,
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, view.formula),
        "oomScoreAdj": facts.oom.value,
        "oomRule": facts.oom.rule,
        "exclusiveCPUs": {
            "assigned": facts.exclusive,
            "qualifies": advice.claim.cpus > 0,
            "count": advice.claim.cpus,
            "whyShared": facts.why_shared or None,
            "isolation": facts.isolation.value,
            "changes": [_change(change) for change in advice.changes],
            "countAfter": advice.count_after,
        },
    }


def _ephemeral(facts: EphemeralFacts, view: CgroupView) -> answers.EphemeralContainer:
    return {
        "name": facts.name,
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, view.formula),
        "oomScoreAdj": facts.oom.value,
        "oomRule": facts.oom.rule,
        "cpus": facts.cpus,
    }


def _change(change: SpecEdit) -> answers.Change:
    return {
        "path": change.path,
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
        "anyAmount": change.free,
    }


def _reading(reading: ConsumedAmount) -> answers.Read:
    return {
        "reader": reading.reader,
        "container": reading.container or None,
        "item": reading.item,
        "amount": None if reading.amount is None else known_amount(reading.amount),
        "text": reading.text or None,
        "error": reading.error or None,
        "rule": reading.rule,
    }


def show_document(shown: ShownPods, view: CgroupView, header: answers.ViewHeader) -> answers.PodsShow:
    """Describe pods and the policies of their namespaces."""
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
    """Return the first members of answers: sources of inputs, releases, known facts of the node."""
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
                "status": each.evidence,
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
        "rejections": list(charge.refusals),
    }


def _limit_range(limit_range: LimitRange) -> answers.LimitRange:
    return {
        "namespace": limit_range.namespace,
        "name": limit_range.name,
        "origin": str(limit_range.origin),
        "problems": list(limit_range.problems),
    }


def _quota(quota: ResourceQuota, used: Mapping[str, Quantity]) -> answers.Quota:
    """Describe a quota with its usage after the creation of all pods that it allows."""
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
        "exempt": ranked.spared,
        "reason": ranked.reason,
    }


def _bytes(count: int) -> Amount:
    return known_amount(Quantity.from_value(count, Format.BINARY_SI))
