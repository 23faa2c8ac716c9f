"""Amounts of a resource in the Kubernetes notation: ``2``, ``500m``, ``1Gi``, ``1e3``.

Values are exact. Canonical text, rounding, 64-bit overflow and error texts are the kubelet's
(``k8s.io/apimachinery/pkg/api/resource`` in 1.36). The kubelet holds an amount in one of two forms, and
which one shows in its answers: the *short form* is a 64-bit integer times a power of ten, the *long
form* an arbitrary decimal that overflows in another way and is never an "exact int64".
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from cpuctl.golang.integers import (
    INT64_MAX,
    fits_int64,
    long_count,
    low64,
    shifted,
    short_count,
    without_factors,
)
from cpuctl.golang.text import GoError

MAX_PLACES = 300
"""The maximum distance of a digit from the decimal point: parsing refuses 10^300 and beyond.

The kubelet has no such bound, and ``1e999999999`` makes it fill its memory. Sums and texts within this bound
stay below 640 digits, the lowest limit that can be set in Python for converting integers to text.
"""

_GRAMMAR_TEXT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORMAT = f"quantities must match the regular expression '{_GRAMMAR_TEXT}'"
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"

# The kubelet quotes the expression above but scans more freely: the digits may be missing ("Gi" is 0).
# Possessive repeats keep hostile text linear.
_GRAMMAR = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[+-]?[0-9]*+)")
_EXPONENT = r"[eE]([+-]?)([0-9]++)"

_LONGEST_VERBATIM = 5 * MAX_PLACES  # longer ones only add zeros, millions of them in hostile input
_SHORT_DIGITS = 18
_NANO, _MILLI = -9, -3


class Format(StrEnum):
    """The notation that a quantity was written in and prints in."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL_SUFFIXES = {
    -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E",
}  # fmt: skip
_BINARY_SUFFIXES = {10: "Ki", 20: "Mi", 30: "Gi", 40: "Ti", 50: "Pi", 60: "Ei"}
_SUFFIXES = {text: (Format.DECIMAL_SI, power) for power, text in _DECIMAL_SUFFIXES.items()} | {
    text: (Format.BINARY_SI, power) for power, text in _BINARY_SUFFIXES.items()
}


class Quantity:
    """An immutable amount, ``unscaled * 10**exponent``; equality, order and hash use that number.

    Its unit is that of its resource: CPUs, bytes, pieces. Make one with ``parse``, ``from_value`` or
    ``from_milli``. ``short`` names the form in which the kubelet would hold it, ``verbatim`` the input if
    the kubelet would print it back unchanged.
    """

    __slots__ = ("exponent", "format", "short", "unscaled", "verbatim")

    def __init__(
        self,
        unscaled: int = 0,
        exponent: int = 0,
        notation: Format = Format.DECIMAL_SI,
        *,
        short: bool = True,
        verbatim: str = "",
    ) -> None:
        self.unscaled: Final = unscaled
        self.exponent: Final = exponent
        self.format: Final = notation
        self.short: Final = short
        self.verbatim: Final = verbatim

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity; digits below nano round away from zero, binary suffixes cap at 2^63-1.

        Raise GoError with the kubelet's own text, or with our own beyond ``MAX_PLACES``.
        """
        match = _GRAMMAR.fullmatch(text)
        if match is None or not text:
            raise GoError(_WRONG_FORMAT)
        sign, zeros, whole, fraction, suffix = match.groups("")
        notation, power = _SUFFIXES.get(suffix) or (Format.DECIMAL_EXPONENT, _exponent(suffix))
        if len(whole) + power > MAX_PLACES or len(fraction) - power > MAX_PLACES:
            raise GoError(
                f"quantity has too many digits: cpuctl computes with at most"
                f" {MAX_PLACES} digits on either side of the decimal point"
            )
        digits = (whole or "0") + fraction
        verbatim = text if len(text) <= _LONGEST_VERBATIM else ""
        if notation is Format.BINARY_SI:
            quantity = _binary(verbatim, sign, digits, len(fraction), power)
        else:
            quantity = _decimal(verbatim, sign, digits, power - len(fraction), notation)
        if not (quantity.short or zeros or whole or fraction):
            raise GoError(_WRONG_NUMBER)
        return quantity

    @classmethod
    def from_value(cls, number: int, notation: Format = Format.DECIMAL_SI) -> Quantity:
        """Make a quantity of whole units; beyond 64 bits it is held in long form."""
        return cls(number, 0, notation, short=fits_int64(number))

    @classmethod
    def from_milli(cls, number: int, notation: Format = Format.DECIMAL_SI) -> Quantity:
        """Make a quantity of thousandths; beyond 64 bits it is held in long form."""
        return cls(number, _MILLI, notation, short=fits_int64(number))

    def __str__(self) -> str:
        return self.verbatim or _canonical_text(self)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __add__(self, other: Quantity) -> Quantity:
        """Add exactly; the result prints in the left format, or in the right one if the left is zero."""
        notation = self.format if self.unscaled else other.format
        short = self.short and other.short
        if short and not (self.unscaled and other.unscaled):
            # The kubelet leaves the scale of the other operand alone: "exact int64" depends on it.
            kept = other if other.unscaled else self
            return Quantity(kept.unscaled, kept.exponent, notation)
        exponent = min(self.exponent, other.exponent)
        left = shifted(self.unscaled, self.exponent - exponent)
        right = shifted(other.unscaled, other.exponent - exponent)
        short = short and all(map(fits_int64, (left, right, left + right)))
        return Quantity(left + right, exponent, notation, short=short)

    def __sub__(self, other: Quantity) -> Quantity:
        """Subtract exactly, by the rules of addition."""
        return self + -other

    def __neg__(self) -> Quantity:
        short = self.short and fits_int64(-self.unscaled)
        return Quantity(-self.unscaled, self.exponent, self.format, short=short)

    @property
    def nano(self) -> int:
        """The exact amount, counted in units of 10^-9, the finest that a quantity holds."""
        return shifted(self.unscaled, self.exponent - _NANO)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def value(self) -> int:
        """Whole units as the kubelet's 64-bit integer: rounded away from zero, *wrapped* on overflow.

        Only for answers that must equal the kubelet's; our own arithmetic uses ``nano``.
        """
        return self._count_in(0)

    @property
    def milli_value(self) -> int:
        """Thousandths as the kubelet's 64-bit integer, with the reservations of ``value``."""
        return self._count_in(_MILLI)

    @property
    def exact_int64(self) -> int | None:
        """The number that the memory manager can use: None for ``1.5Gi`` or ``1000m``, whole number or not.

        The kubelet converts only short forms written without fraction, and never shortens digits.
        """
        if not self.short or self.exponent < 0:
            return None
        number = shifted(self.unscaled, self.exponent)
        return number if fits_int64(number) else None

    @property
    def is_integral_cpu(self) -> bool:
        """Whether the CPU manager sees whole CPUs: value and milli-value agree, in 64 bits.

        Both are rounded up first, so ``999999u`` counts as one whole CPU. Rule: kubelet v1.36
        ``cm/cpumanager/policy_static.go``.
        """
        return low64(self.value * 1000) == self.milli_value

    def canonical(self) -> Quantity:
        """Return what a node reads after the API server has written this quantity as text.

        The notation can change on the way: 2000 in BinarySI prints as ``2000`` and reads back as DecimalSI.
        Raise ValueError if a sum has grown beyond what ``parse`` accepts.
        """
        return Quantity.parse(str(self))

    def rounded_up_to_milli(self) -> Quantity:
        """Return what API defaulting stores: nothing finer than 1m, rounded away from zero.

        Rule: ``SetDefaults_ResourceList`` in ``pkg/apis/core/v1/defaults.go`` of 1.36.
        """
        if self.short and self.exponent >= _MILLI:
            return self
        count = shifted(self.unscaled, self.exponent - _MILLI)
        return Quantity(count, _MILLI, self.format, short=self.short)

    def _count_in(self, unit: int) -> int:
        count = short_count if self.short else long_count
        return count(self.unscaled, self.exponent - unit)


