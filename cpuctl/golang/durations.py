"""Durations in Go's notation, ``1m30s``, as whole nanoseconds."""

from __future__ import annotations

import re

from cpuctl.golang.text import GoError

MICROSECOND, MILLISECOND, SECOND = 1_000, 1_000_000, 1_000_000_000
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND

_UNITS = {
    "ns": 1, "us": MICROSECOND, "µs": MICROSECOND, "μs": MICROSECOND, "ms": MILLISECOND,
    "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PART = r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]*)"
_LARGEST = (1 << 63) - 1


def parse_duration(text: str) -> int:
    """Read a duration as ``time.ParseDuration`` does, in nanoseconds; raise GoError with its text."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise GoError(f"time: invalid duration {_quoted(text)}")
    total, position = 0, 0
    while position < len(rest):
        nanoseconds, position = _part(text, rest, position)
        total += nanoseconds
        if total > _LARGEST + (sign < 0):
            raise GoError(f"time: invalid duration {_quoted(text)}")
    return sign * total


def duration_text(nanoseconds: int) -> str:
    """Write a duration as Go does: ``1m30s``, ``100ms``, ``1.5s``, ``0s``."""
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    if nanoseconds < SECOND:
        for unit, size in (("ms", MILLISECOND), ("µs", MICROSECOND), ("ns", 1)):
            if nanoseconds >= size:
                return f"{_decimal(nanoseconds, size)}{unit}"
        return "0s"
    hours, rest = divmod(nanoseconds, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(number: int, unit: int) -> str:
    whole, fraction = divmod(number, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0") if fraction else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _quoted(text: str) -> str:
    """Quote as the package does, which escapes non-ASCII text byte by byte."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if " " <= char < "\x80":
        return rf"\{char}" if char in '"\\' else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogateescape"))


def _part(text: str, rest: str, position: int) -> tuple[int, int]:
    """Read one number with its unit; return whole nanoseconds, truncated, and the position after it."""
    found = re.compile(_PART, re.ASCII).match(rest, position)
    assert found is not None  # every piece of the expression may be empty
    whole, fraction, unit = found["whole"], found["fraction"] or "", found["unit"]
    if not whole and not fraction:
        raise GoError(f"time: invalid duration {_quoted(text)}")
    whole = whole.lstrip("0") or "0"
    if len(whole) > 19 or int(whole) > _LARGEST + 1:
        raise GoError(f"time: invalid duration {_quoted(text)}")
    if not unit:
        raise GoError(f"time: missing unit in duration {_quoted(text)}")
    if unit not in _UNITS:
        raise GoError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    digits = fraction[:18]
    nanoseconds = int(whole) * _UNITS[unit] + int(digits or "0") * _UNITS[unit] // 10 ** len(digits)
    return nanoseconds, found.end()
