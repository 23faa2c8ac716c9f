"""What is wrong with one node of a fleet: its configuration, its state files, and what runs there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, get_args

from cpuctl.answering.node_checks import audit_node, check_configuration, verify_state
from cpuctl.answers.fleet import FleetCheckName
from cpuctl.audit.check_names import CHECK_NAMES
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.fleet.asking import KubeletFiles, assumed_of
from cpuctl.fleet.facts import content_digest
from cpuctl.inputs.kubelet import load_cgroup_version
from cpuctl.inputs.live_node import NodeInputs, load_node, observe_settled
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.state_files import CheckpointInputs
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cpuctl.answers.fleet import CheckedNode, NodeFinding, UncheckedPart
    from cpuctl.answers.start import Start
    from cpuctl.answers.values import Found, Graded
    from cpuctl.fleet.collection import Recording
    from cpuctl.fleet.topology_check import PublishedNodes
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.model import Pod

    class AnyFinding(Graded, Found):
        """What every finding has."""


CHECKS: tuple[FleetCheckName, ...] = get_args(FleetCheckName)[:-1]
"""The checks that need nothing but recordings."""
NRT: FleetCheckName = "nrt"
"""The check of what is published, for which objects are given."""
_OF_THE_START = {"not-started", "undetermined", "not-loaded-next"}
_NOT_LOADED = "all of it: the kubelet cannot load its configuration"
_ASSUMED = "the kubelet's configuration: none is recorded, its defaults are assumed"
_ENDS_BEFORE = "the kubelet ends before it reads its state files"
_NO_STATE = "state files: none are recorded"
_WORST_FIRST = ("error", "warning", "note")


def named_checks(text: str, *, published: bool = False) -> tuple[FleetCheckName, ...]:
    """Read a list of checks, all where none is named; raise UsageError for one that there is not.

    What is *published* can be checked where somebody tells it.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    known = (*CHECKS, NRT) if published else CHECKS
    if unknown := sorted(names.difference(known)):
        hint = f"choose from {', '.join(known)}"
        if unknown[0] == NRT:
            needs = "kubectl get noderesourcetopologies -o json > nrt.json, then add --nrt nrt.json"
            raise UsageError("needs the published objects", where="--check nrt", hint=needs)
        raise UsageError(f"no check is called {unknown[0]!r}", where="--check", hint=hint)
    return tuple(name for name in known if name in names or not names)


class _Checked(NamedTuple):
    """What one check says: whether the kubelet starts, where it tells, and what it could not look at."""

    findings: Sequence[NodeFinding] = ()
    unchecked: Sequence[UncheckedPart] = ()
    start: Start | None = None


class NodeChecker(KubeletFiles):
    """Checks one node after the other, each as the commands that check a single node do."""

    def __init__(
        self,
        kubelet: KubeletInputs,
        checks: Sequence[FleetCheckName] = CHECKS,
        published: PublishedNodes | None = None,
        releases: Mapping[str, str] = {},
        pods: Mapping[str, Sequence[Pod]] | None = None,
    ) -> None:
        """Take what kubelets are told; *pods* are those of the API server by node, None where nobody said."""
        self._kubelet, self._checks, self._published = kubelet, checks, published
        self._releases, self._pods = releases, pods or {}

    def asks(self, name: str) -> str:
        """Name the question, with what the kubelets are told, and what is published of the node."""
        published = f" {self._published.digest(name)}" if self._published else ""
        return f"check {','.join(self._checks)} {self._asks_kubelet(name)}{published}{self._asks_pods(name)}"

    def _asks_pods(self, name: str) -> str:
        if not self._pods:
            return ""
        # A recording that holds several nodes has another name than they have.
        return f" {content_digest(self._pods[name]) if name in self._pods else self._all_pods}"

    @cached_property
    def _all_pods(self) -> str:
        return content_digest(sorted(self._pods.items()))

    def __call__(self, recording: Recording) -> CheckedNode:
        """Read a recording and check it; raise CpuctlError where it cannot be used."""
        name, source, sources = recording.name, recording.source, Sources()
        found = list(self._found(load_machine(source, Sources()), source, name, sources))
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
            "findings": sorted(findings, key=lambda each: _WORST_FIRST.index(each["severity"])),
            "unchecked": [
                {**each, "missing": _without_source(each["missing"], source)}
                for one in found
                for each in one.unchecked
            ],
            "assumed": assumed_of(sources, source),
        }

    def _found(self, machine: MachineSource, source: str, name: str, sources: Sources) -> Iterator[_Checked]:
        """Make all checks; where the configuration comes from goes to *sources*."""
        kubelet = self._inputs_of(name)
        # Of a node without any pod nobody knows whether it has none, or another name.
        listed = tuple(self._pods[name]) if name in self._pods else None
        inputs = CheckpointInputs(kubelet=kubelet, listed=listed)
        configured = _configured(inputs, machine, sources)
        if "config" in self._checks:
            yield configured
        if "state" in self._checks:
            yield _of_state(inputs, machine, configured if "config" in self._checks else None)
        if "audit" in self._checks:
            yield _of_audit(NodeInputs(machine=source, kubelet=kubelet, listed=listed), machine)
        if self._published and NRT in self._checks:
            yield _of_published(self._published, kubelet, source, name)


