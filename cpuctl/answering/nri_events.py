"""What a plug-in of a container runtime has answered, as plain data and as a line of a log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.plan.nri_answer import linux_answer
from cpuctl.phrases import few

if TYPE_CHECKING:
    from cpuctl.answers.nri import NRIEvent, NRIMatch, NRIOutcome
    from cpuctl.nri.model import Answer, RuntimeContainer, Setting

_FEW = 4


def event_document(name: str, answer: Answer, outcome: NRIOutcome, now: float) -> NRIEvent:
    """Report one answer, in the shape of the answers of ``plan -o nri``."""
    return {
        "apiVersion": API_VERSION,
        "kind": "NRIEvent",
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "event": name,
        "outcome": outcome,
        "match": _match(answer.container) if answer.container else None,
        "adjust": {"linux": linux_answer(*answer.adjust)} if answer.adjust else {},
        "update": [
            {"match": _match(each.container), "linux": linux_answer(*each.setting)} for each in answer.updates
        ],
        "notes": [*answer.notes],
    }


def event_line(answer: Answer, outcome: NRIOutcome) -> str:
    """Report one answer in a line; empty where nothing changes."""
    parts = []
    if answer.container is not None:
        if answer.adjust is None:
            parts.append(f"{answer.container.full_name}: untouched")
        else:
            whose = "its own" if answer.own else "shared"
            parts.append(f"{answer.container.full_name}: {_setting_text(answer.adjust, whose)}")
    groups: dict[Setting, list[str]] = {}
    for each in answer.updates:
        groups.setdefault(each.setting, []).append(each.container.full_name)
    for setting, names in groups.items():
        parts.append(f"{few(names, most=_FEW)}: now {_setting_text(setting)}")
    line = "; ".join(parts)
    return f"dry run: {line}" if line and outcome == "DryRun" else line


def _setting_text(setting: Setting, whose: str = "") -> str:
    parts = []
    if setting.cpus:
        parts.append(f"CPUs {setting.cpus}" + (f" ({whose})" if whose else ""))
    if setting.mems:
        parts.append(f"memory nodes {setting.mems}")
    return ", ".join(parts)


def _match(container: RuntimeContainer) -> NRIMatch:
    return {
        "namespace": container.pod.namespace,
        "pod": container.pod.name,
        "container": container.name,
    }
