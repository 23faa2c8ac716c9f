"""Rules for what a kubelet does beside its pods' resources: taints, shutdown, restarts and logs.

Rule: ``pkg/kubelet/apis/config/validation``, 1.27 to 1.36.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from cpuctl.golang.conversions import float_text
from cpuctl.golang.durations import MILLISECOND, SECOND, duration_text, parse_duration
from cpuctl.golang.text import quoted
from cpuctl.kubelet.validation.rule import PREFIX, Broken, Rule, Subject, below, when

_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"(?=.{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/"
# Compiled when a taint is looked at: few configurations have one, and every start loads this.
_KEY = rf"(?:{_DOMAIN})?{_NAME}"
_VALUE = rf"(?:{_NAME})?"


# Taints


def _taints(subject: Subject) -> Iterable[object]:
    taints = subject.given("registerWithTaints") or ()
    return [taint if isinstance(taint, dict) else {} for taint in taints]


def _bad_taint(subject: Subject) -> Broken:
    taint: dict[str, Any] = subject.item
    key, value, effect = (str(taint.get(name) or "") for name in ("key", "value", "effect"))
    named = re.fullmatch(_KEY, key, re.ASCII) and re.fullmatch(_VALUE, value, re.ASCII)
    right = named and effect in _EFFECTS
    return when(not right, f"{{{key} {value} {effect} {taint.get('timeAdded') or '<nil>'}}}")


def _dated_taint(subject: Subject) -> Broken:
    return when(subject.item.get("timeAdded") is not None)


TAINTS = (
    Rule("registerWithTaints", "invalid taint: {}", _bad_taint, each=_taints),
    Rule("registerWithTaints", f"{PREFIX}taint.TimeAdded is not nil", _dated_taint, each=_taints),
)


# Shutting down


_GRACE, _CRITICAL = "shutdownGracePeriod", "shutdownGracePeriodCriticalPods"
_BY_PRIORITY = "shutdownGracePeriodByPodPriority"
_GRACEFUL, _PRIORITIES = "GracefulNodeShutdown", "GracefulNodeShutdownBasedOnPodPriority"


def _longer_for_critical(subject: Subject) -> Broken:
    whole, critical = subject.duration(_GRACE), subject.duration(_CRITICAL)
    wrong = subject.on(_GRACEFUL) and critical > whole
    return when(wrong, duration_text(critical), duration_text(whole))


def _below_a_second(subject: Subject, field: str) -> Broken:
    period = subject.duration(field)
    wrong = subject.on(_GRACEFUL) and (period < 0 or 0 < period < SECOND)
    return when(wrong, duration_text(period))


def _has_grace(subject: Subject) -> bool:
    return subject.duration(_GRACE) > 0 or subject.duration(_CRITICAL) > 0


def _has_priorities(subject: Subject) -> bool:
    return bool(subject.given(_BY_PRIORITY))


def _both_ways(subject: Subject) -> Broken:
    return when(subject.on(_PRIORITIES) and _has_priorities(subject) and _has_grace(subject))


SHUTDOWN = (
    Rule(
        _CRITICAL, f"{PREFIX}{_CRITICAL} {{{{{{}}}}}} must be <= {_GRACE} {{{{{{}}}}}}", _longer_for_critical
    ),
    *(
        Rule(
            field,
            f"{PREFIX}{field} {{{{{{}}}}}} must be either zero or otherwise >= 1 sec",
            partial(_below_a_second, field=field),
        )
        for field in (_GRACE, _CRITICAL)
    ),
    Rule(
        _GRACE,
        f"{PREFIX}specifying {_GRACE} or {_CRITICAL} requires feature gate {_GRACEFUL}",
        lambda subject: when(_has_grace(subject) and not subject.on(_GRACEFUL)),
    ),
    Rule(
        _BY_PRIORITY,
        f"{PREFIX}Cannot specify both {_BY_PRIORITY} and {_GRACE} at the same time",
        _both_ways,
    ),
    Rule(
        _BY_PRIORITY,
        f"{PREFIX}Specifying {_BY_PRIORITY} requires feature gate {_PRIORITIES}",
        lambda subject: when(_has_priorities(subject) and not subject.on(_PRIORITIES)),
    ),
)


# Restarting containers


_BACK_OFF, _BACK_OFF_GATE = "crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax"


def _restart_period(subject: Subject) -> int | None:
    period = subject.member(*_BACK_OFF.split("."))
    if period is None:
        return None
    return parse_duration(str(period))


def _long_restart(subject: Subject) -> Broken:
    period = _restart_period(subject)
    if period is None or not subject.on(_BACK_OFF_GATE):
        return ()
    milliseconds = abs(period) // MILLISECOND * (-1 if period < 0 else 1)
    return when(not 1000 <= milliseconds <= 300_000, float_text(period / SECOND))


def _restart_without_gate(subject: Subject) -> Broken:
    return when(_restart_period(subject) is not None and not subject.on(_BACK_OFF_GATE))


RESTARTS = (
    Rule(
        _BACK_OFF,
        f"{PREFIX}CrashLoopBackOff.MaxContainerRestartPeriod (got: {{}} seconds) must be set between 1s"
        " and 300s",
        _long_restart,
        since=32,
    ),
    Rule(
        _BACK_OFF,
        f"{PREFIX}FeatureGate {_BACK_OFF_GATE} not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must"
        " not be set",
        _restart_without_gate,
        since=32,
    ),
)


# Logs of the node and of pods


def _query_without_gate(subject: Subject) -> Broken:
    return when(subject.given("enableSystemLogQuery") is True and not subject.on("NodeLogQuery"))


def _query_without_handler(subject: Subject) -> Broken:
    handles = subject.given("enableSystemLogHandler")
    return when(subject.given("enableSystemLogQuery") is True and handles is False)


def _query_gate(last: str, **releases: int) -> Rule:
    text = f"{PREFIX}NodeLogQuery feature gate is required for {last}"
    return Rule("enableSystemLogQuery", text, _query_without_gate, **releases)  # type: ignore[arg-type]


def _short_interval(subject: Subject) -> Broken:
    given = subject.given("containerLogMonitorInterval")
    return when(given is not None and subject.duration("containerLogMonitorInterval") < 3 * SECOND)


def _clean(path: str) -> str:
    """Shorten a path as ``filepath.Clean`` does."""
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean


def _directory(subject: Subject) -> str:
    return str(subject.given("podLogsDir") or "/var/log/pods")


def _relative(subject: Subject) -> Broken:
    path = _directory(subject)
    return when(not path.startswith("/"), quoted(path))


def _unclean(subject: Subject) -> Broken:
    path = _directory(subject)
    return when(_clean(path) != path, quoted(path))


def _beyond_ascii(subject: Subject) -> Broken:
    path = _directory(subject)
    return when(not path.isascii(), quoted(path))


LOGS = (
    _query_gate("enableSystemLogHandler", until=35),
    _query_gate("enableSystemLogQuery", since=35),
    Rule(
        "enableSystemLogQuery",
        f"{PREFIX}enableSystemLogHandler is required for enableSystemLogQuery",
        _query_without_handler,
    ),
    Rule(
        "containerLogMaxWorkers",
        f"{PREFIX}containerLogMaxWorkers must be greater than or equal to 1",
        below("containerLogMaxWorkers", 1),
        since=30,
    ),
    Rule(
        "containerLogMonitorInterval",
        f"{PREFIX}containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
        _short_interval,
        since=30,
    ),
    Rule(
        "containerLogMaxFiles",
        f"{PREFIX}containerLogMaxFiles must be greater than 1",
        below("containerLogMaxFiles", 2),
        since=33,
    ),
    Rule("podLogsDir", f"{PREFIX}pod logs path {{}} must be absolute path", _relative, since=30),
    Rule("podLogsDir", f"{PREFIX}pod logs path {{}} must be normalized", _unclean, since=30),
    Rule(
        "podLogsDir",
        f"{PREFIX}pod logs path {{}} mut contains ASCII characters only",
        _beyond_ascii,
        since=30,
    ),
)