def _configured(inputs: CheckpointInputs, machine: MachineSource, sources: Sources) -> _Checked:
    """Check the configuration by itself: what is in state files is for the check of these."""
    cgroup_version = load_cgroup_version("", machine, sources)
    document = check_configuration(inputs, machine, cgroup_version, sources, with_states=False)
    missing = [each["what"] for each in document["notLookedAt"] if each["what"].startswith("unknown flags")]
    if _is_assumed(sources):
        missing.insert(0, _ASSUMED)
    findings = [
        _finding("config", each["setting"] or "", each["where"] or "", each) for each in document["findings"]
    ]
    return _Checked(findings, _unchecked("config", missing), document["start"])


def _is_assumed(sources: Sources) -> bool:
    return bool(sources.assumed_configuration or sources.described_machine)


def _unchecked(check: FleetCheckName, missing: Iterable[str]) -> list[UncheckedPart]:
    return [{"check": check, "missing": each} for each in missing]


def _of_state(inputs: CheckpointInputs, machine: MachineSource, configured: _Checked | None) -> _Checked:
    """Check state files; a start that the configuration keeps from coming to them is told by that already."""
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
    missing = [_ASSUMED] if configured is None and _is_assumed(sources) else []
    if not document["files"]:
        missing.append(_ENDS_BEFORE if "kubelet" not in document else _NO_STATE)
    elif any(each["verdict"]["outcome"] == "NotReached" for each in document["files"]):
        missing.append(_ENDS_BEFORE)
    return _Checked(findings, _unchecked("state", missing), document["start"])


def _of_audit(inputs: NodeInputs, machine: MachineSource) -> _Checked:
    sources = Sources()
    try:
        node = load_node(inputs, sources, machine, goes_without=True)
        observed = observe_settled(node, lambda *_: None)
        document = audit_node(inputs, observed.node, observed.snapshot, CHECK_NAMES, sources)
    except CpuctlError as error:
        return _Checked(unchecked=_unchecked("audit", [str(error)]))
    findings = [_finding("audit", each["subject"], each["path"] or "", each) for each in document["findings"]]
    return _Checked(findings, _unchecked("audit", (each["missing"] for each in document["unchecked"])))


def _of_published(published: PublishedNodes, kubelet: KubeletInputs, source: str, name: str) -> _Checked:
    """Compare what is published of the node."""
    try:
        compared = published.compare(kubelet, source, name)
    except ConfigRefusedError:
        return _Checked(unchecked=_unchecked(NRT, [_NOT_LOADED]))
    except CpuctlError as error:
        return _Checked(unchecked=_unchecked(NRT, [str(error)]))
    findings: list[NodeFinding] = [
        {
            "check": NRT,
            "severity": each.severity.value,
            "code": each.code,
            "about": each.place,
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
    return {
        "check": check,
        "severity": finding["severity"],
        "code": finding["code"],
        "about": about,
        "where": where,
        "expected": finding["expected"],
        "detected": finding["detected"],
        "message": finding["message"],
        "fix": finding["fix"],
    }


def _local(finding: NodeFinding, source: str) -> NodeFinding:
    """Say it as on the node: which recording it was found in, the row says."""
    return {
        **finding,
        "where": _without_source(finding["where"], source),
        "message": _without_source(finding["message"], source),
        "fix": _without_source(finding["fix"], source),
    }


def _without_source(text: str, source: str) -> str:
    return text.replace(f"{source}: ", "").replace(source, "the recording")
