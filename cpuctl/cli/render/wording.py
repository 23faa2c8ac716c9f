"""Small pieces of sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Write ``1 CPU``, ``2 CPUs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
