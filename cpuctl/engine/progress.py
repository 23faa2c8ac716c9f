"""How a long search tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called often, with what is being tried and how much of how much is done (0 of 0: not known)."""


def nobody(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""
