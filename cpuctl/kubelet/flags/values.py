"""How the kubelet reads the value of a flag, and the result of a repeated flag.

Rule: ``spf13/pflag``, which reads lists as lines of ``encoding/csv`` (and only the first of several lines),
and ``k8s.io/component-base/cli/flag``. Readers raise GoError with the texts of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from cpuctl.documents.document import Value
from cpuctl.golang.conversions import parse_atoi, parse_bool, parse_int
from cpuctl.golang.durations import duration_text, parse_duration
from cpuctl.golang.text import GoError, quoted
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_INT32 = 1 << 32
"""The kubelet truncates NUMA node numbers to 32 bits."""


def read_flag(kind: str, text: str, before: Value) -> Value:
    """Read a value of a kind; add it in place to what earlier uses of the flag collected (*before*)."""
    if kind in _SCALARS:
        return _SCALARS[kind](text)
    if kind in _MAPS:
        pairs = before if isinstance(before, dict) else {}
        pairs.update(_MAPS[kind](text))
        return pairs
    items = before if isinstance(before, list) else []
    if kind in _MEMORY_TEXTS:
        items.extend(_memory(text, _MEMORY_TEXTS[kind]))
    else:
        items.extend(csv_list(text))
    return items


def _duration(text: str) -> str:
    return duration_text(parse_duration(text))


def _as_go_flag(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Read as Go's own ``flag`` does, with its less specific errors."""

    def wrapped(text: str) -> Value:
        try:
            return read(text)
        except GoError as error:
            raise GoError("value out of range" if "out of range" in str(error) else "parse error") from None

    return wrapped


def _level(text: str) -> int:
    """Read a number as ``strconv.ParseUint(text, 10, 31)``."""
    if not (text.isascii() and text.isdecimal()):
        raise GoError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    if int(text) > _MOST_31_BITS:
        raise GoError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _vmodule(text: str) -> str:
    for part in filter(None, text.split(",")):
        words = part.split("=")
        if len(words) != 2 or not all(words):  # a pattern and a number
            raise GoError(f"{quoted(part)} does not have the pattern=N format")
        try:
            _level(words[1])
        except GoError as error:
            raise GoError(f"parsing verbosity in {quoted(part)}: {error}") from None
    return text


def _address(text: str) -> str:
    from ipaddress import IPv6Address, ip_address

    # Unlike Python, the kubelet accepts leading zeros, and never accepts a zone.
    plain = text if ":" in text else ".".join(part.lstrip("0") or part[-1:] for part in text.split("."))
    try:
        address = ip_address(plain) if text else None
    except ValueError:
        address = IPv6Address("::%none")
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise GoError(f"{quoted(text)} is not a valid IP address")
    return text


def _size(text: str) -> str:
    Quantity.parse(text)
    return text


def _headers(text: str) -> str:
    if not all(":" in part for part in text.split(",") if part):
        raise GoError("malformed pair, expect string:string")
    return text


def _version(text: str) -> Value:
    return text if text == "raw" or text.startswith("v") else parse_bool(text)


def _taints(text: str) -> str:
    """Check a list of taints, ``key=value:effect``."""
    seen: set[tuple[str, str]] = set()
    for part in text.split(",") if text else ():
        key, effect = _taint(part.removesuffix("-"))
        if part.endswith("-"):
            continue
        if not effect:
            raise GoError(f"invalid taint spec: {part}")
        if (key, effect) in seen:
            raise GoError(f"duplicated taints with the same key and effect: {part}")
        seen.add((key, effect))
    return text


def _taint(text: str) -> tuple[str, str]:
    from cpuctl.object_names import label_value_problems, qualified_name_problems

    before, colon, effect = text.partition(":")
    if ":" in effect:
        raise GoError(f"invalid taint spec: {text}")
    if colon and effect not in _EFFECTS:
        raise GoError(f"invalid taint effect: {effect}, unsupported taint effect")
    key, *values = before.split("=") if colon else [before]
    if len(values) > 1:
        raise GoError(f"invalid taint spec: {text}")
    if problems := label_value_problems(*values or ("",)) or qualified_name_problems(key):
        raise GoError(f"invalid taint spec: {text}, {'; '.join(problems)}")
    return key, effect


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_31_BITS = (1 << 31) - 1

