"""Where in a text something stands."""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.documents.paths import Path


class Place(NamedTuple):
    """A place in a text; line and column count from 1."""

    line: int
    column: int

    @classmethod
    def at(cls, text: str, offset: int) -> Place:
        """Turn an offset in *text* into line and column."""
        return cls(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


class Placed(NamedTuple):
    """A value with the place of its key (in a mapping) or of itself."""

    place: Place
    value: object

    def child(self, step: str | int) -> Placed | None:
        """Return the member or item one step down, None where there is none."""
        inside = self.value
        if isinstance(inside, dict) and isinstance(step, str):
            found = inside.get(step)
        elif isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
            found = inside[step]
        else:
            found = None
        return found if isinstance(found, Placed) else None


class Repeated(NamedTuple):
    """A key that a mapping holds once more: the path to it, and where the key and its value begin."""

    path: Path
    place: Place
    value_place: Place
