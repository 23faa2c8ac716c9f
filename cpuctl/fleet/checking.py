"""What is wrong with one node of a fleet: its configuration, its state files, and what runs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_args

from cpuctl.answering import API_VERSION
from cpuctl.answering.metrics import gauge
from cpuctl.answering.node_checks import audit_node, check_configuration, verify_state
from cpuctl.answers.fleet import FleetCheckName
from cpuctl.audit.check_names import CHECK_NAMES
from cpuctl.diagnostics import SEVERITIES
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.exports.answer_text import advice
from cpuctl.exports.same_cause import findings_of_audit
from cpuctl.fleet.asking import KubeletFiles, assumed_of
from cpuctl.fleet.facts import content_digest
from cpuctl.fleet.varying_text import in_common, kind_of, skeleton
from cpuctl.inputs.kubelet import load_cgroup_version
from cpuctl.inputs.live_node import NodeInputs, load_node, observe_settled
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import THE_FLAGS, Sources
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.checkpoint import CheckpointVerify
    from cpuctl.answers.fleet import (
        CheckedNode,
        FleetCheck,
        FleetCheckSummary,
        FleetFinding,
        FleetPartName,
        FleetUnchecked,
        NodeFinding,
        UncheckedPart,
        UnreadableNode,
    )
    from cpuctl.answers.start import Start
    from cpuctl.answers.values import Found, Graded, Metric
    from cpuctl.fleet.collection import Recording
    from cpuctl.fleet.topology_check import PublishedNodes
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod

    class AnyFinding(Graded, Found):
        """The members that every finding has."""


CHECKS: tuple[FleetCheckName, ...] = get_args(FleetCheckName)[:-1]
"""The checks that only need recordings."""
NRT: FleetCheckName = "nrt"
"""The check of published objects, which must be given."""
_OF_THE_START = {"not-started", "undetermined", "not-loaded-next"}
_NOT_LOADED = "everything: the kubelet cannot load its configuration"
_ASSUMED = "the kubelet's configuration: none is recorded, its defaults are assumed"
_ENDS_BEFORE = "the kubelet exits before it reads its state files"
_NO_STATE = "state files: none are recorded"


def named_checks(text: str, *, published: bool = False) -> tuple[FleetCheckName, ...]:
    """Read a list of checks, all if none is named; raise UsageError for an unknown one.

    *published*: whether published objects are given, and can be checked.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    known = (*CHECKS, NRT) if published else CHECKS
    if unknown := sorted(names.difference(known)):
        if unknown[0] == NRT:
            needs = "kubectl get noderesourcetopologies -o json > nrt.json, then add --nrt nrt.json"
            raise UsageError("needs the published objects", where="--check nrt", hint=needs)
        from cpuctl.spelling import did_you_mean

        others = "" if published else f", {NRT} (with --nrt FILE)"
        hint = did_you_mean(unknown[0], known, f"choose from {', '.join(known)}{others}")
        raise UsageError(f"unknown check {unknown[0]!r}", where="--check", hint=hint)
    return tuple(name for name in known if name in names or not names)


class _Checked(NamedTuple):
    """The result of one check: findings, what was not checked, and the kubelet's start, if it covers that.

    ``state`` is the answer of the check of the state files.
    """

    findings: Sequence[NodeFinding] = ()
    unchecked: Sequence[UncheckedPart] = ()
    start: Start | None = None
    state: CheckpointVerify | None = None


