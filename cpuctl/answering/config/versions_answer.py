"""The answer of ``cpuctl config versions`` as a plain document (schema: ``cpuctl schema configversions``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.config.parts import unloaded_header, unread_inputs
from cpuctl.answering.config.show_answer import stage_name
from cpuctl.answering.config.starts import start_answer
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.release_effects import Effects, PodEffect
from cpuctl.engine.start import Started
from cpuctl.inputs.sources import Sources
from cpuctl.kubelet.gates.feature_gates import GateStage
from cpuctl.kubelet.releases.changes import (
    BehaviourChange,
    FieldChange,
    FlagChange,
    GateChange,
    OptionChange,
    RuleChange,
)
from cpuctl.operations.command_lines import start_command
from cpuctl.operations.configuration import Comparison, NodeStates, Uncompared, VersionStart
from cpuctl.option_names import KUBELET_VERSION
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpuctl.answers import config as answers
    from cpuctl.operations.plan_inputs import PlanningInputs

    DiffOf = Callable[[str, str], str]
    """Writes the command that compares the pods' manifest on two releases, empty if no command can."""


def versions_document(
    comparison: Comparison,
    header: answers.Header,
    asked: PlanningInputs,
    diff_of: DiffOf,
    *,
    everything: bool,
) -> answers.ComparedVersions:
    """Describe the differences between two releases; *everything*, or those that affect the configuration."""
    versions = (str(comparison.loaded.kubelet.version), str(comparison.target))
    changes, starts, effects = comparison.changes, comparison.starts, comparison.effects
    on_files = any(start.on_files for start in starts)
    behaviours = [_behaviour(change, effects, on_files=on_files) for change in changes.behaviours]
    gates = [_gate(change, effects, on_files=on_files) for change in changes.gates]
    parts: answers.Changes = {
        "behaviours": [each for each in behaviours if everything or each["relevant"] or _is_shown(each)],
        "featureGates": [each for each in gates if everything or each["relevant"] or _is_shown(each)],
        "options": [_option(change) for change in changes.options if everything or change.concerns],
        "fields": [_field(change) for change in changes.fields if everything or change.concerns],
        "flags": [_flag(change) for change in changes.flags if everything or change.concerns],
        "rules": [_rule(change) for change in changes.rules if everything or change.concerns],
    }
    found = (*behaviours, *changes.gates, *changes.options, *changes.fields, *changes.flags, *changes.rules)
    shown = sum(len(part) for part in (parts["behaviours"], parts["featureGates"], parts["options"]))
    shown += sum(len(part) for part in (parts["fields"], parts["flags"], parts["rules"]))
    pods = _pods(effects)
    if "pods" in pods and _both_start(starts) and (command := diff_of(*versions)):
        pods["podsDiff"] = command
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigVersions",
        **header,
        "from": versions[0],
        "to": versions[1],
        **_next(starts, versions, asked, comparison.states),
        **parts,
        "omitted": len(found) - shown,
        **pods,
        "notChecked": unread_inputs(header["sources"], comparison.states.unseen),
    }


def _pods(effects: Effects | None) -> answers.ChangedPods:
    if effects is None or effects.pods is None:
        return {}
    return {
        "pods": [_pod(each) for each in effects.pods],
        "rejectedByBoth": [_pod(each) for each in effects.refused],
    }


def _pod(effect: PodEffect) -> answers.PodChange:
    return {"pod": effect.pod, "before": effect.before, "after": effect.after}


def uncompared_document(
    uncompared: Uncompared, sources: Sources, asked: PlanningInputs
) -> answers.UncomparedVersions:
    """Describe a configuration that the old kubelet cannot load."""
    header = unloaded_header(sources)
    files = "state files, which a kubelet reads after loading its configuration"
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigVersions",
        **header,
        "from": header["kubelet"]["version"],
        "to": str(uncompared.target),
        **_next(
            (VersionStart(uncompared.refusal), uncompared.other),
            (header["kubelet"]["version"], str(uncompared.target)),
            asked,
            uncompared.states,
        ),
        **_pods(uncompared.effects),
        "notChecked": unread_inputs(header["sources"], uncompared.states.unseen or files),
    }


def _of_version(asked: PlanningInputs, version: str) -> PlanningInputs:
    return replace(asked, kubelet=replace(asked.kubelet, version=version))


