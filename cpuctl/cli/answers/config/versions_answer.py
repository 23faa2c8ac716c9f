"""The answer of ``cpuctl config versions`` as a plain document (schema: ``cpuctl schema configversions``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpuctl.cli.answers.config.parts import StartOutcome, start_answer
from cpuctl.cli.answers.config.show_answer import stage_name
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.engine.release_effects import Effects
from cpuctl.kubelet.gates.feature_gates import GateStage
from cpuctl.kubelet.releases.changes import (
    BehaviourChange,
    FieldChange,
    FlagChange,
    GateChange,
    OptionChange,
    RuleChange,
    VersionChanges,
)


def versions_document(
    changes: VersionChanges,
    starts: tuple[StartOutcome, StartOutcome],
    head: Mapping[str, Any],
    *,
    everything: bool,
    effects: Effects | None = None,
) -> Document:
    """Describe what differs between two releases; without *everything* only what concerns the configuration.

    *effects* are those on state files and pods, None where there are neither.
    """
    parts: dict[str, list[dict[str, Any]]] = {
        "behaviours": [_behaviour(change, effects) for change in changes.behaviours],
        "featureGates": [_gate(change) for change in changes.gates],
        "options": [_option(change) for change in changes.options],
        "fields": [_field(change) for change in changes.fields],
        "flags": [_flag(change) for change in changes.flags],
        "rules": [_rule(change) for change in changes.rules],
    }
    shown = {
        name: [
            change
            for change in part
            if everything or change["concerns"] or change.get("shownByPods") or change.get("shownByState")
        ]
        for name, part in parts.items()
    }
    left_out = sum(map(len, parts.values())) - sum(map(len, shown.values()))
    start = {"from": start_answer(starts[0]), "to": start_answer(starts[1])}
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigVersions",
        **head,
        "start": start,
        **shown,
        "leftOut": left_out,
        **_pods(effects),
    }


def _pods(effects: Effects | None) -> dict[str, Any]:
    pods = None if effects is None else effects.pods
    return {} if pods is None else {"pods": [each._asdict() for each in pods]}


def _behaviour(change: BehaviourChange, effects: Effects | None) -> dict[str, Any]:
    difference = change.difference
    before, after = difference.before, difference.after
    return {
        "name": change.name,
        "area": str(difference.area),
        "since": f"1.{difference.since}",
        "backports": [f"1.{minor}.{patch}" for minor, patch in sorted(difference.patches.items())],
        "before": before if change.begins else after,
        "after": after if change.begins else before,
        "source": difference.source,
        "standing": str(difference.standing),
        "recordedOn": list(difference.recorded_on),
        "gate": difference.gate or None,
        "concerns": change.concerns,
        **({} if effects is None else _shown(change.name, effects)),
    }


def _shown(name: str, effects: Effects) -> dict[str, Any]:
    return {"shownByPods": name in effects.shown_by_pods, "shownByState": name in effects.shown_by_start}


def _gate(change: GateChange) -> dict[str, Any]:
    return {
        "gate": change.gate,
        "before": _stage(change.before),
        "after": _stage(change.after),
        "enabledBefore": change.on_before,
        "enabledAfter": change.on_after,
        "setTo": change.setting,
        "problem": change.problem or None,
        "concerns": change.concerns,
    }


def _stage(stage: GateStage | None) -> dict[str, Any] | None:
    if stage is None:
        return None
    return {
        "stage": stage_name(stage.stage),
        "default": stage.default,
        "locked": stage.locked,
        "verified": stage.verified,
    }


def _option(change: OptionChange) -> dict[str, Any]:
    return {
        "field": change.field,
        "option": change.option,
        "before": change.before or None,
        "after": change.after or None,
        "concerns": change.concerns,
    }


def _field(change: FieldChange) -> dict[str, Any]:
    return {"field": change.field, "since": f"1.{change.since}", "concerns": change.concerns}


def _flag(change: FlagChange) -> dict[str, Any]:
    return {
        "flag": f"--{change.flag}",
        "since": f"1.{change.since}",
        "known": change.known,
        "concerns": change.concerns,
    }


def _rule(change: RuleChange) -> dict[str, Any]:
    return {
        "setting": change.rule.field,
        "stage": change.rule.stage,
        "words": change.rule.words,
        "since": f"1.{change.since}",
        "known": change.known,
        "concerns": change.concerns,
    }
