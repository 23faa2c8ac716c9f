"""The state of a report, part by part, in a sentence each: the same on a terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from cpuctl.diagnostics import SEVERITIES
from cpuctl.exports.answer_text import container_counts, pod_name
from cpuctl.exports.outcomes import is_served, pod_counts_text
from cpuctl.exports.page import SEVERITY_TONES, StyledText, Tone
from cpuctl.exports.same_cause import count_findings, findings_of_audit
from cpuctl.phrases import byte_text, counted
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.answers.audit import Audit
    from cpuctl.answers.checkpoint import CheckpointDump, CheckpointVerify
    from cpuctl.answers.decisions import Pod
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan
    from cpuctl.answers.replay import Replay
    from cpuctl.answers.report import FleetReport, Report, ReportedNode, ReportPart, ReportSummary
    from cpuctl.answers.start import Start
    from cpuctl.answers.topology import Topology
    from cpuctl.answers.values import FindingCounts, Found, Graded

    class Finding(Graded, Found):
        """The common members of findings."""


PARTS: Final[Mapping[ReportPart, str]] = {
    "configuration": "Configuration",
    "state": "State files",
    "holders": "CPU owners",
    "audit": "Audit",
    "pods": "Pods",
    "timeline": "Timeline",
}
"""The names of the parts of a report that can be unknown."""

_STARTS: Final[Mapping[str, str]] = {
    "Started": "the kubelet would start",
    "Rejected": "the kubelet would not start",
    "KubeletFault": "the kubelet would fail",
    "Undetermined": "unknown whether the kubelet would start",
}
_WORST: Final[tuple[Tone, ...]] = ("bad", "unknown", "warn", "good", "")


class PlacedFinding(NamedTuple):
    """A finding of any part, its subject, and the pod that it is about, if any."""

    part: ReportPart | Literal["machine"]
    about: str
    pod: str
    finding: Finding


class Standing(NamedTuple):
    """The state of one part; ``part`` is its name in the answer, or ``machine``."""

    part: str
    title: str
    status: StyledText


def verdict(report: Report) -> StyledText:
    """Describe the node's state in one sentence: problems first, and never more than is known."""
    found, unknown = list(_wrong(report)), report["summary"]["unknown"]
    if found:
        tone = _worst(tone for _, tone in found)
        return StyledText(f"{'; '.join(text for text, _ in found)}{_not_known(unknown)}", tone)
    if unknown:
        return StyledText(f"No problems found in what could be checked{_not_known(unknown)}", "unknown")
    return StyledText("No problems found", "good")


def _worst(tones: Iterable[Tone]) -> Tone:
    return min(tones, key=_WORST.index, default="")


def is_clean(summary: ReportSummary) -> bool:
    """Return whether a node has no problems, and nothing about it is unknown."""
    wrong = summary["error"] or summary["warning"] or summary["notAdmitted"] or summary["unmet"]
    return summary["start"] == "Started" and not wrong and not summary["unknown"]


def _wrong(report: Report) -> Iterator[tuple[str, Tone]]:
    summary = report["summary"]
    match summary["start"]:
        case "Rejected" | "KubeletFault":
            yield "the kubelet would not start", "bad"
        case "Undetermined":
            yield "unknown whether the kubelet would start", "unknown"
        case _:
            pass
    if refused := summary["notAdmitted"]:
        yield f"{counted(refused, 'pod')} would not be admitted", "bad"
    if unmet := summary["unmet"]:
        yield f"{counted(unmet, 'timeline expectation')} not met", "bad"
    if text := counts_text(summary, with_notes=False):
        yield text, "bad" if summary["error"] else "warn"


def _not_known(unknown: int) -> str:
    return f"; {counted(unknown, 'item')} unknown" if unknown else ""


def counts_text(counts: FindingCounts, *, with_notes: bool = True) -> str:
    """Count findings by severity, omitting severities without findings."""
    found = {"error": counts["error"], "warning": counts["warning"]}
    if with_notes:
        found["note"] = counts["note"]
    return ", ".join(counted(count, word) for word, count in found.items() if count)


