"""Hard eviction thresholds: which count as reservations, and how many bytes they are.

Rule: ``pkg/kubelet/eviction/helpers.go`` and ``cm/node_container_manager_linux.go``, 1.36. A percentage is
kept in 32 bits: 10 % of the memory is ``trunc(float64(memory) * float64(float32(10) / float32(100)))``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.golang.conversions import float32, parse_float32
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, INODE_THRESHOLD_OF_IMAGES
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.setting_error import SettingError
from cpuctl.quantity import Format, Quantity

SIGNALS = frozenset(
    {
        "allocatableMemory.available", "containerfs.available", "containerfs.inodesFree", "imagefs.available",
        "imagefs.inodesFree", "memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available",
    }
)  # fmt: skip

RESERVING_SIGNALS: Mapping[str, str] = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
}
"""The signals whose hard thresholds are kept from pods, and the resources that they are kept of."""

_DISABLED = ("0%", "100%")
_NO_NUMBER = -(1 << 63)
"""What processors make of it that is no number (``NaN%``) as an integer."""

_FIELD = "evictionHard"


class Threshold(NamedTuple):
    """A threshold: an amount, or else a share of the capacity (1 for all of it), in 32-bit precision."""

    amount: Quantity | None = None
    share: float = 0.0

    def of(self, capacity: Quantity | None) -> Quantity | None:
        """Resolve against a capacity; None where a share is taken of a capacity that is not known."""
        if self.amount is not None:
            return self.amount
        if capacity is None:
            return None
        if math.isnan(self.share):
            return Quantity.from_value(_NO_NUMBER, Format.BINARY_SI)
        return Quantity.from_value(math.trunc(float(capacity.value) * self.share), Format.BINARY_SI)


def default_eviction_hard(minor: int) -> dict[str, str]:
    """Return the thresholds that a configuration file of a release gets where it names none (Linux)."""
    inodes = behaviours(minor).default_inode_threshold_of_images
    return {
        signal: threshold
        for signal, threshold in DEFAULT_EVICTION_HARD.items()
        if inodes or signal != INODE_THRESHOLD_OF_IMAGES
    }


UNSUPPORTED = "unsupported eviction signal {}"
NEGATIVE = "eviction percentage threshold {} must be >= 0%: {}"
BEYOND = "eviction percentage threshold {} must be <= 100%: {}"
NOT_POSITIVE = "eviction threshold {} must be positive: {}"
UNREADABLE = "{}"


def threshold_problem(signal: str, text: str) -> tuple[str, tuple[object, ...]] | None:
    """Say what a kubelet has against a threshold: its words, and what is filled into them."""
    if signal not in SIGNALS:
        return UNSUPPORTED, (signal,)
    if text in _DISABLED:
        return None
    try:
        if not text.endswith("%"):
            amount = Quantity.parse(text)
            return (NOT_POSITIVE, (signal, amount)) if amount.sign <= 0 else None
        share = _share(text)
    except GoError as error:
        return UNREADABLE, (error,)
    if share < 0:
        return NEGATIVE, (signal, text)
    return (BEYOND, (signal, text)) if share > 1 else None


def parse_thresholds(thresholds: Mapping[str, str]) -> dict[str, Threshold]:
    """Read ``evictionHard``; disabled thresholds are left out.

    Raise SettingError with the kubelet's text. The kubelet walks the map in random order, here it is by name.
    """
    parsed = {signal: _parse(signal, thresholds[signal]) for signal in sorted(thresholds)}
    return {signal: threshold for signal, threshold in parsed.items() if threshold is not None}


def _parse(signal: str, text: str) -> Threshold | None:
    if problem := threshold_problem(signal, text):
        words, values = problem
        raise SettingError(words.format(*values), _FIELD, signal)
    if text in _DISABLED:
        return None
    return Threshold(share=_share(text)) if text.endswith("%") else Threshold(Quantity.parse(text))


def _share(text: str) -> float:
    """Read a percentage as a share of 1; raise GoError for what is none."""
    return float32(parse_float32(text.rstrip("%")) / 100)
