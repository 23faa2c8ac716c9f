"""The part of answers about whether a kubelet starts, and which settings must change if it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.diagnostics import Severity
from cpuctl.engine.outcome import KubeletFault, StartRefused, Undetermined
from cpuctl.engine.start import LOADING, Started
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.misplaced import moved_out
from cpuctl.kubelet.configuration.notes import SettingPlace
from cpuctl.kubelet.configuration.refusal import Refusal
from cpuctl.kubelet.configuration.settings import OriginKind, path_name

if TYPE_CHECKING:
    from cpuctl.answers.start import NotStarted, Remedy, SettingToFix, Start
    from cpuctl.operations.configuration import NotStartedOutcome, StartOutcome

_LINE = r"(?P<place>.*?:[0-9]+(?::[0-9]+)?)(?:: (?P<setting>.*))?"


def start_answer(outcome: StartOutcome) -> Start:
    """Describe whether the kubelet starts, and in its own words why not."""
    return {"outcome": "Started"} if isinstance(outcome, Started) else not_started_answer(outcome)


def not_started_answer(outcome: NotStartedOutcome) -> NotStarted:
    """Describe in the kubelet's own words why it does not start, or why that is unknown."""
    match outcome:
        case StartRefused(stage=stage, error=error):
            return {"outcome": "Rejected", "stage": stage, "error": error}
        case KubeletFault(kind=kind, where=where, why=why):
            return {"outcome": "KubeletFault", "fault": kind.value, "where": where, "why": why}
        case Refusal(crash=True, error=error):
            return {
                "outcome": "KubeletFault",
                "fault": "crash",
                "where": LOADING,
                "why": error,
                **_remedy(outcome),
            }
        case Refusal(stage=stage, error=error, logged=logged):
            return {
                "outcome": "Rejected",
                "stage": stage,
                "error": error,
                "logged": logged,
                **_remedy(outcome),
            }
        case Undetermined():
            return {"outcome": "Undetermined", "why": outcome.text}


def _remedy(refusal: Refusal) -> Remedy:
    """Return what to fix first, how, and what to do next."""
    answer: Remedy = {}
    if refusal.later:
        answer["later"] = list(refusal.later)
    place = setting_place(refusal.where)
    if place.setting or place.where:
        answer["settingsToFix"] = [
            {"setting": place.setting or None, "from": None, "where": place.where or None}
        ]
    if fix := refusal.fix or leave_out(place):
        answer["fix"] = fix
    return answer


def setting_place(where: str) -> SettingPlace:
    """Split ``kubelet.yaml:3: kubeReserved.cpu``; without a line number, all of it is the place."""
    found = re.fullmatch(_LINE, where, re.ASCII | re.DOTALL)
    return SettingPlace(found["setting"] or "", found["place"]) if found else SettingPlace("", where)


def leave_out(place: SettingPlace) -> str:
    """Return the fix that always works: a setting in its own place, or its default without it."""
    return moved_out(place.setting) or (f"remove {place.setting}" if place.setting else "")


def start_to_fix(loaded: LoadedConfiguration, outcome: StartOutcome) -> Start:
    """Describe whether the kubelet starts, and the places of the settings that it rejects."""
    start = start_answer(outcome)
    if start["outcome"] in ("Rejected", "KubeletFault") and (paths := settings_to_fix(outcome)):
        paths = tuple(gate_by_flag(loaded, path, start_text(outcome)) for path in paths)
        start["settingsToFix"] = fix_answer(loaded, paths)
    return start


def gate_by_flag(loaded: LoadedConfiguration, path: tuple[str, ...], error: str) -> tuple[str, ...]:
    """Return the path of a gate in an error that a flag sets, also beside a file with gates; else *path*."""
    named = (name for name in loaded.gate_flags if re.search(rf"\b{re.escape(name)}\b", error))
    gate = next(named, "") if path == ("featureGates",) else ""
    return (*path, gate) if gate else path


def start_text(outcome: StartOutcome) -> str:
    """Return in one text why a kubelet does not start."""
    answer = start_answer(outcome)
    return str(answer.get("error") or answer.get("why") or "")


def start_finding(outcome: StartOutcome) -> tuple[Severity, str]:
    """Return severity and code of a start that does not succeed; an unknown outcome is not an error."""
    if isinstance(outcome, Undetermined):
        return Severity.NOTE, "undetermined"
    return Severity.ERROR, "not-started"


def settings_to_fix(outcome: StartOutcome) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the settings that the kubelet rejects, each once."""
    if isinstance(outcome, StartRefused):
        return tuple(dict.fromkeys(path for path in outcome.settings if path))
    at_gates = isinstance(outcome, KubeletFault) and outcome.where == LOADING
    return (("featureGates",),) if at_gates else ()


def fix_answer(loaded: LoadedConfiguration, paths: Iterable[tuple[str, ...]]) -> list[SettingToFix]:
    """Describe where each setting is set; one that is not set must be added."""
    answer: list[SettingToFix] = []
    for path in paths:
        origin = loaded.origin(*path)
        answer.append({"setting": path_name(path), "from": origin.kind.value, "where": origin.place or None})
    return answer


def place_of(loaded: LoadedConfiguration, path: tuple[str, ...]) -> str | None:
    """Return the file and line, or the flag, of a setting; None if it has its default."""
    if not path:
        return None
    origin = loaded.origin(*path)
    return None if origin.kind is OriginKind.DEFAULT else origin.place
