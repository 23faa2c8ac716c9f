"""What follows from one pod, as a plain document: ``pods show`` prints it, ``pods diff`` compares two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.answering.config.show_answer import known_amount
from cpuctl.answering.pods.downward_answer import downward_answer
from cpuctl.engine.cpu.exclusive_advice import SpecEdit
from cpuctl.engine.pod_facts import ContainerFacts, EphemeralFacts, PodFacts
from cpuctl.pods.cgroups.files import CgroupFile, CgroupHost, WeightFormula, v1_files, v2_files
from cpuctl.pods.cgroups.linux_resources import page_size_name
from cpuctl.pods.cgroups.values import CgroupRules, CgroupValues
from cpuctl.pods.consumers import ConsumedAmount
from cpuctl.pods.effective import Effective
from cpuctl.pods.stored import AmountField, AmountOrigin, AmountSource
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.answers import pods as answers
    from cpuctl.operations.pod_view import NodeView

_WEIGHT = "cpu.weight"


class CgroupView(Record):
    """How cgroup values are written down; ``formula`` is None where the runtime's is not known."""

    version: int
    host: CgroupHost
    formula: WeightFormula | None

    def files(self, values: CgroupValues, formula: WeightFormula | None) -> dict[str, CgroupFile]:
        """Name the files of this version with what they show; a weight can be one of two."""
        if self.version == 1:
            return v1_files(values, self.host)
        linear, curved = (v2_files(values, each, self.host) for each in WeightFormula)
        if formula is not None:
            return linear if formula is WeightFormula.LINEAR else curved
        weights = (linear[_WEIGHT].text, curved[_WEIGHT].text)
        return linear | {_WEIGHT: CgroupFile(" or ".join(dict.fromkeys(weights)))}


def cgroup_view(view: NodeView) -> CgroupView:
    """Return how a node's cgroup values are written down."""
    host = CgroupHost(systemd=view.systemd, memory_page=view.node.settings.memory_page)
    return CgroupView(version=view.node.cgroup_version, host=host, formula=view.formula)


def pod_answer(facts: PodFacts, view: CgroupView) -> answers.PodFacts:
    """Describe one pod: its classes and sums, its cgroups, its containers, who reads what."""
    return {
        "qosClass": facts.qos.qos_class.value,
        "qosReason": facts.qos.reason,
        "apiServer": {"refusals": list(facts.creation.refusals)},
        "kubelet": _rejection(facts),
        "notices": list(facts.notices),
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
    """List every amount of the pod as it is stored, in the order of the manifest, with its source."""
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
    return {"how": source.how.value, "rule": source.rule or None}


def _effective(amounts: Mapping[str, Effective]) -> list[answers.EffectiveAmount]:
    return [
        {"resource": name, **known_amount(each.amount), "how": AmountOrigin.DERIVED.value, "rule": each.rule}
        for name, each in sorted(amounts.items())
    ]


def _cgroup(
    values: CgroupValues, rules: CgroupRules, view: CgroupView, formula: WeightFormula | None
) -> answers.Cgroup:
    """Report values and files, a container's weight by both formulas while its runtime is not known."""
    return {
        "cpuShares": values.shares,
        "cpuWeight": {
            "linear": WeightFormula.LINEAR.weight(values.shares),
            "curved": WeightFormula.CURVED.weight(values.shares),
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
            "given": facts.exclusive,
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