class NodeChecker(KubeletFiles):
    """Checks one node after another, in the same way as the commands that check a single node."""

    def __init__(
        self,
        kubelet: KubeletInputs,
        checks: Sequence[FleetCheckName] = CHECKS,
        published: PublishedNodes | None = None,
        releases: Mapping[str, str] = {},
        pods: Mapping[str, Sequence[Pod]] | None = None,
    ) -> None:
        """Store the kubelets' settings; *pods* are those of the API server by node, None if unknown."""
        self._kubelet, self._checks, self._published = kubelet, checks, published
        self._releases, self._pods = releases, pods or {}

    def asks(self, name: str) -> str:
        """Name the question, with the kubelets' settings and what is published about the node."""
        published = f" {self._published.digest(name)}" if self._published else ""
        return f"check {','.join(self._checks)} {self._asks_kubelet(name)}{published}{self._asks_pods(name)}"

    def _asks_pods(self, name: str) -> str:
        if not self._pods:
            return ""
        # A recording of several nodes has a name different from theirs.
        return f" {content_digest(self._pods[name]) if name in self._pods else self._all_pods}"

    @cached_property
    def _all_pods(self) -> str:
        return content_digest(sorted(self._pods.items()))

    def __call__(self, recording: Recording) -> CheckedNode:
        """Read a recording and check it; raise CpuctlError if it cannot be used."""
        name, source, sources = recording.name, recording.source, Sources()
        found = list(self._found(load_machine(source, Sources()), recording, sources))
        starts = [each.start for each in found if each.start is not None]
        failing = (start for start in starts if start["outcome"] != "Started")
        findings = [_local(finding, source) for each in found for finding in each.findings]
        severities = [finding["severity"] for finding in findings]
        return {
            "node": name,
            "source": source,
            "answerKey": None,
            "outcome": "Read",
            "start": next(failing, starts[0] if starts else None),
            "summary": {
                "error": severities.count("error"),
                "warning": severities.count("warning"),
                "note": severities.count("note"),
            },
            "findings": sorted(findings, key=lambda each: SEVERITIES.index(each["severity"])),
            "unchecked": [
                {**each, "missing": _without_source(each["missing"], source)}
                for one in found
                for each in one.unchecked
            ],
            "assumed": assumed_of(sources, source),
        }

    def _found(self, machine: MachineSource, recording: Recording, sources: Sources) -> Iterator[_Checked]:
        """Run all checks; the origin of the configuration goes to *sources*."""
        name, source = recording.name, recording.source
        kubelet = self._inputs_of(name)
        # A node without pods may have none, or another name.
        listed = tuple(self._pods[name]) if name in self._pods else None
        inputs = CheckpointInputs(kubelet=kubelet, listed=listed)
        configured = _configured(inputs, machine, sources)
        if "config" in self._checks:
            yield configured
        state = _Checked()
        if "state" in self._checks:
            state = _of_state(inputs, machine, configured if "config" in self._checks else None)
            yield state
        if "audit" in self._checks:
            node = NodeInputs(machine=source, kubelet=kubelet, listed=listed)
            yield _of_audit(node, machine, state.state)
        if self._published and NRT in self._checks:
            assumed = sources.assumes_configuration
            yield _of_published(self._published, kubelet, recording, assumed=assumed)


def _configured(inputs: CheckpointInputs, machine: MachineSource, sources: Sources) -> _Checked:
    """Check the configuration alone: state files have their own check."""
    cgroup_version = load_cgroup_version("", machine, sources)
    document = check_configuration(inputs, machine, cgroup_version, sources, with_states=False)
    missing = [each["what"] for each in document["notChecked"] if each["what"].startswith(THE_FLAGS)]
    if sources.assumes_configuration:
        missing.insert(0, _ASSUMED)
    findings = [
        _finding("config", each["setting"] or "", each["where"] or "", each) for each in document["findings"]
    ]
    return _Checked(findings, _unchecked("config", missing), document["start"])


def _unchecked(check: FleetCheckName, missing: Iterable[str]) -> list[UncheckedPart]:
    return [{"check": check, "missing": each} for each in missing]


def _of_state(inputs: CheckpointInputs, machine: MachineSource, configured: _Checked | None) -> _Checked:
    """Check state files; failed starts that the configuration causes are reported by its check."""
    sources = Sources()
    try:
        document = verify_state(inputs, sources, machine)
    except CpuctlError as error:
        return _Checked(unchecked=_unchecked("state", [str(error)]))
    not_started = configured is not None and configured.start != {"outcome": "Started"}
    findings = [
        _finding("state", each["file"], "", each)
        for each in document["findings"]
        if not (not_started and not each["file"] and each["code"] in _OF_THE_START)
    ]
    missing = [_ASSUMED] if configured is None and sources.assumes_configuration else []
    if not document["files"]:
        missing.append(_ENDS_BEFORE if "kubelet" not in document else _NO_STATE)
    elif any(each["verdict"]["outcome"] == "NotReached" for each in document["files"]):
        missing.append(_ENDS_BEFORE)
    return _Checked(findings, _unchecked("state", missing), document["start"], document)