_SCALARS: Mapping[str, Callable[[str], Value]] = {
    "string": str,
    "bool": parse_bool,
    "int32": lambda text: parse_int(text, bits=32),
    "int64": parse_int,
    "duration": _duration,
    "go-bool": _as_go_flag(parse_bool),
    "go-int": _as_go_flag(parse_int),
    "go-duration": _as_go_flag(_duration),
    "ip": _address,
    "labels": str,
    "level": _level,
    "vmodule": _vmodule,
    "size": _size,
    "headers": _headers,
    "taints": _taints,
    "version": _version,
}


def _pairs(text: str) -> dict[str, Value]:
    return _split(text.split(","), "=", "string=string")


def _thresholds(text: str) -> dict[str, Value]:
    return _split(text.split(","), "<", "string<string")


def _one_pair(text: str) -> dict[str, Value]:
    """Read one pair: commas belong to the value, so several options need several flags."""
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


class _MemoryTexts(Record):
    """The words that differ between releases in texts about reserved memory."""

    expected: str
    quantity: str
    no_quantity: str


_MEMORY_TEXTS = {
    "memory": _MemoryTexts("expected", "quantity", "failed to parse the quantity: {}"),
    "misspelt-memory": _MemoryTexts(
        "exptected", "quantatity", "failed to parse the quantatity, expected quantatity, got {}"
    ),
}


def _memory(text: str, texts: _MemoryTexts) -> list[Value]:
    """Read ``0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi``."""
    return [_reservation(part, texts) for part in text.split(";")] if text else []


def _reservation(text: str, texts: _MemoryTexts) -> Value:
    node, colon, limits = text.partition(":")
    if not colon or ":" in limits:
        form = "numaNodeID:type=quantity[,type=quantity...]"
        raise GoError(f"the reserved memory has incorrect format, expected {form}, got {text}")
    try:
        number = parse_atoi(node)
    except GoError:
        raise GoError(f"failed to convert the NUMA node ID, {texts.expected} integer, got {node}") from None
    return {
        "numaNode": (number + _INT32 // 2) % _INT32 - _INT32 // 2,
        "limits": dict(_limit(part, texts) for part in limits.split(",")),
    }


def _limit(text: str, texts: _MemoryTexts) -> tuple[str, Value]:
    name, equals, amount = text.partition("=")
    if not equals or "=" in amount:
        raise GoError(f"the reserved limit has incorrect value, expected type={texts.quantity}, got {text}")
    if name != "memory" and not name.startswith("hugepages-"):
        raise GoError(f"memory type conversion error, unknown type: {quoted(name)}")
    try:
        Quantity.parse(amount)
    except GoError:
        raise GoError(texts.no_quantity.format(amount)) from None
    return name, amount


_QUOTED = re.compile(r'"((?:[^"]|"")*+)"(?=,|$)')
_UP_TO_LONE_QUOTE = re.compile(r'"(?:[^"]|"")*+')


def csv_list(text: str) -> list[str]:
    """Read the fields of a line; raise GoError with Go's text for misplaced quotes."""
    line = text.lstrip("\n").partition("\n")[0]
    if not line:
        if text:
            raise GoError("EOF")
        return []
    fields: list[str] = []
    at = 0
    while at <= len(line):
        if line.startswith('"', at):
            found = _QUOTED.match(line, at)
            if found is None:
                raise _stray_quote(line, at)
            fields.append(found[1].replace('""', '"'))
            at = found.end() + 1
        else:
            field = line[at:].partition(",")[0]
            if '"' in field:
                raise _mistake(line, at + field.index('"'), 'bare " in non-quoted-field')
            fields.append(field)
            at += len(field) + 1
    return fields


def _stray_quote(line: str, at: int) -> GoError:
    """Return the error at the quote after which the field continues, or at the line's end if unclosed."""
    found = _UP_TO_LONE_QUOTE.match(line, at)
    assert found is not None  # it starts with a quote
    return _mistake(line, found.end(), 'extraneous or missing " in quoted-field')


def _mistake(line: str, at: int, what: str) -> GoError:
    column = len(line[:at].encode(errors="surrogateescape")) + 1
    return GoError(f"parse error on line 1, column {column}: {what}")
