"""The small notations inside a ``synthetic:`` description, read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.machine.kernel_text import parse_given_mask, parse_number, within_limit

NONE = "none"
UNKNOWN = "-"

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def parse_natural(text: str) -> int:
    """Read a number that is not negative.

    Raise ValueError for any other text.
    """
    number = parse_number(text)
    if number < 0:
        raise ValueError(f"found {number}, expected no negative number")
    return number


def parse_cpus(text: str) -> CPUSet:
    """Read a CPU list, or a mask, whose parts are joined by a plus: ``0-3+8``, ``0xf+00000000``."""
    text = text.replace("+", ",")
    mask = parse_given_mask(text)
    return within_limit(CPUSet.parse(text)) if mask is None else mask


def write_cpus(cpus: CPUSet) -> str:
    """Write what ``parse_cpus`` reads."""
    return str(cpus).replace(",", "+")


def parse_groups(text: str) -> dict[int, CPUSet]:
    """Read CPU lists parted by slashes, ``0-3/4-7/252:``, by the number before the colon or by position.

    ``none`` is no group at all. Raise ValueError where numbers do not ascend or a CPU is named twice.
    """
    groups: dict[int, CPUSet] = {}
    claimed, last = CPUSet(), -1
    for position, part in enumerate(text.split("/") if text != NONE else ()):
        number, colon, cpus_text = part.rpartition(":")
        cpus = parse_cpus(cpus_text)
        if not cpus.isdisjoint(claimed):
            raise ValueError(f"CPUs {cpus & claimed} are in two groups")
        key = parse_natural(number) if colon else position
        if key <= last:
            raise ValueError(f"number {key} is not above the one before it")
        groups[key] = cpus
        last = key
        claimed |= cpus
    return groups


def write_groups(groups: Mapping[int, CPUSet]) -> str:
    """Write what ``parse_groups`` reads."""
    if not groups:
        return NONE
    return "/".join(
        write_cpus(cpus) if number == position and cpus else f"{number}:{write_cpus(cpus)}"
        for position, (number, cpus) in enumerate(groups.items())
    )


def parse_bytes(text: str) -> int:
    """Read a number of bytes with a binary unit or none: ``64Gi``."""
    for power, unit in reversed(list(enumerate(_UNITS))):
        if text.endswith(unit):
            return parse_natural(text.removesuffix(unit)) << 10 * power
    raise AssertionError("every text ends with the empty unit")


def write_bytes(number: int) -> str:
    """Write what ``parse_bytes`` reads, in the largest unit that is exact."""
    power = 0
    while number and number % 1024 == 0 and power + 1 < len(_UNITS):
        number, power = number // 1024, power + 1
    return f"{number}{_UNITS[power]}"


def parse_row(text: str, parse: Callable[[str], int]) -> tuple[int | None, ...]:
    """Read one value per node, or a single one that holds for all; ``-`` is None."""
    return tuple(None if word == UNKNOWN else parse(word) for word in text.split("/"))


def write_row(values: Sequence[int | None], write: Callable[[int], str]) -> str:
    """Write what ``parse_row`` reads."""
    return "/".join(UNKNOWN if value is None else write(value) for value in values)
