"""The answer of ``cpuctl checkpoint verify`` as a plain document (schema: ``checkpointverify``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cpuctl.cli.answers.checkpoint.parts import file_answer, shortened
from cpuctl.cli.answers.config.parts import (
    StartOutcome,
    settings_to_mend,
    start_answer,
    start_finding,
    start_text,
)
from cpuctl.cli.answers.diagnostics import finding_answer
from cpuctl.cli.output import API_VERSION
from cpuctl.diagnostics import Severity, counts, worst_first
from cpuctl.engine.saved_files import Reading
from cpuctl.engine.start import Started
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.memory_drift import MemoryDrift
from cpuctl.engine.state_checks.verify import StateVerdict
from cpuctl.inputs.state_files import StateInput
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.remarks import ConfigRemark, SettingPlace

if TYPE_CHECKING:
    from cpuctl.answers.start import Start

_FIELDS = {"system_reserved": "systemReserved"}


def verdict_document(
    verdict: StateVerdict, states: Sequence[StateInput], head: Mapping[str, Any]
) -> dict[str, Any]:
    """Say whether a kubelet starts on its files, what stands against each, and what else is wrong."""
    return _document(head, verdict.start) | {
        "files": [file_answer(state) | {"verdict": _of_file(verdict, state.file_name)} for state in states],
        "memoryDrift": None if verdict.drift is None else drift_answer(verdict.drift),
        **findings_answer(_told(verdict.start, verdict.findings)),
    }


def unloaded_document(refused: ConfigRefusedError, head: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a kubelet that cannot even load its configuration."""
    return _document(head, refused.refusal) | {
        "files": [],
        "memoryDrift": None,
        **findings_answer((*_told(refused.refusal), *_later(refused))),
    }


def _later(refused: ConfigRefusedError) -> Iterator[StateFinding]:
    for each in refused.others:
        message = f"{each} (the kubelet comes to it once the first error is mended)"
        yield StateFinding(Severity.ERROR, "not-loaded-next", StatePlace(""), message)


def _told(start: StartOutcome, findings: Sequence[StateFinding] = ()) -> Sequence[StateFinding]:
    """Make a start that fails an error among the findings, unless one of them says why."""
    if isinstance(start, Started):
        return findings
    severity, code = start_finding(start)
    by_settings = bool(settings_to_mend(start))
    if severity is Severity.ERROR and not by_settings and any(each.severity is severity for each in findings):
        return findings
    message = f"{start_text(start)} (cpuctl config check says what to mend)"
    return worst_first((StateFinding(severity, code, StatePlace(""), message), *findings))


def _document(head: Mapping[str, Any], outcome: StartOutcome) -> dict[str, Any]:
    start = outcome_answer(outcome)
    return {"apiVersion": API_VERSION, "kind": "CheckpointVerify", **head, "start": start}


def findings_answer(findings: Sequence[StateFinding]) -> dict[str, Any]:
    """List findings and count them."""
    return {"summary": counts(findings), "findings": [_finding(finding) for finding in findings]}


def as_remarks(verdict: StateVerdict, states: Sequence[StateInput]) -> list[ConfigRemark]:
    """Describe what is found in state files for the check of a configuration: it is about no setting."""
    sources = {state.file_name: state.source for state in states}
    return [_shortened(each).at(SettingPlace("", sources[each.place.file_name])) for each in verdict.findings]


def outcome_answer(outcome: StartOutcome) -> Start:
    """Say how a start ends; texts that quote a file are cut."""
    return shortened_start(start_answer(outcome))


def shortened_start(start: Start) -> Start:
    """Cut the texts that quote a file."""
    if start["outcome"] == "Refused":
        start["error"] = shortened(start["error"])
        if "logged" in start:
            start["logged"] = shortened(start["logged"])
    elif start["outcome"] != "Started":
        start["why"] = shortened(start["why"])
    return start


def _of_file(verdict: StateVerdict, file_name: str) -> dict[str, Any]:
    refusal = verdict.refusals.get(file_name)
    reading = verdict.readings.get(file_name)
    if refusal is None and reading is Reading.UNREAD:
        return {"outcome": "NotRead"}
    if refusal is None and file_name in verdict.passed_over:
        return {"outcome": "PassedOver"}
    if refusal is None:
        return {"outcome": "Accepted" if verdict.reached else "NotReached"}
    return {**outcome_answer(refusal)}


def drift_answer(drift: MemoryDrift) -> dict[str, Any]:
    """Describe how the machine's memory differs from what the file says."""
    return {
        "kind": str(drift.kind),
        "misfit": drift.misfit,
        "changes": [
            {
                "numaNode": change.node,
                "resource": change.resource or None,
                "field": _FIELDS.get(change.field, change.field),
                "saved": change.before,
                "now": change.after,
                "cause": str(cause),
            }
            for change, cause in drift.changes
        ],
    }


def _finding(finding: StateFinding) -> dict[str, Any]:
    place = finding.place
    return finding_answer(
        _shortened(finding),
        file=place.file_name,
        podUID=place.pod_uid or None,
        container=place.container or None,
    )


def _shortened(finding: StateFinding) -> StateFinding:
    """Cut what may quote a file."""
    return finding._replace(
        message=shortened(finding.message),
        expected=shortened(finding.expected),
        detected=shortened(finding.detected),
    )