def _exponent(suffix: str) -> int:
    """Read ``e<int>`` as Go's ``strconv.ParseInt`` does, errors included."""
    match = re.fullmatch(_EXPONENT, suffix)
    if match is None:
        raise GoError(_WRONG_SUFFIX)
    sign, digits = match.groups()
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19 or not fits_int64(exponent := int(sign + digits)):
        raise GoError(_WRONG_SUFFIX)
    return exponent


def _decimal(verbatim: str, sign: str, digits: str, exponent: int, notation: Format) -> Quantity:
    """Hold *digits* times a power of ten."""
    mantissa = int(sign + digits)
    if len(digits) <= _SHORT_DIGITS and exponent >= _NANO:
        kept = exponent % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
        return Quantity(mantissa, exponent, notation, verbatim=verbatim if kept else "")
    if not mantissa:
        return Quantity(0, exponent, notation, short=False)
    return Quantity(shifted(mantissa, exponent - _NANO), _NANO, notation, short=False)


def _binary(verbatim: str, sign: str, digits: str, places: int, power: int) -> Quantity:
    """Hold *digits*, the last *places* of which are a fraction, times a power of two."""
    mantissa = int(sign + digits)
    scaled = mantissa << power
    # The kubelet estimates three decimal digits per ten bits and requires space for fifteen in all.
    if not places and len(digits) + power * 3 // 10 < 15:
        return Quantity(scaled, 0, Format.BINARY_SI, verbatim=verbatim if mantissa % 8 else "")
    if not mantissa:
        return Quantity(0, -places, Format.BINARY_SI, short=False)
    nano = shifted(scaled, -places - _NANO)
    if abs(nano) > shifted(INT64_MAX, -_NANO):
        return Quantity(INT64_MAX if nano > 0 else -INT64_MAX, 0, Format.BINARY_SI, short=False)
    notation = Format.DECIMAL_SI if abs(nano) < shifted(1, -_NANO) else Format.BINARY_SI
    return Quantity(nano, _NANO, notation, short=False)


def _canonical_text(quantity: Quantity) -> str:
    """Print with the largest suffix that leaves a whole number."""
    if not quantity.unscaled:
        return "0"
    if quantity.format is Format.BINARY_SI:
        whole, rest = divmod(quantity.nano, 10**9)
        if not rest and abs(whole) >= 1024:
            return _binary_text(whole)
    number, exponent = without_factors(quantity.unscaled, 10)
    exponent += quantity.exponent
    number, exponent = shifted(number, exponent % 3), exponent - exponent % 3
    if quantity.format is Format.DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else f"{number}"
    # Up to 1.36 the kubelet prints no suffix beyond E: 1000E reads back as 1.
    return f"{number}{_DECIMAL_SUFFIXES.get(exponent, '')}"


def _binary_text(number: int) -> str:
    number, times = without_factors(number, 1024)
    return f"{number}{_BINARY_SUFFIXES.get(times * 10, '')}"


def amount_text(value: object) -> str | None:
    """Return the text of a value that Kubernetes reads as a quantity (text, number, or null), else None."""
    match value:
        case None:
            return "0"
        case str() as text:
            return text.strip()
        case int() as number if not isinstance(number, bool):
            return str(number)
        case float() as number:
            return str(int(number)) if number.is_integer() else repr(number)
        case _:
            return None
