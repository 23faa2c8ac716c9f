"""A kubelet's log as moments of a timeline: events, and expectations according to the log.

An expectation is what the kubelet did; the replay computes what it should have done. Nothing is invented:
pods without a manifest are omitted, and only what the log contains is expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.timeline.log_events import LogEvent, LogEventKind
from cpuctl.timeline.model import (
    BEST_HINT,
    Admit,
    Event,
    Expected,
    KubeletAction,
    KubeletEvent,
    KubeletSetup,
    Moment,
    Remove,
    TimelinePod,
)

SetupOf = Callable[[str, str], KubeletSetup]
"""Return the kubelet of the release that a log names at a given place; empty for an unnamed release."""

_TOPOLOGY = "TopologyAffinityError"
_MANAGER_START = re.compile(r"start (?:cpu|memory) manager error: ")
"""The prefix of managers' errors; other errors are wrapped differently by release."""
_DECIDES = frozenset(
    {LogEventKind.CONSIDERED, LogEventKind.HINTED, LogEventKind.AGREED, LogEventKind.KEPT, LogEventKind.RAN}
)
"""Events that only a running kubelet logs."""


class LoggedHistory(NamedTuple):
    """A log as part of a timeline, and its gaps.

    ``left_out`` are the pods without a manifest with the CPUs that they got, ``kept`` those with CPUs from a
    state file that the log does not show, ``unseen`` the manifests' pods that never appeared.
    ``other_policy`` says where the log has another CPU Manager policy than the configuration, and which.
    """

    setup: KubeletSetup
    moments: tuple[Moment, ...]
    left_out: Mapping[str, CPUSet]
    kept: tuple[str, ...]
    unseen: tuple[str, ...]
    from_start: bool
    other_policy: str


@dataclass(slots=True)
class _Admission:
    """The lines about a pod during its admission; pods are admitted one after the other."""

    pod: str
    latest: LogEvent
    cpus: dict[str, CPUSet] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    hints: dict[str, dict[str, str]] = field(default_factory=dict)
    pool: CPUSet | None = None
    open_hint: bool = False
    rejected: bool = False
    reason: str = ""
    message: str = ""


def history_of(
    events: Iterable[LogEvent], source: str, pods: Mapping[str, TimelinePod], setup_of: SetupOf
) -> LoggedHistory | None:
    """Convert the events of a log to moments, with pods by full name; None if it has no usable events."""
    reading = policy = None
    for event in events:
        if reading is None and event.kind is LogEventKind.POLICY:
            # Nothing happens by it: a timeline begins with another event.
            policy = event
            continue
        if reading is None:
            reading = _Reading(source, pods, setup_of, event)
            if policy is not None and policy.process == event.process:
                reading.take(policy)
        reading.take(event)
    return reading.finish() if reading is not None else None