def _of_audit(inputs: NodeInputs, machine: MachineSource, state: CheckpointVerify | None) -> _Checked:
    """Audit the node; what the check of its *state* files also finds is left out."""
    sources = Sources()
    try:
        node = load_node(inputs, sources, machine, goes_without=True)
        observed = observe_settled(node, lambda *_: None)
        document = audit_node(inputs, observed.node, observed.snapshot, CHECK_NAMES, sources)
    except CpuctlError as error:
        return _Checked(unchecked=_unchecked("audit", [str(error)]))
    findings = [
        _finding("audit", each["subject"], each["path"] or "", each)
        for each in findings_of_audit(document, state)
    ]
    return _Checked(findings, _unchecked("audit", (each["missing"] for each in document["unchecked"])))


def _of_published(
    published: PublishedNodes, kubelet: KubeletInputs, recording: Recording, *, assumed: bool
) -> _Checked:
    """Check what is published about the node."""
    try:
        compared = published.compare(kubelet, recording.source, recording.name, assumed=assumed)
    except ConfigRefusedError:
        return _Checked(unchecked=_unchecked(NRT, [_NOT_LOADED]))
    except CpuctlError as error:
        return _Checked(unchecked=_unchecked(NRT, [str(error)]))
    findings: list[NodeFinding] = [
        {
            "check": NRT,
            "severity": each.severity.value,
            "code": each.code,
            "subject": str(each.place),
            "where": "",
            "expected": each.expected,
            "detected": each.detected,
            "message": each.message,
            "fix": "",
        }
        for each in compared.findings
    ]
    return _Checked(findings, _unchecked(NRT, compared.missing))


def _finding(check: FleetCheckName, about: str, where: str, finding: AnyFinding) -> NodeFinding:
    answer: NodeFinding = {
        "check": check,
        "severity": finding["severity"],
        "code": finding["code"],
        "subject": about,
        "where": where,
        "expected": finding["expected"],
        "detected": finding["detected"],
        "message": finding["message"],
        "fix": finding["fix"],
    }
    if "see" in finding:
        answer["see"] = finding["see"]
    return answer


def _local(finding: NodeFinding, source: str) -> NodeFinding:
    """Phrase a finding as on the node: the row already names the recording."""
    local: NodeFinding = {
        **finding,
        "where": _without_source(finding["where"], source),
        "message": _without_source(finding["message"], source),
        "fix": _without_source(finding["fix"], source),
    }
    if "see" in finding:
        local["see"] = _without_source(finding["see"], source)
    return local


def _without_source(text: str, source: str) -> str:
    return text.replace(f"{source}: ", "").replace(source, "the recording")


# The answer of ``cpuctl fleet check``: findings on many nodes, each reported once.
#
# Findings on different nodes are the same if their codes are equal, and their texts apart from names and
# numbers.

Node: TypeAlias = "CheckedNode | UnreadableNode"


def fleet_check_document(
    nodes: Sequence[Node],
    checks: Sequence[FleetCheckName],
    *,
    passed_over: Sequence[str] = (),
    complete: bool = True,
) -> FleetCheck:
    """Combine nodes and their findings into one document."""
    read = [node for node in nodes if node["outcome"] == "Read"]
    findings = fleet_findings(read)
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetCheck",
        "complete": complete,
        "skipped": list(passed_over),
        "checks": list(checks),
        "summary": _summary(nodes, findings),
        "findings": findings,
        "unchecked": _unchecked_answer(read),
        "nodes": list(nodes),
    }


def is_clean(node: CheckedNode, *, strict: bool = True) -> bool:
    """Return whether all was checked, the kubelet starts, and nothing is wrong; if *strict*, no warnings."""
    starts = node["start"] is None or node["start"]["outcome"] == "Started"
    wrong = node["summary"]["error"] or (strict and node["summary"]["warning"])
    return starts and not wrong and not node["unchecked"]


def _summary(nodes: Sequence[Node], findings: Sequence[FleetFinding]) -> FleetCheckSummary:
    read = [node for node in nodes if node["outcome"] == "Read"]
    starts = [node["start"]["outcome"] for node in read if node["start"] is not None]
    severities = [finding["severity"] for finding in findings]
    return {
        "nodes": len(nodes),
        "clean": sum(map(is_clean, read)),
        "wouldNotStart": sum(start in ("Rejected", "KubeletFault") for start in starts),
        "undetermined": starts.count("Undetermined"),
        "unchecked": sum(bool(node["unchecked"]) for node in read),
        "unreadable": len(nodes) - len(read),
        "error": severities.count("error"),
        "warning": severities.count("warning"),
        "note": severities.count("note"),
    }


