"""What follows from one pod, as a plain document: ``pods show`` prints it, ``pods diff`` compares two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuctl.cli.answers.config.show_answer import amount as amount_answer
from cpuctl.cli.answers.pods.told_answer import told_answer
from cpuctl.engine.cpu.exclusive_advice import Change
from cpuctl.engine.pod_facts import ContainerFacts, EphemeralFacts, PodFacts
from cpuctl.pods.cgroups.files import CgroupFile, CgroupHost, WeightFormula, v1_files, v2_files
from cpuctl.pods.cgroups.linux_resources import page_size_name
from cpuctl.pods.cgroups.rules import CgroupRules
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.pods.effective import Effective
from cpuctl.pods.readers_view import Reading
from cpuctl.pods.stored import How, Place, Source
from cpuctl.quantity import Quantity

_WEIGHT = "cpu.weight"


class CgroupView(NamedTuple):
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


def pod_answer(facts: PodFacts, view: CgroupView) -> dict[str, Any]:
    """Describe one pod: its classes and sums, its cgroups, its containers, who reads what."""
    return {
        "qosClass": str(facts.qos.qos_class),
        "qosReason": facts.qos.reason,
        "apiServer": {"refusals": list(facts.creation.refusals)},
        "kubelet": _rejection(facts),
        "notices": list(facts.notices),
        "amounts": list(_amounts(facts)),
        "dropped": [_place(place) | {"rule": rule} for place, rule in facts.stored.dropped.items()],
        "effective": {"requests": _effective(facts.requests), "limits": _effective(facts.limits)},
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, WeightFormula.LINEAR),
        "containers": [_container(each, view) for each in facts.containers],
        "ephemeralContainers": [_ephemeral(each, view) for each in facts.ephemeral],
        "readers": [_reading(reading) for reading in facts.readings],
        "downwardAPI": [told_answer(ref, told) for ref, told in facts.told],
    }


def _rejection(facts: PodFacts) -> dict[str, Any]:
    rejected = facts.rejected
    if rejected is None:
        return {"rejected": False}
    return {"rejected": True, "reason": str(rejected.reason), "message": rejected.message}


def _amounts(facts: PodFacts) -> Iterator[dict[str, Any]]:
    """List every amount of the pod as it is stored, in the order of the manifest, with its source."""
    pod, sources = facts.stored.pod, facts.stored.sources
    groups = [(each.name, each.resources) for each in pod.all_containers]
    if pod.resources is not None:
        groups.append(("", pod.resources))
    for name, resources in groups:
        for side, amounts in (("requests", resources.requests), ("limits", resources.limits)):
            for resource in sorted(amounts):
                place = Place(name, side, resource)
                yield _place(place) | _amount(amounts[resource]) | _source(sources[place])
    for resource in sorted(pod.overhead):
        place = Place("", "overhead", resource)
        yield _place(place) | _amount(pod.overhead[resource]) | _source(sources[place])


def _place(place: Place) -> dict[str, Any]:
    return {"container": place.container or None, "side": place.side, "resource": place.resource}


def _source(source: Source) -> dict[str, Any]:
    return {"how": str(source.how), "rule": source.rule or None}


def _amount(amount: Quantity) -> dict[str, Any]:
    return amount_answer(amount) or {}


def _effective(amounts: Mapping[str, Effective]) -> list[dict[str, Any]]:
    return [
        {"resource": name, **_amount(each.amount), "how": str(How.DERIVED), "rule": each.rule}
        for name, each in sorted(amounts.items())
    ]


def _cgroup(
    values: CgroupValues, rules: CgroupRules, view: CgroupView, formula: WeightFormula | None
) -> dict[str, Any]:
    """Report values and files, a container's weight by both formulas while its runtime is not known."""
    return {
        "cpuShares": values.shares,
        "cpuWeight": {
            "linear": WeightFormula.LINEAR.weight(values.shares),
            "curved": WeightFormula.CURVED.weight(values.shares),
            "formula": str(formula) if formula else None,
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


def _container(facts: ContainerFacts, view: CgroupView) -> dict[str, Any]:
    advice = facts.advice
    return {
        "name": facts.container.name,
        "kind": str(facts.container.kind),
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, view.formula),
        "oomScoreAdj": facts.oom.value,
        "oomRule": facts.oom.rule,
        "exclusiveCPUs": {
            "given": facts.exclusive,
            "qualifies": advice.claim.cpus > 0,
            "count": advice.claim.cpus,
            "whyShared": facts.why_shared or None,
            "isolation": str(facts.isolation),
            "changes": [_change(change) for change in advice.changes],
            "countAfter": advice.count_after,
        },
    }


def _ephemeral(facts: EphemeralFacts, view: CgroupView) -> dict[str, Any]:
    return {
        "name": facts.name,
        "cgroup": _cgroup(facts.cgroup, facts.cgroup_rules, view, view.formula),
        "oomScoreAdj": facts.oom.value,
        "oomRule": facts.oom.rule,
        "cpus": facts.cpus,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
        "anyAmount": change.free,
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "reader": reading.reader,
        "container": reading.container or None,
        "item": reading.item,
        "amount": None if reading.amount is None else _amount(reading.amount),
        "text": reading.text or None,
        "error": reading.error or None,
        "rule": reading.rule,
    }
