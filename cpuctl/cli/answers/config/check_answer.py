"""The answer of ``cpuctl config check`` as a plain document (schema: ``cpuctl schema configcheck``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cpuctl.cli.answers.config.parts import (
    StartOutcome,
    mend_answer,
    place_of,
    pools_answer,
    settings_to_mend,
    start_answer,
    start_finding,
    start_text,
)
from cpuctl.cli.answers.config.ways_out import way_out
from cpuctl.cli.answers.diagnostics import finding_answer
from cpuctl.cli.answers.kubelet_view import topology_counts
from cpuctl.cli.output import API_VERSION, Document
from cpuctl.diagnostics import Severity, counts, worst_first
from cpuctl.engine.config_lints.lint import Lint
from cpuctl.engine.start import Started
from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.loading import LoadedConfiguration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.remarks import ConfigRemark, SettingPlace
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
    in_states: Sequence[ConfigRemark] = (),
) -> Document:
    """Say whether the kubelet would start, and what else there is to remark, *in_states* among it.

    An error in a state file takes the place of the start that fails for it. *unseen* says which of the
    node's files were not looked at, with the command that does.
    """
    start: dict[str, Any] = {**start_answer(outcome)}
    if paths := settings_to_mend(outcome):
        start["mend"] = mend_answer(loaded, paths)
    remarks = [remark_on(loaded, lint) for lint in lints]
    refusal = _refusal(loaded, outcome, (*remarks, *in_states))
    findings = worst_first((*refusal, *remarks, *loaded.warnings, *in_states))
    node = _node(outcome) if isinstance(outcome, Started) else {}
    document = _document(head, start, findings) | node
    if unseen:
        document["notLookedAt"] = [{"settings": [], "what": unseen}, *document["notLookedAt"]]
    return document


def _refusal(
    loaded: LoadedConfiguration, outcome: StartOutcome, remarks: Iterable[ConfigRemark]
) -> Iterator[ConfigRemark]:
    """Make a start that fails an error among the findings, with the way out, unless a remark tells the same.

    One that cannot be told is no error.
    """
    if isinstance(outcome, Started):
        return
    paths = settings_to_mend(outcome)
    severity, code = start_finding(outcome)
    names = [path_name(path) for path in paths]
    if severity is Severity.ERROR and any(_tells(remark, names) for remark in remarks):
        return
    finding = Lint(
        severity=severity,
        code=code,
        place=paths[0] if paths else (),
        message=start_text(outcome),
        fix=way_out(outcome, loaded),
    )
    yield remark_on(loaded, finding)


def _tells(remark: ConfigRemark, names: Sequence[str]) -> bool:
    """Tell whether a remark is an error of one of these settings; without names any error will do."""
    setting = remark.place.setting
    about = not names or any(_within(setting, name) or _within(name, setting) for name in names)
    return remark.severity is Severity.ERROR and about


def _within(part: str, whole: str) -> bool:
    return part == whole or part.startswith((f"{whole}.", f"{whole}["))


def unloaded_document(refused: ConfigRefusedError, head: Mapping[str, Any]) -> Document:
    """Describe a configuration that the kubelet cannot even load."""
    place = _place(refused.where)
    start = start_answer(refused.refusal) | {
        "mend": [{"setting": place.setting or None, "from": None, "where": place.where or None}]
    }
    findings = [_unloaded(refused, "not-loaded", refused.message)]
    later = "the kubelet comes to it once the first error is mended"
    findings += [_unloaded(each, "not-loaded-next", f"{each.message} ({later})") for each in refused.others]
    return _document(head, start, findings)


def _unloaded(error: InputError, code: str, message: str) -> ConfigRemark:
    place = _place(error.where)
    return ConfigRemark(
        severity=Severity.ERROR,
        code=code,
        place=place,
        message=message,
        fix=error.hint or (f"leave out {place.setting}" if place.setting else ""),
    )


def _document(
    head: Mapping[str, Any], start: dict[str, Any], findings: Sequence[ConfigRemark]
) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigCheck",
        **head,
        "start": start,
        "summary": counts(findings),
        "findings": [remark_answer(finding) for finding in findings],
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


def remark_on(loaded: LoadedConfiguration, lint: Lint) -> ConfigRemark:
    """Say where the setting stands that a remark is about."""
    return lint.at(SettingPlace(path_name(lint.place), place_of(loaded, lint.place) or ""))


def remark_answer(remark: ConfigRemark) -> dict[str, Any]:
    """Describe a remark, and where its setting stands."""
    place = remark.place
    return finding_answer(remark, setting=place.setting or None, where=place.where or None)


def _place(where: str) -> SettingPlace:
    """Take ``kubelet.yaml:3: kubeReserved.cpu`` apart; without a line, it is all place."""
    found = _LINE.fullmatch(where)
    return SettingPlace(found["setting"] or "", found["place"]) if found else SettingPlace("", where)
