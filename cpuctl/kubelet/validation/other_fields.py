"""Validation of fields that no resource manager reads, but that keep a kubelet from starting all the same.

Rule: ``pkg/kubelet/apis/config/validation``, 1.36: the checks that need one or two numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.kubelet.golang import quoted
from cpuctl.kubelet.setting_error import SettingError

_NOT_NEGATIVE: Mapping[str, str] = {
    "eventBurst": "event-burst",
    "eventRecordQPS": "event-qps",
    "kubeAPIBurst": "kube-api-burst",
    "kubeAPIQPS": "kube-api-qps",
    "maxOpenFiles": "max-open-files",
    "registryBurst": "registry-burst",
    "registryPullQPS": "registry-qps",
}
_RANGES: Mapping[str, tuple[str, int, int]] = {
    "imageGCHighThresholdPercent": ("image-gc-high-threshold", 0, 100),
    "imageGCLowThresholdPercent": ("image-gc-low-threshold", 0, 100),
    "iptablesDropBit": ("iptables-drop-bit", 0, 31),
    "iptablesMasqueradeBit": ("iptables-masquerade-bit", 0, 31),
}
_HAIRPIN_MODES = ("none", "hairpin-veth", "promiscuous-bridge")


def check_other_fields(values: Mapping[str, object], fields: Iterable[str]) -> Iterator[SettingError]:
    """Check *fields* of a configuration with defaults filled in; what is not there is not checked."""
    for name in fields:
        if name in values:
            for text in _problems(name, values[name], values):
                yield SettingError(f"invalid configuration: {text}", name)


def _problems(name: str, value: object, values: Mapping[str, object]) -> Iterator[str]:
    if isinstance(value, int | float):
        yield from _number_problems(name, int(value), values)
    elif name == "hairpinMode" and value not in _HAIRPIN_MODES:
        text = f"option {quoted(str(value))} specified for hairpinMode (--hairpin-mode)"
        yield f'{text}. Valid options are "none", "hairpin-veth" or "promiscuous-bridge"'


def _number_problems(name: str, number: int, values: Mapping[str, object]) -> Iterator[str]:
    if name in _NOT_NEGATIVE:
        if number < 0:
            yield f"{name} (--{_NOT_NEGATIVE[name]}) {number} must not be a negative number"
    elif name in _RANGES:
        yield from _range_problems(name, number)
    elif name in _SINGLE and (text := _SINGLE[name](number)):
        yield text
    if name == "imageGCLowThresholdPercent":
        yield from _threshold_problems(number, values)
    if name == "maxParallelImagePulls":
        yield from _pull_problems(number, values)


def _range_problems(name: str, number: int) -> Iterator[str]:
    flag, low, high = _RANGES[name]
    if not low <= number <= high:
        yield f"{name} (--{flag}) {number} must be between {low} and {high}, inclusive"


def _threshold_problems(low: int, values: Mapping[str, object]) -> Iterator[str]:
    high = values.get("imageGCHighThresholdPercent")
    if isinstance(high, int) and low >= high:
        yield (
            f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than"
            f" imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        )


def _pull_problems(number: int, values: Mapping[str, object]) -> Iterator[str]:
    if number < 1:
        yield f"maxParallelImagePulls {number} must be a positive number"
    if number > 1 and values.get("serializeImagePulls") is True:
        yield (
            "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls"
            " (--serialize-image-pulls) is set to false"
        )


def _lease(number: int) -> str:
    return "" if number > 0 else "nodeLeaseDurationSeconds must be greater than 0"


def _healthz_port(number: int) -> str:
    text = f"healthzPort (--healthz-port) {number} must be between 1 and 65535, inclusive"
    return "" if 0 <= number <= 65535 else text


def _images(number: int) -> str:
    text = f"nodeStatusMaxImages (--node-status-max-images) {number} must be -1 or greater"
    return "" if number >= -1 else text


_SINGLE = {
    "healthzPort": _healthz_port,
    "nodeLeaseDurationSeconds": _lease,
    "nodeStatusMaxImages": _images,
}
