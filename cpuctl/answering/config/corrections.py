"""The value that was probably meant by one that a kubelet rejects."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.text import GoError
from cpuctl.kubelet.configuration.settings import OriginKind, path_name
from cpuctl.kubelet.reservations import RESERVABLE, SIGNALS, UNSUPPORTED
from cpuctl.machine.kernel_text import parse_given_mask
from cpuctl.phrases import all_of
from cpuctl.quantity import Quantity
from cpuctl.spelling import nearest

if TYPE_CHECKING:
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration

RESERVED = "reservedSystemCPUs"
_SURELY_MASK = 8
_RANGE = re.compile(r"\b([0-9]{1,9})-([0-9]{1,9})\b", re.ASCII)
_EXAMPLES = {"cpu": ("500m", "2"), "pid": ("1000", "5000")}
_BYTES, _THRESHOLD = ("500Mi", "1Gi"), ("100Mi", "5%")


def correction(loaded: LoadedConfiguration, path: tuple[str, ...], error: str) -> str:
    """Return what to write in place of a rejected value; an empty text if that is not clear.

    *error* is the kubelet's, which may list the values that its release accepts.
    """
    config, origin = loaded.config, loaded.origin(*path)
    if path == (RESERVED,):
        return _of_reserved_cpus(config.reserved_system_cpus, error)
    group = _Group.of(loaded, path[0])
    match path:
        case (field, name) if field in _RESERVATIONS:
            amounts = config.kube_reserved if field == "kubeReserved" else config.system_reserved
            if name not in RESERVABLE:
                return group.renamed(name, nearest(name, RESERVABLE), amounts)
            return _amount(group, name, amounts, _EXAMPLES.get(name, _BYTES))
        case ("evictionHard", signal) if signal in SIGNALS:
            return _amount(group, signal, config.eviction_hard, _THRESHOLD)
        case ("evictionHard", signal):
            return group.renamed(signal, nearest(signal, SIGNALS), config.eviction_hard)
        case (field,) if field == _ENFORCED:
            return _of_enforced(error)
        case _ if group.flag or origin.kind is OriginKind.FLAG:
            return ""
        case (field,) if field in _BY_SIGNAL:
            return _of_signals(config, field, error)
        case ("memorySwap", "swapBehavior"):
            return _of_swap(config.swap_behavior.casefold(), path, error)
        case _:
            return ""


def _of_reserved_cpus(given: str, error: str) -> str:
    meant = _as_mask(given) or _as_list(given)
    if not meant and f"unable to parse {RESERVED}" in error:
        return f"set {RESERVED} to a list, such as 0-1"
    return reserving(meant)


class _Group(NamedTuple):
    """A setting with members, or the *flag* that sets all of them."""

    field: str
    flag: str = ""

    @staticmethod
    def of(loaded: LoadedConfiguration, field: str) -> _Group:
        origin = loaded.origin(field)
        return _Group(field, origin.text if origin.kind is OriginKind.FLAG else "")

    def name(self, member: str) -> str:
        return f"{member} in {self.flag}" if self.flag else path_name((self.field, member))

    def renamed(self, member: str, meant: str, given: Collection[str]) -> str:
        """Return how to correct a member's name, unless the right one is unknown or given as well."""
        if not meant or meant in given:
            return ""
        return f"use {meant if self.flag else self.name(meant)} instead of {self.name(member)}"

    def written(self, member: str, value: str) -> str:
        """Write a member with its value; thresholds in flags are comparisons."""
        if not self.flag:
            return _written(self.name(member), value)
        return f"set {member}{'=' if self.field in _RESERVATIONS else '<'}{value} in {self.flag}"


