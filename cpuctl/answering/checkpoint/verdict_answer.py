"""The answer of ``cpuctl checkpoint verify`` as a plain document (schema: ``checkpointverify``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.answering.checkpoint.parts import file_answer, shortened
from cpuctl.answering.config.starts import (
    leave_out,
    not_started_answer,
    setting_place,
    settings_to_fix,
    start_answer,
    start_finding,
    start_text,
)
from cpuctl.answering.parts import found, graded
from cpuctl.diagnostics import Severity, counts, worst_first
from cpuctl.engine.start import Started
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.memory_findings import MemoryDrift
from cpuctl.engine.state_checks.verify import StateVerdict
from cpuctl.inputs.state_files import StateInput
from cpuctl.kubelet.configuration.notes import ConfigRemark, SettingPlace
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.operations.command_lines import CONFIG_CHECK
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.start import NotStarted, Start
    from cpuctl.answers.values import Sources
    from cpuctl.operations.configuration import StartOutcome


def verdict_document(
    verdict: StateVerdict, states: Sequence[StateInput], sources: Sources, kubelet: answers.ReadingKubelet
) -> answers.CheckpointVerify:
    """Report whether a kubelet starts on its files, the error of each, and other findings."""
    findings = _with_start(verdict.start, verdict.findings)
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointVerify",
        "sources": sources,
        "kubelet": kubelet,
        "start": outcome_answer(verdict.start),
        "files": [{**file_answer(state), "verdict": _of_file(verdict, state.file_name)} for state in states],
        "memoryDrift": None if verdict.drift is None else drift_answer(verdict.drift),
        "summary": counts(findings),
        "findings": [_finding(finding) for finding in findings],
    }


def unloaded_document(refused: ConfigRefusedError, sources: Sources) -> answers.CheckpointVerify:
    """Describe a kubelet that cannot even load its configuration."""
    found = findings_answer(tuple(unloaded_findings(refused)))
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckpointVerify",
        "sources": sources,
        "start": outcome_answer(refused.whole_refusal),
        "files": [],
        "memoryDrift": None,
        "summary": found["summary"],
        "findings": found["findings"],
    }


def unloaded_findings(refused: ConfigRefusedError) -> Iterator[StateFinding]:
    """Yield all errors of a configuration that cannot be loaded, as its check reports them."""
    fix = refused.hint or leave_out(setting_place(refused.where))
    yield StateFinding(Severity.ERROR, "not-started", StatePlace(""), str(refused), fix=fix)
    for each in refused.others:
        message = f"{each} (checked once the first error is fixed)"
        fix = each.hint or leave_out(setting_place(each.where))
        yield StateFinding(Severity.ERROR, "not-loaded-next", StatePlace(""), message, fix=fix)


def _with_start(start: StartOutcome, findings: Sequence[StateFinding] = ()) -> Sequence[StateFinding]:
    """Add a failed start to the findings as an error, unless one of them explains it."""
    if isinstance(start, Started):
        return findings
    severity, code = start_finding(start)
    by_settings = bool(settings_to_fix(start))
    if severity is Severity.ERROR and not by_settings and any(each.severity is severity for each in findings):
        return findings
    of_settings = StateFinding(severity, code, StatePlace(""), start_text(start), fix=CONFIG_CHECK)
    return worst_first((of_settings, *findings))


def findings_answer(findings: Sequence[StateFinding]) -> answers.FoundInFiles:
    """List findings and count them."""
    return {"summary": counts(findings), "findings": [_finding(finding) for finding in findings]}


def as_findings(verdict: StateVerdict, states: Sequence[StateInput]) -> list[ConfigRemark]:
    """Describe findings about state files for the check of a configuration: they have no setting."""
    sources: dict[str, str] = {state.file_name: state.source for state in states}
    return [_shortened(each).at(SettingPlace("", sources[each.place.file_name])) for each in verdict.findings]


def outcome_answer(outcome: StartOutcome) -> Start:
    """Describe the outcome of a start; texts that quote a file are cut."""
    return shortened_start(start_answer(outcome))


def shortened_start(start: Start) -> Start:
    """Cut the texts that quote a file."""
    return start if start["outcome"] == "Started" else _shortened_refusal(start)


def _shortened_refusal(refusal: NotStarted) -> NotStarted:
    if refusal["outcome"] == "Rejected":
        refusal["error"] = shortened(refusal["error"])
        if "logged" in refusal:
            refusal["logged"] = shortened(refusal["logged"])
    else:
        refusal["why"] = shortened(refusal["why"])
    return refusal


def _of_file(verdict: StateVerdict, file_name: str) -> answers.FileVerdict:
    refusal = verdict.refusals.get(file_name)
    failure = verdict.readings.get(file_name)
    if refusal is None and failure == "unread":
        return {"outcome": "NotRead"}
    if refusal is None and file_name in verdict.passed_over:
        return {"outcome": "Skipped"}
    if refusal is None:
        return {"outcome": "Accepted" if verdict.reached else "NotReached"}
    return _shortened_refusal(not_started_answer(refusal))


def drift_answer(drift: MemoryDrift) -> answers.MemoryDrift:
    """Describe differences between the machine's memory and the file."""
    return {
        "kind": drift.kind.value,
        "podsNoLongerFit": drift.misfit,
        "changes": [
            {
                "numaNode": change.node,
                "resource": change.resource or None,
                "field": change.amount.value,
                "saved": change.before,
                "now": change.after,
                "cause": cause.value,
            }
            for change, cause in drift.changes
        ],
    }


def _finding(finding: StateFinding) -> answers.StateFinding:
    place = finding.place
    return {
        **graded(finding),
        "file": place.file_name,
        "podUID": place.pod_uid or None,
        "container": place.container or None,
        **found(_shortened(finding)),
    }


def _shortened(finding: StateFinding) -> StateFinding:
    """Cut the texts that may quote a file."""
    return replace(
        finding,
        message=shortened(finding.message),
        expected=shortened(finding.expected),
        detected=shortened(finding.detected),
    )
