"""Rules for what a kubelet does apart from pods' resources: images, taints, shutdown, restarts and logs.

Rule: ``pkg/kubelet/apis/config/validation``, 1.27 to 1.36; for images also
``pkg/kubelet/images/pullmanager``, 1.33 to 1.36, with references as in ``github.com/distribution/reference``.
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
from cpuctl.kubelet.validation.rule import PREFIX, Broken, Rule, Subject, below, in_range, when

_POLICY, _LIST = "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"
_GATE, _BY_LIST = "KubeletEnsureSecretPulledImages", "NeverVerifyAllowlistedImages"
_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", _BY_LIST, "AlwaysVerify")
_SINCE = 33

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REGISTRY = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_IMAGE = rf"(?:{_REGISTRY}/)?{_PART}(?:/{_PART})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
# Compiled when a pattern is checked: few configurations have one, and every start loads this.
_REFERENCE = rf"(?P<name>{_IMAGE})(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
_LONGEST_NAME = 255


def _list(subject: Subject) -> list[str]:
    return [str(pattern or "") for pattern in subject.given(_LIST) or ()]


def _unknown_policy(subject: Subject) -> Broken:
    # The gate gives the field a default.
    policy = subject.text(_POLICY) or "NeverVerifyPreloadedImages"
    return when(subject.on(_GATE) and policy not in _POLICIES, quoted(policy))


def _unread_list(subject: Subject) -> Broken:
    unread = bool(_list(subject)) and subject.text(_POLICY) != _BY_LIST
    return when(subject.on(_GATE) and unread)


def _bad_pattern(subject: Subject) -> Broken:
    if subject.build.image_patterns and subject.on(_GATE) and subject.text(_POLICY) == _BY_LIST:
        wrong = next(filter(None, map(pattern_problem, _list(subject))), "")
        return when(bool(wrong), wrong)
    return ()


def _policy_without_gate(subject: Subject) -> Broken:
    return when(not subject.on(_GATE) and bool(subject.text(_POLICY)))


def _list_without_gate(subject: Subject) -> Broken:
    return when(not subject.on(_GATE) and bool(_list(subject)))


def pattern_problem(pattern: str) -> str:
    """Return what is wrong with the name of an image or registry; empty if it is valid."""
    if pattern != pattern.strip():
        return f"leading/trailing spaces are not allowed: {pattern}"
    whole = pattern.endswith("/*")
    name = pattern[:-1] if whole else pattern
    if not name:
        return f"the supplied pattern is too short: {pattern}"
    if "*" in name:
        return f"not a valid wildcard pattern, only patterns ending with '/*' are allowed: {pattern}"
    if whole:
        return "at least registry hostname is required" if name == "/" else ""
    return _reference_problem(name)


def _reference_problem(name: str) -> str:
    found = re.fullmatch(_REFERENCE, name, re.ASCII)
    if found is None:
        lower = re.fullmatch(_REFERENCE, name.lower(), re.ASCII)
        why = "repository name must be lowercase" if lower else "invalid reference format"
        return f"failed to parse as an image name: {why}"
    if len(found["name"]) > _LONGEST_NAME:
        return "failed to parse as an image name: repository name must not be more than 255 characters"
    if found["tag"] or found["digest"]:
        return f"neither tag nor digest is accepted in an image reference: {name}"
    return ""


CREDENTIALS = (
    Rule(
        _POLICY,
        f"{PREFIX}option {{}} specified for {_POLICY}."
        f' Valid options are {", ".join(map(quoted, _POLICIES[:-1]))} or "AlwaysVerify"',
        _unknown_policy,
        since=_SINCE,
    ),
    Rule(
        _LIST,
        f'{PREFIX}can\'t set `{_LIST}` if `imagePullCredentialsVertificationPolicy` is not "{_BY_LIST}"',
        _unread_list,
        since=_SINCE,
    ),
    Rule(_LIST, f"{PREFIX}invalid image pattern in `{_LIST}`: {{}}", _bad_pattern, since=_SINCE),
    Rule(
        _POLICY,
        f"{PREFIX}`{_POLICY}` must not be set if {_GATE} feature gate is not enabled",
        _policy_without_gate,
        since=_SINCE,
    ),
    Rule(
        _LIST,
        f"{PREFIX}`{_LIST}` must not be set if {_GATE} feature gate is not enabled",
        _list_without_gate,
        since=_SINCE,
    ),
)


# Collecting images


def _ages(subject: Subject) -> tuple[int, int]:
    return subject.duration("imageMinimumGCAge"), subject.duration("imageMaximumGCAge")


def _low_not_below_high(subject: Subject) -> Broken:
    low, high = subject.number("imageGCLowThresholdPercent"), subject.number("imageGCHighThresholdPercent")
    return when(low is not None and high is not None and low >= high, low, high)


def _age_without_gate(subject: Subject) -> Broken:
    return when(bool(_ages(subject)[1]) and not subject.on("ImageMaximumGCAge"))


def _negative_age(subject: Subject, which: int) -> Broken:
    age = _ages(subject)[which]
    return when(age < 0, duration_text(age))


def _short_age(subject: Subject) -> Broken:
    least, most = _ages(subject)
    return when(0 < most <= least, duration_text(most), duration_text(least))


def _age_gate(word: str, **releases: int) -> Rule:
    what = "ImageMaximumGCAge feature gate is required for Kubelet configuration option"
    return Rule("imageMaximumGCAge", f"{PREFIX}{what} {word}", _age_without_gate, **releases)  # type: ignore[arg-type]


COLLECTION = (
    in_range("imageGCHighThresholdPercent", "image-gc-high-threshold", 0, 100),
    in_range("imageGCLowThresholdPercent", "image-gc-low-threshold", 0, 100),
    Rule(
        "imageGCLowThresholdPercent",
        f"{PREFIX}imageGCLowThresholdPercent (--image-gc-low-threshold) {{}} must be less than"
        " imageGCHighThresholdPercent (--image-gc-high-threshold) {}",
        _low_not_below_high,
    ),
    _age_gate("ImageMaximumGCAge", since=29, until=30),
    _age_gate("imageMaximumGCAge", since=30),
    Rule(
        "imageMinimumGCAge",
        f"{PREFIX}imageMinimumGCAge {{}} must not be negative",
        partial(_negative_age, which=0),
        since=36,
    ),
    Rule(
        "imageMaximumGCAge",
        f"{PREFIX}imageMaximumGCAge {{}} must not be negative",
        partial(_negative_age, which=1),
        since=29,
    ),
    Rule(
        "imageMaximumGCAge",
        f"{PREFIX}imageMaximumGCAge {{}} must be greater than imageMinimumGCAge {{}}",
        _short_age,
        since=29,
    ),
)


# Pulling images


def _parallel_though_serial(subject: Subject) -> Broken:
    pulls = subject.number("maxParallelImagePulls") or 0
    # If it is not set, more than one pull at a time means that pulls are not serialized.
    return when(pulls > 1 and subject.given("serializeImagePulls") is True)


PULLS = (
    Rule(
        "maxParallelImagePulls",
        f"{PREFIX}maxParallelImagePulls {{}} must be a positive number",
        below("maxParallelImagePulls", 1),
    ),
    Rule(
        "maxParallelImagePulls",
        f"{PREFIX}maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls"
        " (--serialize-image-pulls) is set to false",
        _parallel_though_serial,
    ),
)


_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"(?=.{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/"
# Compiled when a taint is checked: few configurations have one, and every start loads this.
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
