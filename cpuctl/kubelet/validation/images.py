"""Rules for images: when they are collected, how they are pulled, and whose credentials count for them.

Rule: ``pkg/kubelet/apis/config/validation`` and ``pkg/kubelet/images/pullmanager``, 1.33 to 1.36; references
are those of ``github.com/distribution/reference``.
"""

from __future__ import annotations

import re
from functools import partial

from cpuctl.golang.durations import duration_text
from cpuctl.golang.text import quoted
from cpuctl.kubelet.validation.rule import PREFIX, Broken, Rule, Subject, below, in_range, when

_POLICY, _LIST = "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"
_GATE, _BY_LIST = "KubeletEnsureSecretPulledImages", "NeverVerifyAllowlistedImages"
_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", _BY_LIST, "AlwaysVerify")
_SINCE = 33

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_NAME = rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
# Compiled when a pattern is looked at: few configurations have one, and every start loads this.
_REFERENCE = rf"(?P<name>{_NAME})(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?"
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
    """Say what is wrong with the name of an image or of a whole registry's; nothing where it is right."""
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
    # Where nothing is said about it, more than one at a time means not one after the other.
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
