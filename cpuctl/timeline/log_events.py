"""Starts, pods and decisions in the log of a kubelet of any release.

Sources: ``pkg/kubelet/kubelet.go``, ``pkg/kubelet/cm``, ``pkg/kubelet/allocation`` and
``cmd/kubelet/app/server.go`` of 1.27 to 1.36, and the event recorder of client-go. Decisions on CPUs are
printed at every verbosity, added and removed pods from 2 on, events with their reasons from 3 on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from cpuctl.cpuset import CPUSet, list_problem
from cpuctl.errors import InputError
from cpuctl.messages.log_lines import LogLine, read_log
from cpuctl.timeline.model import BEST_HINT, hints_text

_MOST_NODES = 64
MAX_EVENTS = 1_000_000
"""The maximum number of events: a node with hundreds of pods writes thousands in a day."""


class LogEventKind(Enum):
    """The kinds of events; each has one or several forms of log lines, depending on the release."""

    STARTED = auto()
    START_FAILED = auto()
    POLICY = auto()
    ARRIVED = auto()
    CONSIDERED = auto()
    HINTED = auto()
    AGREED = auto()
    ASSIGNED = auto()
    KEPT = auto()
    POOL = auto()
    REJECTED = auto()
    RAN = auto()
    RELEASED = auto()
    GONE = auto()


class LogEvent(NamedTuple):
    """An event: ``pod`` is ``namespace/name``, ``names`` are the pods of a line that names several.

    ``cpus`` are those of an assignment, ``version`` is that of a starting kubelet. ``hints`` are those in a
    line by resource, and the merged one. ``text`` is an error, a policy, or the message of a
    rejection, whose ``reason`` is that of the pod's status, empty if the log has none.
    """

    kind: LogEventKind
    at: int
    line: int
    process: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""
    names: tuple[str, ...] = ()
    cpus: CPUSet = CPUSet()
    version: str = ""
    hints: Mapping[str, str] = {}
    reason: str = ""
    text: str = ""


_KINDS: Mapping[str, LogEventKind] = {
    "Kubelet version": LogEventKind.STARTED,
    "Starting CPU manager": LogEventKind.POLICY,
    "Starting": LogEventKind.POLICY,
    "Failed to start ContainerManager": LogEventKind.START_FAILED,
    "Failed to initialize cpu manager": LogEventKind.START_FAILED,
    "Failed to initialize memory manager": LogEventKind.START_FAILED,
    "command failed": LogEventKind.START_FAILED,
    "Failed to run kubelet": LogEventKind.START_FAILED,
    "SyncLoop ADD": LogEventKind.ARRIVED,
    "Topology Admit Handler": LogEventKind.CONSIDERED,
    "Topology manager admission check": LogEventKind.CONSIDERED,
    "TopologyHints": LogEventKind.CONSIDERED,
    "TopologyHints generated": LogEventKind.CONSIDERED,
    "Static policy: Allocate": LogEventKind.CONSIDERED,
    "Allocate start": LogEventKind.CONSIDERED,
    "Allocate": LogEventKind.CONSIDERED,
    "Best TopologyHint": LogEventKind.HINTED,
    "Topology Affinity": LogEventKind.AGREED,
    "Updated desired CPUSet": LogEventKind.ASSIGNED,
    "Static policy: container already present in state, skipping": LogEventKind.KEPT,
    "Updated default CPUSet": LogEventKind.POOL,
    "Pod admission denied": LogEventKind.REJECTED,
    "Failed to admit pod": LogEventKind.REJECTED,
    "Unable to allocate CPUs": LogEventKind.REJECTED,
    "Allocate error": LogEventKind.REJECTED,
    "Event occurred": LogEventKind.REJECTED,
    "SyncLoop (PLEG): event for pod": LogEventKind.RAN,
    "Static policy: RemoveContainer": LogEventKind.RELEASED,
    "RemoveContainer start": LogEventKind.RELEASED,
    "SyncLoop REMOVE": LogEventKind.GONE,
}
"""The kinds of events, by message."""

_POLICIES = ("none", "static")
"""The CPU Manager's; the Memory Manager's, in lines with the same text, are capitalized."""
_REJECTIONS = re.compile(
    r"TopologyAffinityError|SMTAlignmentError|UnexpectedAdmissionError|OutOf[\w./-]+|PodLevelResourcesNotSupported"
)
"""Reasons of events that belong to a rejection: other warnings about pods concern later stages."""
_PLEG_UID = re.compile(r'"?ID"?:\s*"?([\w-]+)')


def read_events(text: str, source: str) -> Iterator[LogEvent]:
    """Yield the events of a log in its order; times never go back, although those of the lines may.

    Raise InputError for invalid CPU lists, and for more than the maximum number of events.
    """
    latest, count = 0, 0
    for line in read_log(text):
        event = _event(line, source)
        if event is None:
            continue
        count += 1
        if count > MAX_EVENTS:
            raise InputError(
                f"contains more than {MAX_EVENTS:,} events",
                where=f"{source} line {line.number}",
                hint="limit its time range: journalctl -u kubelet --since ... --until ...",
            )
        latest = max(latest, event.at)
        yield event._replace(at=latest)


def _event(line: LogLine, source: str) -> LogEvent | None:
    kind = _KINDS.get(line.message)
    fields = line.fields
    if kind is None or (kind is LogEventKind.POLICY and fields.get("policy") not in _POLICIES):
        return None
    event = LogEvent(
        kind,
        line.at,
        line.number,
        line.process,
        pod=_pod(fields),
        uid=fields.get("podUID", ""),
        container=fields.get("containerName", ""),
    )
    match kind:
        case LogEventKind.STARTED:
            return event._replace(version=fields.get("kubeletVersion", ""))
        case LogEventKind.POLICY | LogEventKind.START_FAILED:
            return event._replace(text=fields.get("policy" if kind is LogEventKind.POLICY else "err", ""))
        case LogEventKind.ARRIVED | LogEventKind.GONE:
            return event._replace(names=tuple(fields.get("pods", "").split()))
        case LogEventKind.ASSIGNED | LogEventKind.POOL:
            return event._replace(cpus=_cpus(line, source))
        case LogEventKind.REJECTED:
            return _rejection(event, line)
        case LogEventKind.RAN:
            return _ran(event, fields.get("event", ""))
        case LogEventKind.AGREED if "bestHint" not in fields:  # the CPU Manager logs it for its own hint, too
            return event._replace(kind=LogEventKind.CONSIDERED)
        case LogEventKind.CONSIDERED | LogEventKind.HINTED | LogEventKind.AGREED | LogEventKind.KEPT if (
            not event.pod
        ):
            return None
    return event._replace(hints=_hints(line))


_HINT = re.compile(r'"?NUMANodeAffinity"?: ?(<nil>|null|[0-9]{1,64})[, ] ?"?Preferred"?: ?(true|false)')
_HINTS = re.compile(r'"?(?P<resource>[\w./-]+)"?: ?\[(?P<hints>(?:[^\[\]]*NUMANodeAffinity[^\[\]]*))\]')


def _hints(line: LogLine) -> Mapping[str, str]:
    """Read topology hints; resources without any are omitted: the log does not show which kind of none."""
    if line.message == "TopologyHints":
        found = _HINTS.finditer(line.fields.get("hints", ""))
        return {each["resource"]: hints_text(_each_hint(each["hints"])) for each in found}
    if line.message == "Best TopologyHint":
        return {BEST_HINT: hints_text(_each_hint(line.fields.get("bestHint", "")))}
    return {}


def _each_hint(text: str) -> Iterator[tuple[int | None, bool]]:
    """Read hints as Go prints them, with one bit per node, or as JSON, as a decimal number."""
    base = 10 if '"NUMANodeAffinity"' in text else 2
    for nodes, preferred in _HINT.findall(text):
        none = nodes in {"<nil>", "null"}
        if none or base == 10 or set(nodes) <= {"0", "1"}:
            yield None if none else int(nodes, base) % (1 << _MOST_NODES), preferred == "true"


def _pod(fields: Mapping[str, str]) -> str:
    if "podName" in fields:
        return f"{fields.get('podNamespace', '')}/{fields['podName']}"
    return fields.get("pod", "")


def _cpus(line: LogLine, source: str) -> CPUSet:
    text = line.fields.get("cpuSet", "")
    try:
        return CPUSet.parse(text)
    except ValueError as error:
        message = f"cpuSet: expected a CPU list, found {text!r}: {list_problem(error)}"
        where = f"{source} line {line.number}"
        raise InputError(message, where=where, hint="is the line truncated?") from None


def _rejection(event: LogEvent, line: LogLine) -> LogEvent | None:
    """Read the rejected pod and the reason; a manager's error means an admission that is about to fail."""
    fields = line.fields
    reason = fields.get("reason", "")
    if line.message == "Event occurred":
        if fields.get("type") != "Warning" or not _REJECTIONS.fullmatch(reason):
            return None
        event = event._replace(pod=fields.get("object", ""))
    text = fields.get("message", "") or fields.get("err", "")
    return event._replace(reason=reason, text=text)


def _ran(event: LogEvent, text: str) -> LogEvent | None:
    """Read the pod whose first process runs; the event's ID is the pod's UID."""
    if "ContainerStarted" not in text:
        return None
    uid = _PLEG_UID.search(text)
    return event._replace(uid=uid[1] if uid else "")
