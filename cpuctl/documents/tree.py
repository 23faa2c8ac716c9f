"""A stack that turns a flat stream of parts (scalar, open, close) into a tree, without recursion.

The streams come from untrusted text. So nothing here recurses, nesting is limited, a repeated key is
detected, and an alias is counted with all values that it stands for before anything iterates over it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from cpuctl.documents.positions import Path, Position, Positioned, Repeated
from cpuctl.documents.text_errors import MAX_DEPTH, MAX_NODES, TextError, describe, too_many_values

_MOST_REPEATS = 1000
"""The maximum number of repeated keys that are reported."""

Container: TypeAlias = dict[object, object] | list[object]

MERGE = object()
"""The representation of the key ``<<``: the members of its value are merged into the mapping around it."""


class SizedValue(NamedTuple):
    """A value with its size (values in it, itself included) and its height (levels below it)."""

    value: object
    size: int = 1
    height: int = 0


class _Level:
    """A mapping or list that is still open."""

    __slots__ = (
        "anchor",
        "container",
        "height",
        "is_list",
        "key",
        "key_position",
        "merged",
        "position",
        "repeated",
        "size",
    )

    def __init__(self, container: Container, position: Position, anchor: str | None) -> None:
        self.container = container
        self.is_list = isinstance(container, list)
        self.position = position
        self.anchor = anchor
        self.key: object = None
        self.key_position: Position | None = None
        self.repeated = False
        self.size = 1
        self.height = 0
        self.merged: list[object] | None = None


class TreeBuilder:
    """Builds one document from its parts.

    ``positions`` wraps every value in ``Positioned``, ``most`` limits the values. ``line`` is where the root
    begins, ``size`` counts its values.
    ``repeats`` lists repeated keys if *last_wins*; otherwise they raise ``TextError``, as do all other
    broken rules.
    """

    def __init__(self, *, positions: bool = False, last_wins: bool = False, most: int | None = None) -> None:
        self.root: object = None
        self.most = min(MAX_NODES, most or MAX_NODES)
        self.line = self.size = 1
        self.repeats: list[Repeated] = []
        self._positions = positions
        self._last_wins = last_wins
        self._levels: list[_Level] = []
        self._anchors: dict[str, SizedValue | None] = {}

    @property
    def wants_key(self) -> bool:
        """Return whether the next part is a mapping's key."""
        if not self._levels:
            return False
        level = self._levels[-1]
        return level.key_position is None and not level.is_list

    def scalar(self, value: object, position: Position, anchor: str | None = None) -> None:
        """Add a string, number, true, false or null; as a key only a string (or ``MERGE``) is accepted."""
        levels = self._levels
        level = levels[-1] if levels else None
        if level is None:
            self._add(SizedValue(value), position)
        elif level.is_list:
            self._count(level, position)
            level.container.append(Positioned(position, value) if self._positions else value)  # type: ignore[union-attr]
        elif level.key_position is None:
            self._take_key(value, position)
        elif level.repeated or level.key is MERGE:
            self._add(SizedValue(value), position)
        else:
            self._count(level, position)
            kept = Positioned(level.key_position, value) if self._positions else value
            level.container[level.key] = kept  # type: ignore[call-overload]
            level.key_position = None
        if anchor is not None:
            self._anchors[anchor] = SizedValue(value)

    def open(self, container: Container, position: Position, anchor: str | None = None) -> None:
        """Begin a mapping or a list.

        Raise TextError if a key is wanted, and beyond MAX_DEPTH levels.
        """
        if self.wants_key:
            kind = "mapping" if isinstance(container, dict) else "list"
            raise TextError(f"expected a string as key, found a {kind}", position)
        if len(self._levels) >= MAX_DEPTH:
            raise TextError(f"nesting is deeper than {MAX_DEPTH} levels", position)
        if anchor is not None:
            self._anchors[anchor] = None  # still open: an alias to it would never end
        self._levels.append(_Level(container, position, anchor))

    def close(self) -> None:
        """End the innermost mapping or list."""
        level = self._levels.pop()
        if level.merged is not None and isinstance(level.container, dict):
            level.container = _with_merged(level.container, level.merged)
        done = SizedValue(level.container, level.size, level.height)
        if level.anchor is not None:
            self._anchors[level.anchor] = done
        self._add(done, level.position)

    def alias(self, anchor: str, position: Position) -> None:
        """Add the value with this *anchor* again.

        Raise TextError for an anchor that is not defined yet, or contains this alias itself.
        """
        if anchor not in self._anchors:
            go = f"yaml: unknown anchor '{anchor}' referenced"
            raise TextError(f"the alias *{anchor} has no preceding anchor &{anchor}", position, go=go)
        meant = self._anchors[anchor]
        if meant is None:
            raise TextError(f"the anchor &{anchor} contains an alias to itself", position)
        if self.wants_key:
            self._take_key(meant.value, position)
        else:
            self._add(meant, position)

    def _take_key(self, key: object, position: Position) -> None:
        level = self._levels[-1]
        if key is not MERGE:
            text = _key_text(key, position)
            level.repeated = text in level.container
            if level.repeated and not self._last_wins:
                raise TextError(f'duplicate key "{text}"', position)
        level.key, level.key_position = key, position

    def _path(self) -> Path:
        """Return the path to the value that is being added."""
        return tuple(
            len(level.container) if isinstance(level.container, list) else str(level.key)
            for level in self._levels
        )

    def _add(self, part: SizedValue, position: Position) -> None:
        if not self._levels:
            self.root = Positioned(position, part.value) if self._positions else part.value
            self.line, self.size = position.line, part.size
            return
        level = self._levels[-1]
        self._measure(level, part, position)
        if isinstance(level.container, list):
            level.container.append(Positioned(position, part.value) if self._positions else part.value)
            return
        key, key_position = level.key, level.key_position or position
        if level.repeated and len(self.repeats) < _MOST_REPEATS:
            self.repeats.append(Repeated(self._path(), key_position, position))
        level.key_position, level.repeated = None, False
        if key is MERGE:
            level.merged = [*(level.merged or ()), *_merge_sources(part.value, position)]
        else:
            level.container[key] = Positioned(key_position, part.value) if self._positions else part.value

    def _count(self, level: _Level, position: Position) -> None:
        """Count one value without any values below it, the usual case."""
        level.size += 1
        level.height = level.height or 1
        if level.size > self.most:
            raise too_many_values(position, self.most)

    def _measure(self, level: _Level, part: SizedValue, position: Position) -> None:
        level.size += part.size
        level.height = max(level.height, part.height + 1)
        if level.size > self.most:
            raise too_many_values(position, self.most)
        if len(self._levels) + part.height > MAX_DEPTH:
            raise TextError(f"nesting is deeper than {MAX_DEPTH} levels", position)


def _key_text(key: object, position: Position) -> str:
    if isinstance(key, str):
        return key
    raise TextError(
        f"expected a string as key, found {describe(key)}", position, hint="put the key in quotes"
    )


def _merge_sources(value: object, position: Position) -> list[object]:
    """List the mappings that ``<<`` names, one or several; the first takes precedence."""
    sources = value if isinstance(value, list) else [value]
    bare = [source.value if isinstance(source, Positioned) else source for source in sources]
    if not all(isinstance(source, dict) for source in bare):
        raise TextError("expected a mapping or a list of mappings after <<", position)
    return bare


def _with_merged(own: dict[object, object], sources: list[object]) -> dict[object, object]:
    merged: dict[object, object] = {}
    for source in reversed(sources):
        if isinstance(source, dict):
            merged.update(source)
    return merged | own
