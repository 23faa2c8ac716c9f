"""Numbers of JSON and YAML texts, limited to what a Go program would read from them."""

from __future__ import annotations

import math

from cpuctl.documents.positions import Position
from cpuctl.documents.text_errors import TextError

_LONGEST = 22
"""Digits of the largest unsigned 64-bit number, written in octal."""


class PrefixedInt(int):
    """A number that was written as ``0x1f``, ``0o17`` or ``0b1``: such a text may mean something else."""

    written: str


def exact_int(text: str, position: Position) -> int | float | str:
    """Read ``12``, ``0x1f``, ``0o17``, ``017`` or ``0b1``.

    Beyond 64 bits decimal digits become a float, and the other notations stay text, as in Go.
    """
    digits = text.lstrip("+-")
    prefixed = digits[1:2].isalpha()
    number = _number(digits) if prefixed or len(digits.lstrip("0")) <= _LONGEST else 1 << 64
    if number < 1 << 64:
        if prefixed and digits == text:
            number = PrefixedInt(number)
            number.written = text
        return -number if text.startswith("-") else number
    return text if prefixed else finite_float(text, position)


def _number(digits: str) -> int:
    octal = len(digits) > 1 and digits.isdecimal() and digits.startswith("0")
    return int(digits, 8 if octal else 0)


def finite_float(text: str, position: Position) -> float:
    """Read ``0.5`` or ``1e3``; raise TextError if a 64-bit float cannot represent it."""
    number = float(text)
    if not math.isfinite(number):
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise TextError(f"the number {shown} is too large", position)
    return number
