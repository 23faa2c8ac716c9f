"""Sets of CPUs (or NUMA nodes), written in the kernel's and the kubelet's list format.

Parsing and its error texts follow the kubelet (``k8s.io/utils/cpuset``); the list format is the one
of the kernel document *Documentation/admin-guide/cputopology.rst*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final

from cpuctl.golang.text import GoError

MAX_CPU = (1 << 20) - 1
"""The largest CPU number accepted: far beyond any kernel's ``NR_CPUS``, small enough for a mask."""

_LONGEST_LIST = 5_000_000
"""Characters of a list: the list of every second number up to the largest is shorter."""
_MANY = 8192
"""The CPUs of the largest kernels; longer lists and masks are read and written differently."""

_ONES = re.compile("1+")
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NOT_WRITTEN, _TOO_LARGE = "invalid syntax", "value out of range"
_NO_NUMBER = re.compile(rf'strconv\.Atoi: parsing "(.*)": ({_NOT_WRITTEN}|{_TOO_LARGE})')
_GO_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class CPUSetLimitError(ValueError):
    """A well-formed list that exceeds cpuctl's limits."""


class CPUSet:
    """An immutable set of CPU numbers: bit *n* of ``mask`` is set if CPU *n* is a member."""

    __slots__ = ("mask",)

    def __init__(self, mask: int = 0) -> None:
        self.mask: Final = mask

    @classmethod
    def of(cls, cpus: Iterable[int]) -> CPUSet:
        """Make a set of CPU numbers, in any order, repeated or not."""
        return cls(reduce(lambda mask, cpu: mask | 1 << cpu, cpus, 0))

    @classmethod
    def parse(cls, text: str) -> CPUSet:
        """Read the list format, ``0-3,8``; empty text is the empty set.

        Raise GoError with the kubelet's own text: blanks, empty parts, strides and backward ranges are
        refused, overlaps are not. Raise CPUSetLimitError, with our own text, beyond cpuctl's limits.
        """
        if not text:
            return cls()
        if len(text) > _LONGEST_LIST:
            limit = f"cpuctl reads at most {_LONGEST_LIST}"
            raise CPUSetLimitError(f"the list has {len(text)} characters, {limit}")
        ranges = [_range(part) for part in text.split(",")]
        if len(ranges) > _MANY:
            return cls(_mask_of_many(ranges))
        mask = 0
        for low, high in ranges:
            mask |= (1 << high + 1) - (1 << low)
        return cls(mask)

    @property
    def kernel_mask(self) -> str:
        """The set as a mask of kernel files: groups of eight hexadecimal digits, the highest first."""
        digits = f"{self.mask:x}"
        digits = digits.rjust(-(-len(digits) // 8) * 8, "0")
        return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))

    def __eq__(self, other: object) -> bool:
        return self.mask == other.mask if isinstance(other, CPUSet) else NotImplemented

    def __hash__(self) -> int:
        # An integer's own hash repeats every 61 bits: CPUs 0, 61, 122 and so on would collide.
        return hash((self.mask, self.mask.bit_length()))

    def __or__(self, other: CPUSet) -> CPUSet:
        return CPUSet(self.mask | other.mask)

    def __and__(self, other: CPUSet) -> CPUSet:
        return CPUSet(self.mask & other.mask)

    def __sub__(self, other: CPUSet) -> CPUSet:
        return CPUSet(self.mask & ~other.mask)

    def __le__(self, other: CPUSet) -> bool:
        return not self.mask & ~other.mask

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __contains__(self, cpu: int) -> bool:
        return cpu >= 0 and self.mask >> cpu & 1 == 1

    def __iter__(self) -> Iterator[int]:
        for first, last in self.runs():
            yield from range(first, last + 1)

    def __str__(self) -> str:
        return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in self.runs())

    def __repr__(self) -> str:
        return f"CPUSet.parse({str(self)!r})"

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of every unbroken stretch, ascending."""
        if self.mask.bit_length() > _MANY:
            # Repeatedly shifting a long mask takes quadratic time.
            bits = f"{self.mask:b}"[::-1]
            yield from ((run.start(), run.end() - 1) for run in _ONES.finditer(bits))
            return
        rest, base = self.mask, 0
        while rest:
            gap = (rest & -rest).bit_length() - 1
            rest, base = rest >> gap, base + gap
            length = (~rest & rest + 1).bit_length() - 1
            yield base, base + length - 1
            rest, base = rest >> length, base + length

    def isdisjoint(self, other: CPUSet) -> bool:
        """Return whether no CPU is in both sets."""
        return not self.mask & other.mask

    @property
    def lowest(self) -> int:
        """The smallest CPU number; raise IndexError for the empty set."""
        if not self.mask:
            raise IndexError("the empty CPU set has no lowest CPU")
        return (self.mask & -self.mask).bit_length() - 1


def list_problem(error: ValueError) -> str:
    """Write in plain words why ``CPUSet.parse`` rejects a list, for files that no kubelet reads."""
    found = _NO_NUMBER.fullmatch(str(error))
    if found is None:
        return str(error)
    text, problem = found.groups()
    if problem == _TOO_LARGE:
        return f"{text} is too large"
    return f'"{text}" is not a number' if text else "a number is missing"


def _range(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    low = _integer(first)
    high = _integer(last) if dash else low
    if low > high:
        raise GoError(f'invalid range "{part}" ({low} > {high})')
    return low, high


def _mask_of_many(ranges: list[tuple[int, int]]) -> int:
    """Set the bits of many ranges in one pass over the mask, not in one pass each."""
    bits: list[str] = []
    end = 0
    for low, high in sorted(ranges):
        if high >= end:
            bits.append("0" * (low - end))
            bits.append("1" * (high + 1 - max(low, end)))
            end = high + 1
    return int("".join(bits)[::-1], 2)


def _integer(text: str) -> int:
    """Read a decimal as Go's ``strconv.Atoi`` does, errors included."""
    if len(text) < 7 and text.isascii() and text.isdecimal():  # nearly always, and thousands of times
        return int(text)
    if not _INTEGER.fullmatch(text):
        shown = "".join(_GO_ESCAPES.get(char, char) for char in text)
        raise GoError(f'strconv.Atoi: parsing "{shown}": {_NOT_WRITTEN}')
    # int() refuses very long digit strings with its own message, so length decides first.
    digits, sign = text.lstrip("+-").lstrip("0") or "0", -1 if text.startswith("-") else 1
    if len(digits) > 19 or not -(1 << 63) <= (number := sign * int(digits)) < 1 << 63:
        raise GoError(f'strconv.Atoi: parsing "{text}": {_TOO_LARGE}')
    if number > MAX_CPU:
        raise CPUSetLimitError(f"CPU {number} is beyond {MAX_CPU}, the largest CPU number cpuctl accepts")
    return number


def union(sets: Iterable[CPUSet]) -> CPUSet:
    """Return the CPUs that are in any of the sets."""
    mask = 0
    for each in sets:
        mask |= each.mask
    return CPUSet(mask)
