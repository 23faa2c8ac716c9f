"""Things that change, brought into the state a test begins with or expects."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def changed(thing: T, **content: object) -> T:
    """Set what a thing has already, and return it."""
    for name, value in content.items():
        assert hasattr(thing, name)
        setattr(thing, name, value)
    return thing
