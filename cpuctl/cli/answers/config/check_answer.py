"""The answer of ``cpuctl config check`` as a plain document (schema: ``cpuctl schema configcheck``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cpuctl.cli.answers.config.parts import (
    StartOutcome,
    mend_answer,
    place_of,
    pools_answer,
    settings_to_mend,
    start_answer,
    start_text,
)
from cpuctl.cli.answers.config.ways_out import way_out
from cpuctl.cli.answers.kubelet_view import topology_counts
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.engine.config_lints.lint import Lint, Severity
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.start import Started
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.remarks import ConfigWarning
from cpuctl.kubelet.configuration.settings import path_name
from cpuctl.kubelet.validation.later import not_looked_at
from cpuctl.kubelet.version import KubeletVersion

_LINE = re.compile(r"(?P<place>.*?:[0-9]+(?::[0-9]+)?)(?:: (?P<setting>.*))?", re.ASCII | re.DOTALL)


def check_document(
    loaded: LoadedConfiguration,
    outcome: StartOutcome,
    lints: Sequence[Lint],
    head: Mapping[str, Any],
    unseen: str = "",
) -> Document:
    """Say whether the kubelet would start, and what else there is to remark.

    *unseen* says which of the node's files were not looked at, with the command that does.
    """
    start = start_answer(outcome)
    if paths := settings_to_mend(outcome):
        start["mend"] = mend_answer(loaded, paths)
    findings = [
        *_refusal(loaded, outcome, lints),
        *(lint_answer(loaded, lint) for lint in lints if lint.severity is not Severity.INFO),
        *(_warning(warning) for warning in loaded.warnings),
        *(lint_answer(loaded, lint) for lint in lints if lint.severity is Severity.INFO),
    ]
    node = _node(outcome) if isinstance(outcome, Started) else {}
    document = _document(head, start, findings) | node
    if unseen:
        document["notLookedAt"] = [{"settings": [], "what": unseen}, *document["notLookedAt"]]
    return document


def _refusal(
    loaded: LoadedConfiguration, outcome: StartOutcome, lints: Sequence[Lint]
) -> list[dict[str, Any]]:
    """Make a start that fails an error among the findings, with the way out, unless a remark is one."""
    if isinstance(outcome, Started) or any(lint.severity is Severity.ERROR for lint in lints):
        return []
    paths = settings_to_mend(outcome)
    finding = Lint(
        severity=Severity.ERROR,
        code="undetermined" if isinstance(outcome, Undetermined) else "not-started",
        setting=paths[0] if paths else (),
        message=start_text(outcome),
        fix=way_out(outcome, loaded),
    )
    return [lint_answer(loaded, finding)]


def unloaded_document(refused: ConfigRefusedError, head: Mapping[str, Any]) -> Document:
    """Describe a configuration that the kubelet cannot even load."""
    where, setting = _place(refused.where)
    start = start_answer(refused.refusal) | {"mend": [{"setting": setting, "from": None, "where": where}]}
    findings = [_unloaded(refused, "not-loaded", refused.message)]
    later = "the kubelet comes to it once the first error is mended"
    findings += [_unloaded(each, "not-loaded-next", f"{each.message} ({later})") for each in refused.others]
    return _document(head, start, findings)


def _unloaded(error: InputError, code: str, message: str) -> dict[str, Any]:
    where, setting = _place(error.where)
    return {
        "severity": str(Severity.ERROR),
        "code": code,
        "setting": setting,
        "where": where,
        "expected": "",
        "detected": "",
        "message": message,
        "fix": error.hint or (f"leave out {setting}" if setting else ""),
    }


def _document(
    head: Mapping[str, Any], start: dict[str, Any], findings: list[dict[str, Any]]
) -> dict[str, Any]:
    counts = Counter(finding["severity"] for finding in findings)
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigCheck",
        **head,
        "start": start,
        "summary": {str(severity): counts[str(severity)] for severity in Severity},
        "findings": findings,
        "notLookedAt": [
            {"settings": list(each.fields), "what": each.what} for each in not_looked_at(_minor(head))
        ],
    }


def _minor(head: Mapping[str, Any]) -> int | None:
    version = head.get("kubelet", {}).get("version")
    return KubeletVersion.parse(version).minor if version else None


def _node(started: Started) -> dict[str, Any]:
    node: dict[str, Any] = topology_counts(started.topology) | {
        "cpuManagerPolicy": "none" if started.policy is None else "static",
        "topologyManagerPolicy": started.topology_manager.policy,
        "reservation": {name: str(amount) for name, amount in started.reserved.items()},
    }
    return {"node": node | pools_answer(started)}


def lint_answer(loaded: LoadedConfiguration, lint: Lint) -> dict[str, Any]:
    """Describe a remark, and where its setting stands."""
    return {
        "severity": str(lint.severity),
        "code": lint.code,
        "setting": path_name(lint.setting) or None,
        "where": place_of(loaded, lint.setting),
        "expected": lint.expected,
        "detected": lint.detected,
        "message": lint.message,
        "fix": lint.fix,
    }


def _warning(warning: ConfigWarning) -> dict[str, Any]:
    return {
        "severity": str(Severity.WARNING),
        "code": warning.code,
        "setting": warning.setting or None,
        "where": warning.place or None,
        "expected": warning.meant,
        "detected": warning.setting,
        "message": warning.message,
        "fix": f"write {warning.meant}" if warning.meant else "",
    }


def _place(where: str) -> tuple[str | None, str | None]:
    """Take ``kubelet.yaml:3: kubeReserved.cpu`` apart; without a line, it is all place."""
    found = _LINE.fullmatch(where)
    return (found["place"], found["setting"]) if found else (where or None, None)