def fleet_findings(nodes: Iterable[CheckedNode]) -> list[FleetFinding]:
    """Merge equal findings, the worst first, then those of most nodes."""
    return same_findings((node["node"], each) for node in nodes for each in node["findings"])


def same_findings(findings: Iterable[tuple[str, NodeFinding]]) -> list[FleetFinding]:
    """Merge findings, given with the names of their nodes, as ``fleet_findings`` does."""
    found: dict[tuple[str, ...], list[tuple[str, NodeFinding]]] = {}
    for node, each in findings:
        found.setdefault(kind_of(each), []).append((node, each))
    answers = (_together(members) for members in found.values())
    return sorted(answers, key=lambda each: (SEVERITIES.index(each["severity"]), -len(each["nodes"])))


def _together(members: Sequence[tuple[str, NodeFinding]]) -> FleetFinding:
    first = members[0][1]
    findings = [finding for _, finding in members]
    fixes = {advice(finding) for finding in findings}
    answer: FleetFinding = {
        "check": first["check"],
        "severity": first["severity"],
        "code": first["code"],
        "subject": in_common([each["subject"] for each in findings]),
        "where": in_common([each["where"] for each in findings]),
        "expected": in_common([each["expected"] for each in findings]),
        "detected": in_common([each["detected"] for each in findings]),
        "message": in_common([each["message"] for each in findings]),
        # A command with a gap is useless.
        "fix": first["fix"] if len(fixes) == 1 else "",
        "count": len(members),
        "nodes": list(dict.fromkeys(node for node, _ in members)),
    }
    if "see" in first and len(fixes) == 1:
        answer["see"] = first["see"]
    return answer


def _unchecked_answer(nodes: Iterable[CheckedNode]) -> list[FleetUnchecked]:
    found: dict[tuple[FleetPartName, str], list[tuple[str, str]]] = {}
    for node in nodes:
        for each in node["unchecked"]:
            members = found.setdefault((each["check"], skeleton(each["missing"])), [])
            members.append((node["node"], each["missing"]))
    answers: list[FleetUnchecked] = [
        {
            "check": check,
            "missing": in_common([missing for _, missing in members]),
            "nodes": list(dict.fromkeys(node for node, _ in members)),
        }
        for (check, _), members in found.items()
    ]
    return sorted(answers, key=lambda each: -len(each["nodes"]))


def check_metrics(document: FleetCheck) -> Iterator[Metric]:
    """Yield metrics of the nodes and the findings on them for a monitoring system."""
    summary = document["summary"]
    yield gauge("fleet_nodes", "Nodes in the fleet.", {}, summary["nodes"])
    yield gauge("fleet_clean_nodes", "Nodes without findings other than notes.", {}, summary["clean"])
    yield gauge("fleet_unreadable_nodes", "Recordings that could not be read.", {}, summary["unreadable"])
    for check in document["checks"]:
        nodes = {node for each in document["unchecked"] if each["check"] == check for node in each["nodes"]}
        help_ = "Nodes that could not be checked completely."
        yield gauge("fleet_unchecked_nodes", help_, {"check": check}, len(nodes))
    help_ = "Nodes whose kubelet would not start, or for which this is unknown."
    yield gauge("fleet_not_starting_nodes", help_, {"start": "no"}, summary["wouldNotStart"])
    yield gauge("fleet_not_starting_nodes", help_, {"start": "undetermined"}, summary["undetermined"])
    yield from _of_findings(document["findings"])
    for node in document["nodes"]:
        if node["outcome"] == "Read":
            for severity in ("error", "warning"):
                labels = {"node": node["node"], "severity": severity}
                yield gauge("fleet_node_findings", "Findings of a node.", labels, node["summary"][severity])


def _of_findings(findings: Iterable[FleetFinding]) -> Iterator[Metric]:
    series: dict[tuple[str, ...], list[FleetFinding]] = {}
    for finding in findings:
        series.setdefault((finding["check"], finding["code"], finding["severity"]), []).append(finding)
    for values, members in series.items():
        labels = dict(zip(("check", "code", "severity"), values, strict=True))
        count = sum(each["count"] for each in members)
        yield gauge("fleet_findings", "Number of findings.", labels, count)
        nodes = {node for each in members for node in each["nodes"]}
        help_ = "Nodes with findings."
        yield gauge("fleet_affected_nodes", help_, labels, len(nodes))
