"""The value that was probably meant by one that a kubelet rejects."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.configuration.settings import OriginKind, path_name
from cpuctl.kubelet.reservations import RESERVABLE, SIGNALS
from cpuctl.machine.kernel_text import parse_given_mask
from cpuctl.quantity import Quantity
from cpuctl.spelling import nearest

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration

RESERVED = "reservedSystemCPUs"
_SURELY_MASK = 8
_RANGE = re.compile(r"\b([0-9]{1,9})-([0-9]{1,9})\b", re.ASCII)
_EXAMPLES = {"cpu": ("500m", "2"), "pid": ("1000", "5000")}
_BYTES, _THRESHOLD = ("500Mi", "1Gi"), ("100Mi", "5%")


def correction(loaded: LoadedConfiguration, path: tuple[str, ...], error: str) -> str:
    """Return what to write in place of a rejected value; an empty text if that is not clear.

    *error* is the kubelet's, which may list the values that its release accepts. Of the members of a flag's
    value, none is corrected: the flag has to be written as a whole.
    """
    config, origin = loaded.config, loaded.origin(*path)
    if path == (RESERVED,):
        meant = _as_mask(config.reserved_system_cpus) or _as_list(config.reserved_system_cpus)
        if not meant and f"unable to parse {RESERVED}" in error:
            return f"set {origin.text if origin.kind is OriginKind.FLAG else RESERVED} to a list, such as 0-1"
        return reserving(loaded, meant)
    if OriginKind.FLAG in (origin.kind, loaded.origin(path[0]).kind):
        return ""
    match path:
        case ("memorySwap", "swapBehavior"):
            given = config.swap_behavior.casefold()
            accepted = re.findall(r"\w+Swap\b", error.partition("must be one of")[2])
            return _written(
                path_name(path), next((each for each in accepted if each.casefold().startswith(given)), "")
            )
        case ("kubeReserved" | "systemReserved" as field, name):
            amounts = config.kube_reserved if field == "kubeReserved" else config.system_reserved
            if name not in RESERVABLE:
                return _renamed(path, nearest(name, RESERVABLE), amounts)
            return _amount(path, amounts, _EXAMPLES.get(name, _BYTES))
        case ("evictionHard", signal) if signal in SIGNALS:
            return _amount(path, config.eviction_hard, _THRESHOLD)
        case ("evictionHard", signal):
            return _renamed(path, nearest(signal, SIGNALS), config.eviction_hard)
        case _:
            return ""


def reserving(loaded: LoadedConfiguration, cpus: str) -> str:
    """Return how to reserve CPUs where they are reserved now; an empty text for none."""
    origin = loaded.origin(RESERVED)
    of_flag = origin.kind is OriginKind.FLAG
    return f"set {origin.text}={cpus}" if of_flag and cpus else _written(RESERVED, cpus)


def _renamed(path: tuple[str, ...], meant: str, given: Collection[str]) -> str:
    """Return how to correct the name of a member, unless the right one is given as well."""
    right = path_name((*path[:-1], meant))
    return f"use {right} instead of {path_name(path)}" if meant and meant not in given else ""


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


def _amount(path: tuple[str, ...], amounts: Mapping[str, str], examples: tuple[str, str]) -> str:
    text, share = amounts.get(path[-1], ""), examples is _THRESHOLD
    if not text or _is_amount(text, share=share):
        return ""
    if _is_amount(meant := text.strip().removesuffix("B"), share=share):
        return _written(path_name(path), meant)
    return f"set {path_name(path)} to a quantity, such as {' or '.join(examples)}"


def _is_amount(text: str, *, share: bool) -> bool:
    try:
        Quantity.parse(text.removesuffix("%") if share else text)
    except ValueError:
        return False
    return True
