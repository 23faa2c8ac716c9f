"""Small pieces of sentences."""

from __future__ import annotations

from collections.abc import Sequence

GUESSED = "a guess by maximum frequency"
"""Said of performance and efficiency cores that no kernel has named."""

_NAMES_SHOWN = 3


def counted(count: int, noun: str) -> str:
    """Write ``1 CPU``, ``2 CPUs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def few(names: Sequence[str]) -> str:
    """Write the first names, and how many there are more."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"


def byte_text(amount: int) -> str:
    """Write bytes as people do, with at most one decimal: ``512Mi``, ``1.5Gi``."""
    for power, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount >= 1 << power:
            return f"{amount / (1 << power):.1f}".removesuffix(".0") + unit
    return str(amount)
