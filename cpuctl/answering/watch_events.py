"""The events of a watch as plain data, one per change (schema: ``cpuctl schema watchevent``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from cpuctl.answering import API_VERSION
from cpuctl.answering.audit_answer import finding_answer
from cpuctl.answering.parts import set_answer, spell_out_fixes
from cpuctl.audit.checks import Unchecked
from cpuctl.audit.finding import Finding
from cpuctl.cpuset import CPUSet
from cpuctl.phrases import counted
from cpuctl.watching.ledger import Change, How, Kind
from cpuctl.watching.things import WatchedFile, WatchedPod

if TYPE_CHECKING:
    from cpuctl.answers import watch as answers
    from cpuctl.operations.watch import Look, Observation

SpeltOut = Callable[[str], str]
"""Adds the given options to a proposed command."""


def watch_events(
    observation: Observation, moment: float, spelt_out: SpeltOut
) -> Iterator[answers.WatchEvent]:
    """Yield all changes at a *moment*, in seconds since 1970."""
    time = _time(moment)
    if observation.failure:
        yield _event("AuditFailed", time, f"the audit failed: {observation.failure}")
    if observation.note:
        yield _event("Sampling", time, observation.note)
    for change in observation.changes:
        yield _EVENTS[change.thing.kind](change, time, spelt_out)


def watching_event(look: Look, moment: float) -> answers.WatchEvent:
    """Return the event for the start of a watch, with its node."""
    snapshot = look.snapshot
    parts = [f"{counted(len(snapshot.containers), 'container')} of {counted(len(snapshot.uids), 'pod')}"]
    if snapshot.exclusive:
        parts.append(f"exclusive CPUs {snapshot.exclusive}")
    if snapshot.shared_pool is not None:
        parts.append(f"shared pool {snapshot.shared_pool}")
    return _event("Watching", _time(moment), f"watching {', '.join(parts)}")


def _time(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def _event(name: answers.WatchEventName, time: str, message: str) -> answers.WatchEvent:
    return {
        "apiVersion": API_VERSION,
        "kind": "WatchEvent",
        "time": time,
        "event": name,
        "message": message,
    }


def _finding(change: Change, time: str, spelt_out: SpeltOut) -> answers.WatchEvent:
    finding = cast("Finding", change.thing.value)
    answer = finding_answer(finding)
    spell_out_fixes([answer], spelt_out)
    stated = f"{finding.place}: {finding.message} [{finding.code}]"
    if change.how is How.WENT:
        event = _event("Resolved", time, f"{finding.place}: {finding.code} resolved")
    elif change.how is How.CHANGED:
        event = _event("Changed", time, stated)
    else:
        event = _event("Found", time, stated)
    return {**event, "finding": answer}


def _pod(change: Change, time: str, _spelt_out: SpeltOut) -> answers.WatchEvent:
    pod = cast("WatchedPod", change.thing.value)
    if change.how is How.WENT:
        had = f"; it had {_cpus(pod.exclusive)}" if pod.exclusive else ""
        event = _event("PodRemoved", time, f"{pod.name} removed{had}")
    elif change.before is not None:
        before = cast("WatchedPod", change.before.value)
        message = f"{pod.name} changed: {_cpus(pod.exclusive)}, before {_cpus(before.exclusive)}"
        event = _event("PodChanged", time, message)
    else:
        event = _event("PodAdded", time, f"{pod.name} added{_got(pod)}")
    return {
        **event,
        "pod": {
            "uid": pod.uid,
            "pod": pod.name if pod.named else None,
            "exclusive": [
                {"container": name, "cpus": str(cpus)} for name, cpus in sorted(pod.exclusive.items())
            ],
            "sharedPool": set_answer(pod.pool),
        },
    }


def _got(pod: WatchedPod) -> str:
    if pod.exclusive:
        return f": {_cpus(pod.exclusive)}"
    return "" if pod.pool is None else f": shared pool {pod.pool}"


def _cpus(exclusive: Mapping[str, CPUSet]) -> str:
    if not exclusive:
        return "no exclusive CPUs"
    return "exclusive CPUs " + ", ".join(f"{cpus} ({name})" for name, cpus in sorted(exclusive.items()))


def _state_file(change: Change, time: str, _spelt_out: SpeltOut) -> answers.WatchEvent:
    file = cast("WatchedFile", change.thing.value)
    if change.how is How.WENT:
        event = _event("StateFileRemoved", time, f"{file.path} removed")
    else:
        pool = "" if file.pool is None else f": shared pool {file.pool}"
        if pool and change.before is not None:
            before = cast("WatchedFile", change.before.value).pool
            pool = pool if before in (None, file.pool) else f"{pool}, before {before}"
        event = _event("StateFileWritten", time, f"{file.path} written{pool}")
    return {
        **event,
        "stateFile": {"path": file.path, "sha256": file.sha256, "sharedPool": set_answer(file.pool)},
    }


def _kubelet(change: Change, time: str, _spelt_out: SpeltOut) -> answers.WatchEvent:
    pids = ", ".join(map(str, cast("tuple[int, ...]", change.thing.value)))
    if change.how is How.WENT:
        return _event("KubeletStopped", time, f"the kubelet (PID {pids}) has stopped")
    if change.how is How.CHANGED:
        return _event("KubeletRestarted", time, f"the kubelet has restarted (PID {pids})")
    return _event("KubeletStarted", time, f"the kubelet has started (PID {pids})")


def _gap(change: Change, time: str, _spelt_out: SpeltOut) -> answers.WatchEvent:
    gap = cast("Unchecked", change.thing.value)
    if change.how is How.WENT:
        event = _event("Checked", time, f"checked again: {', '.join(gap.checks)}")
    else:
        event = _event("Unchecked", time, f"{gap.missing} (not checked: {', '.join(gap.checks)})")
    return {**event, "unchecked": {"missing": gap.missing, "checks": list(gap.checks)}}


_EVENTS: Mapping[Kind, Callable[[Change, str, SpeltOut], answers.WatchEvent]] = {
    Kind.FINDING: _finding,
    Kind.POD: _pod,
    Kind.STATE_FILE: _state_file,
    Kind.KUBELET: _kubelet,
    Kind.GAP: _gap,
}