class _Reading:
    def __init__(
        self, source: str, pods: Mapping[str, TimelinePod], setup_of: SetupOf, first: LogEvent
    ) -> None:
        self.source, self.pods, self.setup_of = source, pods, setup_of
        self.begin, self.first = first.at, first
        self.setup = self.current = setup_of(first.version, self._place(first))
        self.process = first.process
        self.moments: list[Moment] = []
        self.names = {pod.pod.uid: name for name, pod in pods.items() if pod.pod.uid}
        self.waiting: dict[str, LogEvent] = {}
        self.present: dict[str, _Admission] = {}
        self.seen: set[str] = set()
        self.running: set[str] = set()
        self.left_out: dict[str, CPUSet] = {}
        self.kept: dict[str, None] = {}
        self.open: _Admission | None = None
        self.start_checked = False
        self.other_policy = ""
        self.acts: Mapping[LogEventKind, Callable[[LogEvent], None]] = {
            LogEventKind.POLICY: self._compare_policy,
            LogEventKind.ARRIVED: self._come,
            LogEventKind.CONSIDERED: self._decide,
            LogEventKind.HINTED: self._decide,
            LogEventKind.AGREED: self._decide,
            LogEventKind.KEPT: self._decide,
            LogEventKind.ASSIGNED: self._assign,
            LogEventKind.POOL: self._pool,
            LogEventKind.REJECTED: self._reject,
            LogEventKind.RAN: self._ran,
            LogEventKind.RELEASED: self._release,
            LogEventKind.GONE: self._go,
        }

    def take(self, event: LogEvent) -> None:
        """Add an event."""
        if event.uid and event.pod:
            self.names[event.uid] = event.pod
        if event.kind is LogEventKind.STARTED or (event.process and event.process != self.process):
            self._start(event)
        if event.kind in _DECIDES and not self.start_checked:
            self._expect(event, {"kubelet": {"running": True}})
            self.start_checked = True
        elif event.kind is LogEventKind.START_FAILED and not self.start_checked:
            why = _MANAGER_START.match(event.text)
            error = {"error": event.text[why.end() :]} if why is not None else {}
            self._expect(event, {"kubelet": {"running": False, **error}})
            self.start_checked = True
        if (act := self.acts.get(event.kind)) is not None:
            act(event)

    def finish(self) -> LoggedHistory:
        """Return the result at the end of the log."""
        self._settle()
        return LoggedHistory(
            setup=self.setup,
            moments=tuple(sorted(self.moments, key=lambda moment: moment.at)),
            left_out=self.left_out,
            kept=tuple(self.kept),
            unseen=tuple(name for name in self.pods if name not in self.seen),
            from_start=self.first.kind is LogEventKind.STARTED,
            other_policy=self.other_policy,
        )

    def _place(self, event: LogEvent) -> str:
        return f"{self.source} line {event.line}"

    def _happen(self, at: LogEvent, event: Event) -> None:
        self.moments.append(Moment(at.at - self.begin, event, where=self._place(at)))

    def _expect(self, at: LogEvent, expected: Mapping[str, Expected]) -> None:
        self.moments.append(Moment(at.at - self.begin, expect=expected, where=self._place(at)))

    def _start(self, event: LogEvent) -> None:
        """Begin another kubelet process; the first one exists from the beginning."""
        self._settle()
        self.process = event.process
        self.start_checked = False
        self.running.clear()
        if event is self.first:
            return
        before = self.current
        if event.version:
            self.current = self.setup_of(event.version, self._place(event))
        old, new = before.release.order, self.current.release.order
        action = (
            KubeletAction.RESTART
            if old == new
            else KubeletAction.UPGRADE
            if old < new
            else KubeletAction.DOWNGRADE
        )
        self._happen(event, KubeletEvent(action, self.current))

    def _admission(self, event: LogEvent) -> _Admission:
        """Return the admission that an event belongs to; one of another pod has ended."""
        if self.open is None or self.open.pod != event.pod:
            self._close()
            self._arrive(event.pod, event)
            self.open = self.present[event.pod] = _Admission(event.pod, event)
        self.open.latest = event
        return self.open

    def _arrive(self, name: str, event: LogEvent) -> None:
        self.waiting.pop(name, None)
        self.seen.add(name)
        if name in self.present:
            return
        if name in self.pods:
            self._happen(event, Admit(self.pods[name]))
        else:
            self.left_out.setdefault(name, CPUSet())

    def _compare_policy(self, event: LogEvent) -> None:
        kubelet = self.current.kubelet
        if not isinstance(kubelet, Kubelet) or event.text in {"", kubelet.config.cpu_manager_policy}:
            return
        configured = kubelet.config.cpu_manager_policy
        self.other_policy = self.other_policy or f"{event.text} in {self._place(event)}, but {configured}"

    def _come(self, event: LogEvent) -> None:
        self._settle()
        self.waiting |= {name: event for name in event.names if name not in self.present}

    def _release(self, event: LogEvent) -> None:
        self._remove(self.names.get(event.uid, ""), event)

    def _go(self, event: LogEvent) -> None:
        for name in event.names:
            self._remove(name, event)

    def _pool(self, event: LogEvent) -> None:
        if self.open is not None:
            self.open.pool = event.cpus

    def _decide(self, event: LogEvent) -> None:
        new = event.pod not in self.present
        admission = self._admission(event)
        if event.hints:
            owner = f"{event.pod}/{event.container}" if event.container else event.pod
            admission.hints.setdefault(owner, {}).update(event.hints)
        if event.kind is LogEventKind.HINTED:
            admission.open_hint = True
        elif event.kind is LogEventKind.AGREED:
            admission.open_hint = False
        elif event.kind is LogEventKind.KEPT:
            admission.kept.add(event.container)
            if new:
                self.kept[event.pod] = None

    def _assign(self, event: LogEvent) -> None:
        admission = self.open
        if admission is None or self.names.setdefault(event.uid, admission.pod) != admission.pod:
            return
        admission.cpus[event.container] = event.cpus
        admission.latest = event

    def _reject(self, event: LogEvent) -> None:
        """Record why a pod is rejected: the reason in its status follows a manager's error."""
        name = event.pod or (self.open.pod if self.open is not None else "")
        if not name:
            return
        known = self.present.get(name)
        late = known is not None and known is not self.open
        admission = known if known is not None and late else self._admission(event._replace(pod=name))
        news = not admission.rejected or (event.reason and not admission.reason)
        admission.rejected = True
        if event.reason and not admission.reason:
            admission.reason, admission.message = event.reason, event.text
        if late and news:
            admission.latest = event
            self._tell(admission)

    def _ran(self, event: LogEvent) -> None:
        """Treat a pod with a process as admitted; containers that got no CPUs then have none."""
        admission = self.present.get(event.pod)
        if admission is None or event.pod in self.running:
            return
        self._close()
        self.running.add(event.pod)
        if (pod := self.pods.get(event.pod)) is None:
            return
        listed = admission.cpus.keys() | admission.kept
        others = [each.name for each in pod.pod.all_containers if each.name not in listed]
        self._expect(
            event,
            {
                "pods": {event.pod: {"phase": "Running"}},
                "containers": {f"{event.pod}/{name}": {"cpus": ""} for name in others},
            },
        )

    def _remove(self, name: str, event: LogEvent) -> None:
        if self.open is not None and self.open.pod == name:
            self._close()
        self.waiting.pop(name, None)
        if self.present.pop(name, None) is not None and name in self.pods:
            self._happen(event, Remove(name))

    def _settle(self) -> None:
        """End open admissions: pods that no line mentions were admitted on arrival, in this order."""
        self._close()
        for name, event in list(self.waiting.items()):
            self.waiting.pop(name)
            if name not in self.seen:  # a pod that was here before and ended is not admitted again
                self._arrive(name, event)
                self.present[name] = _Admission(name, event)

    def _close(self) -> None:
        """End an admission; a hint without a following agreement was refused by the policy."""
        admission, self.open = self.open, None
        if admission is None:
            return
        if admission.open_hint and not admission.rejected:
            admission.rejected, admission.reason = True, _TOPOLOGY
        if admission.pod in self.left_out:
            for cpus in admission.cpus.values():
                self.left_out[admission.pod] |= cpus
        self._tell(admission)

    def _tell(self, admission: _Admission) -> None:
        """Add the expectations that the log gives for an admitted or rejected pod."""
        if admission.pod not in self.pods:
            return
        expected: dict[str, Expected] = {}
        if hints := _comparable(admission.hints, self.pods[admission.pod]):
            expected["hints"] = hints  # first: decisions follow from them
        if admission.rejected:
            status: dict[str, Expected] = {"phase": "Failed"}
            why = {"reason": admission.reason, "message": admission.message}
            expected["pods"] = {admission.pod: status | {key: text for key, text in why.items() if text}}
        elif admission.cpus:
            expected["containers"] = {
                f"{admission.pod}/{name}": {"cpus": str(cpus)} for name, cpus in admission.cpus.items()
            }
            if admission.pool is not None:
                expected["sharedPool"] = str(admission.pool)
        if expected:
            self._expect(admission.latest, expected)


def _comparable(hints: Mapping[str, Mapping[str, str]], pod: TimelinePod) -> dict[str, Expected]:
    """Drop hints for devices, which a replay does not know, and results that include them."""
    asks = (
        name
        for container in pod.pod.all_containers
        for amounts in (container.resources.requests, container.resources.limits)
        for name in amounts
    )
    known = ("cpu", "memory", "hugepages-", *(() if any("/" in name for name in asks) else (BEST_HINT,)))
    found = {
        owner: {resource: text for resource, text in texts.items() if resource.startswith(known)}
        for owner, texts in hints.items()
    }
    return {owner: texts for owner, texts in found.items() if texts}