_RESERVATIONS = ("kubeReserved", "systemReserved")
_ENFORCED = "enforceNodeAllocatable"
_GRACE = "evictionSoftGracePeriod"
_BY_SIGNAL: Mapping[str, Callable[[KubeletConfiguration], Mapping[str, str]]] = {
    "evictionSoft": lambda config: config.eviction_soft,
    _GRACE: lambda config: config.eviction_soft_grace_period,
    "evictionMinimumReclaim": lambda config: config.eviction_minimum_reclaim,
}
"""Settings with one value for each eviction signal, which the kubelet's errors do not always name."""


def _of_signals(config: KubeletConfiguration, field: str, error: str) -> str:
    given = _BY_SIGNAL[field](config)
    unknown = [signal for signal in given if signal not in SIGNALS]
    if unsupported := next((each for each in unknown if UNSUPPORTED.format(each) in error), ""):
        meant = nearest(unsupported, SIGNALS)
        fields = [name for name, members in _BY_SIGNAL.items() if unsupported in members(config)]
        ambiguous = not meant or meant in given
        return "" if ambiguous else f"use {meant} instead of {unsupported} in {all_of(fields)}"
    if field == _GRACE:
        wrong = next((signal for signal, text in given.items() if not _is_period(text)), "")
        return f"set {_GRACE}: {{{wrong}: 1m30s}}" if wrong else ""
    for signal in given:
        if fix := _amount(_Group(field), signal, given, _THRESHOLD):
            return fix
    return ""


def _of_swap(given: str, path: tuple[str, ...], error: str) -> str:
    accepted = re.findall(r"\w+Swap\b", error.partition("must be one of")[2])
    meant = next((each for each in accepted if each.casefold().startswith(given)), "")
    return _written(path_name(path), meant)


def _of_enforced(error: str) -> str:
    """Correct the entry that the kubelet's error names with one of those that it lists."""
    said, _, accepted = error.partition("Valid options are ")
    wrong = re.search(r'option "([^"]*)" specified', said)
    meant = nearest(wrong[1], re.findall(r'"([^"]+)"', accepted)) if wrong else ""
    return f"use {meant} instead of {wrong[1]} in {_ENFORCED}" if wrong and meant else ""


def _is_period(text: str) -> bool:
    try:
        return parse_duration(text) >= 0
    except GoError:
        return False


def reserving(cpus: str) -> str:
    """Return how to reserve CPUs; an empty text for none."""
    return _written(RESERVED, cpus)


def _written(name: str, value: str) -> str:
    """Write a setting as YAML: digits alone would be a number, which no kubelet reads as text."""
    if not value:
        return ""
    return f'set {name}: "{value}"' if value.isdigit() else f"set {name}: {value}"


def _as_mask(text: str) -> str:
    """Rewrite a mask as the list that a kubelet reads; short texts are ambiguous."""
    if not text.startswith(("0x", "0X")) and len(text) < _SURELY_MASK:
        return ""
    try:
        mask = parse_given_mask(text)
    except ValueError:
        return ""
    return "" if mask is None else str(mask)


def _as_list(text: str) -> str:
    """Rewrite a list with spaces, other separators or reversed ranges."""
    plain = re.sub(r"[\s;,]+", ",", re.sub(r"\s*-\s*", "-", text.strip())).strip(",")
    ordered = _RANGE.sub(lambda found: "-".join(sorted(found.groups(), key=int)), plain)
    try:
        cpus = CPUSet.parse(ordered)
    except ValueError:
        return ""
    return str(cpus) if ordered != text else ""


def _amount(group: _Group, name: str, amounts: Mapping[str, str], examples: tuple[str, str]) -> str:
    text, share = amounts.get(name, ""), examples is _THRESHOLD
    if not text or _is_amount(text, share=share):
        return ""
    meant = text.strip().removesuffix("B")
    if (examples is _BYTES or share) and _is_amount(meant, share=share):
        return group.written(name, meant)
    return f"set {group.name(name)} to a quantity, such as {' or '.join(examples)}"


def _is_amount(text: str, *, share: bool) -> bool:
    try:
        return Quantity.parse(text.removesuffix("%") if share else text).sign >= 0
    except ValueError:
        return False
