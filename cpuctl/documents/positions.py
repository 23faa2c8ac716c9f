"""Positions in a document: the path key by key, and line and column."""

import re
from typing import NamedTuple, TypeAlias

from cpuctl.records import Record

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = r"[A-Za-z_][\w-]*"


def path_text(path: Path) -> str:
    """Write a path as ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_PLAIN_KEY, step, re.ASCII):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


class Position(NamedTuple):
    """A position in a text; line and column count from 1."""

    line: int
    column: int

    @classmethod
    def at(cls, text: str, offset: int) -> "Position":
        """Turn an offset in *text* into line and column."""
        return cls(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


class Positioned(Record):
    """A value with the position of its key (in a mapping) or of itself."""

    position: Position
    value: object

    def child(self, step: str | int) -> "Positioned | None":
        """Return the member or item one step down, None if there is no such part."""
        inside = self.value
        if isinstance(inside, dict) and isinstance(step, str):
            found = inside.get(step)
        elif isinstance(inside, list) and isinstance(step, int) and 0 <= step < len(inside):
            found = inside[step]
        else:
            found = None
        return found if isinstance(found, Positioned) else None


class Repeated(Record):
    """A repeated key of a mapping: its path, and the positions of the key and its value."""

    path: Path
    position: Position
    value_position: Position
