"""Small words of English for sentences about sets of CPUs and NUMA nodes."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.cpuset import CPUSet


def named(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3`` or ``CPUs 3-5``."""
    return f"{noun}{'s' if len(members) > 1 else ''} {members}"


def are(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3 is`` or ``CPUs 3-5 are``."""
    return f"{named(members, noun)} {'are' if len(members) > 1 else 'is'}"


def have(members: CPUSet, noun: str = "CPU") -> str:
    """Write ``CPU 3 has`` or ``CPUs 3-5 have``."""
    return f"{named(members, noun)} {'have' if len(members) > 1 else 'has'}"


def some_of(names: Sequence[str], most: int = 3) -> str:
    """Write the first of many names: ``a, b, c, ...``."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def count(number: int, noun: str) -> str:
    """Write ``1 socket`` or ``2 sockets``."""
    return f"{number} {noun}{'s' if number != 1 else ''}"
