"""What a node consists of: managers, states and counters that change, and how they compare."""

from __future__ import annotations

from functools import cached_property
from typing import Self


class Copied:
    """An object whose copies change independently."""

    def copy(self) -> Self:
        """Return a copy with its own mappings, sets and ``Copied`` objects; all else is shared."""
        copied = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, value.copy() if isinstance(value, (dict, set, Copied)) else value)
        return copied


class ByContent:
    """An object that equals any other with the same content, whatever either has computed from it."""

    def __eq__(self, other: object) -> bool:
        return _content(self) == _content(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it is mutable, or contains what is

    def __repr__(self) -> str:
        content = (f"{name}={value!r}" for name, value in _content(self).items())
        return f"{type(self).__name__}({', '.join(content)})"


class Changeable(Copied, ByContent):
    """An object that is compared by content, and whose copies change independently."""


def _content(thing: object) -> dict[str, object]:
    kind = type(thing)
    return {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