def _starts(
    starts: tuple[VersionStart, VersionStart], versions: tuple[str, str], asked: PlanningInputs
) -> answers.StartsPart:
    """Describe both kubelets' starts, and the command that shows what to change, the new kubelet's first."""
    one, other = (start_answer(start.outcome) for start in starts)
    answer: answers.StartsPart = {"start": {"from": one, "to": other}}
    for described, start, version in ((other, starts[1], versions[1]), (one, starts[0], versions[0])):
        if described["outcome"] != "Started" and "fix" not in described:
            return {**answer, "next": start_command(_of_version(asked, version), of_files=start.on_files)}
    return answer


def _both_start(starts: tuple[VersionStart, VersionStart]) -> bool:
    return all(isinstance(start.outcome, Started) for start in starts)


def _next(
    starts: tuple[VersionStart, VersionStart],
    versions: tuple[str, str],
    asked: PlanningInputs,
    states: NodeStates,
) -> answers.StartsPart:
    """Describe both starts; if the new one only depends on unread state files, the command checks those."""
    answer = _starts(starts, versions, asked)
    upgraded = starts[1].outcome
    if states.unseen and (isinstance(upgraded, Started) or upgraded == Undetermined(states.closed)):
        return {**answer, "next": f"sudo cpuctl checkpoint verify {KUBELET_VERSION} {versions[1]}"}
    return answer


_SHOWN_BY = ("shownByPods", "shownByState", "shownByConfiguration")


def _is_shown(change: answers.ShownBy) -> bool:
    return any(change.get(name, False) for name in _SHOWN_BY)


def _behaviour(
    change: BehaviourChange, effects: Effects | None, *, on_files: bool
) -> answers.BehaviourChange:
    difference = change.difference
    before, after = difference.before, difference.after
    return {
        "name": change.name,
        "area": difference.area,
        "since": f"1.{difference.since}",
        "backports": [f"1.{minor}.{patch}" for minor, patch in sorted(difference.patches.items())],
        "before": before if change.begins else after,
        "after": after if change.begins else before,
        "source": difference.source,
        "status": difference.evidence,
        "recordedOn": list(difference.recorded_on),
        "gate": difference.gate or None,
        "relevant": change.concerns,
        **_shown(change.name, effects, on_files=on_files),
    }


def _shown(name: str, effects: Effects | None, *, on_files: bool) -> answers.ShownBy:
    """Say what shows a difference; a start that does not fail *on_files* shows it with the configuration."""
    if effects is None:
        return {}
    by_start = name in effects.shown_by_start
    return {
        "shownByPods": name in effects.shown_by_pods,
        "shownByState": by_start and on_files,
        "shownByConfiguration": by_start and not on_files,
    }


def _gate(change: GateChange, effects: Effects | None, *, on_files: bool) -> answers.GateChange:
    return {
        "gate": change.gate,
        "before": _stage(change.before),
        "after": _stage(change.after),
        "enabledBefore": change.on_before,
        "enabledAfter": change.on_after,
        "setTo": change.setting,
        "problem": change.problem or None,
        "relevant": change.concerns,
        **_shown(change.gate, effects, on_files=on_files),
    }


def _stage(stage: GateStage | None) -> answers.GateStage | None:
    if stage is None:
        return None
    return {
        "stage": stage_name(stage.stage),
        "default": stage.default,
        "locked": stage.locked,
        "verified": stage.verified,
    }


def _option(change: OptionChange) -> answers.OptionChange:
    return {
        "field": change.field,
        "option": change.option,
        "before": change.before or None,
        "after": change.after or None,
        "relevant": change.concerns,
    }


def _field(change: FieldChange) -> answers.FieldChange:
    return {"field": change.field, "since": f"1.{change.since}", "relevant": change.concerns}


def _flag(change: FlagChange) -> answers.FlagChange:
    return {
        "flag": f"--{change.flag}",
        "since": f"1.{change.since}",
        "known": change.known,
        "relevant": change.concerns,
    }


def _rule(change: RuleChange) -> answers.RuleChange:
    return {
        "setting": change.rule.field,
        "stage": change.rule.stage,
        "message": change.rule.template,
        "since": f"1.{change.since}",
        "known": change.known,
        "relevant": change.concerns,
    }