def standings(report: Report) -> Iterator[Standing]:
    """Describe the state of every part, in the order of the report."""
    yield Standing("machine", "Machine", _machine(report["machine"]))
    yield _standing(report, "holders", _holders(report.get("holders"), report["machine"]))
    yield _standing(report, "configuration", _configuration(report))
    state = report.get("state")
    yield _standing(report, "state", state and _started(state["start"], state["summary"]))
    audit = report.get("audit")
    yield _standing(report, "audit", audit and _audited(audit, report.get("state")))
    if "plan" in report:
        yield _standing(report, "pods", _planned(report["plan"]))
    if "timeline" in report:
        yield _standing(report, "timeline", _replayed(report["timeline"]))


def _standing(report: Report, part: ReportPart, status: StyledText | None) -> Standing:
    """Report that something about a part is unknown, unless it has worse problems."""
    unknown = sum(each["part"] == part for each in report["unknown"])
    if status is None:
        why = next((each["what"] for each in report["unknown"] if each["part"] == part), "unknown")
        status = StyledText(why, "unknown")
    elif unknown:
        status = StyledText(f"{status.text}{_not_known(unknown)}", _worst((status.tone, "unknown")))
    return Standing(part, PARTS[part], status)


def machine_text(topology: Topology) -> str:
    """Describe the parts of a machine, if recorded."""
    summary = topology["summary"]
    sizes = {
        "socket": summary["sockets"],
        "NUMA node": summary["numaNodes"],
        "core": summary["cores"],
        "CPU": summary["cpus"],
    }
    parts = [counted(size, noun) for noun, size in sizes.items() if size is not None]
    memory = summary["memoryBytes"]
    return ", ".join([*parts, *([f"{byte_text(memory)} of memory"] if memory else [])])


def _machine(topology: Topology) -> StyledText:
    kubelet, text = topology["kubelet"], machine_text(topology)
    if "error" in kubelet:
        return StyledText(f"{text}; the kubelet would not start on this machine: {kubelet['error']}", "bad")
    findings = topology["findings"]
    if findings:
        text += f"; {counts_text(count_findings(findings))}"
    return StyledText(text, _worst(SEVERITY_TONES[each["severity"]] for each in findings))


def _configuration(report: Report) -> StyledText:
    checked = report["configuration"]
    return _started(checked["start"], checked["summary"], started="accepted by the kubelet")


def _started(start: Start, counts: FindingCounts, *, started: str = "") -> StyledText:
    """Write whether the kubelet starts, worded differently if only a part of its inputs was checked."""
    found = counts_text(counts)
    more = f": {found}" if found else ""
    match start["outcome"]:
        case "Started":
            tone: Tone = "bad" if counts["error"] else "warn" if counts["warning"] else "good"
        case "Undetermined":
            tone = "bad" if counts["error"] else "unknown"
        case _:
            tone = "bad"
    text = started if started and start["outcome"] == "Started" else _STARTS[start["outcome"]]
    return StyledText(f"{text}{more}", tone)


def _holders(dump: CheckpointDump | None, machine: Topology) -> StyledText | None:
    if dump is None or (cpus := dump.get("cpus")) is None:
        return None
    if not cpus["holders"] and any(
        each["file"] == CPU_FILE and each["policy"] == "none" for each in dump["files"]
    ):
        # The file's pool is empty with this policy.
        total = machine["summary"]["cpus"]
        shared = f"all {total} CPUs are shared" if total else "all CPUs are shared"
        return StyledText(f"no exclusive CPUs: policy none, {shared}")
    pods = len({holder["podUID"] or holder["mark"] for holder in cpus["holders"]})
    exclusive = f"{counted(cpus['exclusiveCPUs'], 'exclusive CPU')} of {counted(pods, 'pod')}"
    shared = f"{counted(cpus['sharedCPUs'], 'CPU')} shared"
    return StyledText(f"{exclusive if cpus['holders'] else 'no exclusive CPUs'}, {shared} ({CPU_FILE})")


