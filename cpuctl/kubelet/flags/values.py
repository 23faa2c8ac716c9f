"""How the kubelet reads the value of a flag, and what a flag that is given twice adds up to.

Rule: ``spf13/pflag`` and ``k8s.io/component-base/cli/flag``. Readers raise GoError with their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cpuctl.documents.document import Value
from cpuctl.go_text import GoError
from cpuctl.kubelet.duration import duration_text, parse_duration
from cpuctl.kubelet.flags.csv_list import csv_list
from cpuctl.kubelet.golang import parse_atoi, parse_bool, parse_int, quoted
from cpuctl.quantity import Quantity

_INT32 = 1 << 32
"""Of the numbers of NUMA nodes, the kubelet keeps as many bits."""


def read_flag(kind: str, text: str, before: Value) -> Value:
    """Read a value of a kind; what earlier uses of a flag have collected (*before*) is added to in place."""
    if kind in _SCALARS:
        return _SCALARS[kind](text)
    if kind in _MAPS:
        pairs = before if isinstance(before, dict) else {}
        pairs.update(_MAPS[kind](text))
        return pairs
    items = before if isinstance(before, list) else []
    items.extend(_LISTS[kind](text))
    return items


def _duration(text: str) -> str:
    return duration_text(parse_duration(text))


_SCALARS: Mapping[str, Callable[[str], Value]] = {
    "string": str,
    "bool": parse_bool,
    "int32": lambda text: parse_int(text, bits=32),
    "int64": parse_int,
    "duration": _duration,
}


def _pairs(text: str) -> dict[str, Value]:
    return _split(text.split(","), "=", "string=string")


def _thresholds(text: str) -> dict[str, Value]:
    return _split(text.split(","), "<", "string<string")


def _one_pair(text: str) -> dict[str, Value]:
    """Read one pair: commas belong to the value, so that several options need several flags."""
    name, equals, value = text.partition("=")
    if not equals:
        raise GoError("malformed pair, expect string=string")
    return {name.strip(): value.strip()}


def _gates(text: str) -> dict[str, Value]:
    return {
        name: _gate(name, str(value)) for name, value in _split(text.split(","), "=", "string=bool").items()
    }


def _gate(name: str, value: str) -> bool:
    try:
        return parse_bool(value)
    except GoError as error:
        raise GoError(f"invalid value of {name}: {value}, err: {error}") from None


def _split(parts: Iterable[str], separator: str, wanted: str) -> dict[str, Value]:
    pairs: dict[str, Value] = {}
    for part in filter(None, parts):
        name, found, value = part.partition(separator)
        if not found:
            raise GoError(f"malformed pair, expect {wanted}")
        pairs[name.strip()] = value.strip()
    return pairs


_MAPS: Mapping[str, Callable[[str], dict[str, Value]]] = {
    "pairs": _pairs,
    "thresholds": _thresholds,
    "one-pair": _one_pair,
    "gates": _gates,
}


def _list(text: str) -> list[Value]:
    return list(csv_list(text))


def _memory(text: str) -> list[Value]:
    """Read ``0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi``."""
    return [_reservation(part) for part in text.split(";")] if text else []


def _reservation(text: str) -> Value:
    node, colon, limits = text.partition(":")
    if not colon or ":" in limits:
        form = "numaNodeID:type=quantity[,type=quantity...]"
        raise GoError(f"the reserved memory has incorrect format, expected {form}, got {text}")
    try:
        number = parse_atoi(node)
    except GoError:
        # Misspelt in the kubelet.
        raise GoError(f"failed to convert the NUMA node ID, exptected integer, got {node}") from None
    return {
        "numaNode": (number + _INT32 // 2) % _INT32 - _INT32 // 2,
        "limits": dict(_limit(part) for part in limits.split(",")),
    }


def _limit(text: str) -> tuple[str, Value]:
    name, equals, amount = text.partition("=")
    if not equals or "=" in amount:
        raise GoError(f"the reserved limit has incorrect value, expected type=quantatity, got {text}")
    if name != "memory" and not name.startswith("hugepages-"):
        raise GoError(f"memory type conversion error, unknown type: {quoted(name)}")
    try:
        Quantity.parse(amount)
    except GoError:
        raise GoError(f"failed to parse the quantatity, expected quantatity, got {amount}") from None
    return name, amount


_LISTS: Mapping[str, Callable[[str], list[Value]]] = {"list": _list, "memory": _memory}
