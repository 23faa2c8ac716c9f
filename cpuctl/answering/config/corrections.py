"""The value that was probably meant by one that a kubelet rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.configuration.settings import path_name
from cpuctl.kubelet.reservations import SIGNALS
from cpuctl.machine.kernel_text import parse_given_mask
from cpuctl.quantity import Quantity
from cpuctl.spelling import nearest

if TYPE_CHECKING:
    from cpuctl.kubelet.config import KubeletConfiguration

_RESERVED = "reservedSystemCPUs"
_SURELY_MASK = 8
_SWAP = ("LimitedSwap", "NoSwap")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)", re.ASCII)


def correction(config: KubeletConfiguration, path: tuple[str, ...]) -> str:
    """Return what to write in place of a rejected value; an empty text if that is not clear."""
    match path:
        case ("reservedSystemCPUs",):
            return _as_mask(config.reserved_system_cpus) or _as_list(config.reserved_system_cpus)
        case ("memorySwap", "swapBehavior"):
            meant = nearest(config.swap_behavior, _SWAP)
            return (
                f"write memorySwap.swapBehavior: {meant}" if meant not in ("", config.swap_behavior) else ""
            )
        case ("kubeReserved" | "systemReserved" as field, name):
            amounts = config.kube_reserved if field == "kubeReserved" else config.system_reserved
            return _amount(path, amounts, ("500m", "2") if name == "cpu" else ("500Mi", "1Gi"))
        case ("evictionHard" | "evictionSoft" as field, signal):
            thresholds = config.eviction_hard if field == "evictionHard" else config.eviction_soft
            if signal not in SIGNALS:
                meant = nearest(signal, SIGNALS)
                return f"write {path_name((field, meant))} in place of {path_name(path)}" if meant else ""
            return _amount(path, thresholds, ("100Mi", "5%"))
        case _:
            return ""


def _as_mask(text: str) -> str:
    """Rewrite a mask as the list that a kubelet reads; short texts are ambiguous."""
    if not text.startswith(("0x", "0X")) and len(text) < _SURELY_MASK:
        return ""
    try:
        mask = parse_given_mask(text)
    except ValueError:
        return ""
    return "" if mask is None else f"write {_RESERVED}: {mask}, as kubelets read CPU lists, not masks"


def _as_list(text: str) -> str:
    """Rewrite a list with spaces, other separators or reversed ranges."""
    plain = re.sub(r"[\s;,]+", ",", text.strip()).strip(",")
    ordered = _RANGE.sub(lambda found: "-".join(sorted(found.groups(), key=int)), plain)
    try:
        cpus = CPUSet.parse(ordered)
    except ValueError:
        return ""
    return f"write {_RESERVED}: {cpus}" if cpus and ordered != text else ""


def _amount(path: tuple[str, ...], amounts: Mapping[str, str], examples: tuple[str, str]) -> str:
    text = amounts.get(path[-1], "")
    if not text or _is_amount(text):
        return ""
    if _is_amount(meant := text.strip().removesuffix("B")):
        return f"write {path_name(path)}: {meant}"
    return f"write {path_name(path)} as an amount, such as {' or '.join(examples)}"


def _is_amount(text: str) -> bool:
    try:
        Quantity.parse(text.removesuffix("%"))
    except ValueError:
        return False
    return True