def _audited(audit: Audit, state: CheckpointVerify | None) -> StyledText:
    summary, findings = audit["summary"], findings_of_audit(audit, state)
    counts = count_findings(findings)
    looked = [*container_counts(audit)]
    if summary["threads"] is not None:
        looked.append(counted(summary["threads"], "thread"))
    found = counts_text(counts) or "no findings"
    if elsewhere := len(audit["findings"]) - len(findings):
        found += f"; {counted(elsewhere, 'more finding')} counted under {PARTS['state']}"
    tone: Tone = "bad" if counts["error"] else "warn" if counts["warning"] else "good"
    return StyledText(f"{', '.join(looked) or 'no containers or threads'}: {found}", tone)


def _planned(plan: StartedPlan | NotStartedPlan) -> StyledText:
    if "summary" not in plan:
        tone: Tone = "unknown" if plan["start"]["outcome"] == "Undetermined" else "bad"
        return StyledText(_STARTS[plan["start"]["outcome"]], tone)
    return StyledText(
        pod_counts_text(plan["summary"]), "good" if all(map(is_served, plan["pods"])) else "bad"
    )


def _replayed(replay: Replay) -> StyledText:
    expected = replay["expectations"]
    failures = len(expected["failures"])
    if not expected["checked"]:
        return StyledText(f"{counted(len(replay['entries']), 'event')}, no expectations")
    came = f"{failures} not as expected" if failures else "all as expected"
    text = f"{counted(expected['checked'], 'check')}, {came}"
    return StyledText(text, "bad" if failures else "good")


def findings_of(report: Report) -> list[PlacedFinding]:
    """Collect the findings of all parts, most severe first."""
    return sorted(_findings(report), key=lambda each: SEVERITIES.index(each.finding["severity"]))


def _findings(report: Report) -> Iterator[PlacedFinding]:
    names, source = pod_names(report), report["sources"].get("machine")
    recording = f"{source['value']}: " if source is not None else ""
    for unusual in report["machine"]["findings"]:
        yield PlacedFinding("machine", unusual["file"], "", unusual)
    for note in report["configuration"]["findings"]:
        about = ": ".join(filter(None, (note["setting"], (note["where"] or "").removeprefix(recording))))
        yield PlacedFinding("configuration", about, "", note)
    for wrong in report["state"]["findings"] if "state" in report else ():
        uid = wrong["podUID"] or ""
        yield PlacedFinding("state", wrong["file"], names.get(uid, uid), wrong)
    audited = findings_of_audit(report["audit"], report.get("state")) if "audit" in report else ()
    for found in audited:
        uid = found["uid"] or ""
        yield PlacedFinding("audit", found["subject"], names.get(uid, uid), found)


def refused_pods(report: Report) -> Iterator[Pod]:
    """Return the planned pods that are known not to be admitted."""
    for pod in report["plan"]["pods"] if "plan" in report else ():
        if pod["outcome"] not in ("Admitted", "Undetermined"):
            yield pod


def refusing_nodes(report: FleetReport) -> Iterator[ReportedNode]:
    """Return the nodes of a fleet that do not admit all planned pods."""
    for node in report["nodes"]:
        if node["outcome"] == "Read" and node["summary"]["notAdmitted"]:
            yield node


def pod_names(report: Report) -> dict[str, str]:
    """Return the names of pods by UID, as far as any part has them."""
    names: dict[str, str] = {}
    for container in report["audit"]["containers"] if "audit" in report else ():
        if container["pod"] is not None:
            names[container["uid"]] = f"{container['namespace']}/{container['pod']}"
    cpus = report["holders"].get("cpus") if "holders" in report else None
    for holder in cpus["holders"] if cpus is not None else ():
        if holder["pod"] is not None:
            names[holder["podUID"]] = pod_name(holder)
    return names
