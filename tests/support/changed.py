"""Modified copies of objects as the initial or expected state of a test."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def changed(thing: T, **content: object) -> T:
    """Set existing attributes of an object, and return it."""
    for name, value in content.items():
        assert hasattr(thing, name)
        setattr(thing, name, value)
    return thing
