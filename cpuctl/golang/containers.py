"""The Go types that hold others: maps, slices and structs (see ``scalars``)."""

from __future__ import annotations

import re
from typing import NamedTuple

from cpuctl.golang.json_values import Json, Members, go_string, kind_of
from cpuctl.golang.scalars import Decoding, GoType, Path, Value

_KEY = re.compile(r"[+-]?[0-9]{1,18}")
_LONG_S = "\u017f"


class MapOf(NamedTuple):
    """A map with text keys, or with numbers where ``numbered``; ``pointers``: its values are pointers.

    ``key_type`` is what Go calls a key that is a number.
    """

    name: str
    item: GoType
    numbered: bool = False
    pointers: bool = False
    key_type: str = "int"

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Take an object; its members join those that are there."""
        if found is None:
            return None
        if not isinstance(found, Members):
            to.refuse(kind_of(found), path, self.name)
            return old
        into = dict(old or {})
        for name, member in found.pairs:
            inner = (*path, name)
            if not self.numbered:
                into[name] = self._item(member, inner, to)
            elif _KEY.fullmatch(name):
                into[int(name)] = self._item(member, inner, to)
            else:
                to.refuse(f"number {name}", inner, self.key_type)
        return into

    def shown(self, value: Value) -> str:
        """Show the members in order: numbers by size, texts by their bytes."""
        if value is None:
            return "<nil>"
        return "map[" + " ".join(f"{key}:{self._shown_item(value[key])}" for key in sorted(value)) + "]"

    def written(self, value: Value) -> str:
        """Write an object, its names in the order of their bytes."""
        if value is None:
            return "null"
        names = {str(key): key for key in value}
        written = (f"{go_string(name)}:{self._written_item(value[names[name]])}" for name in sorted(names))
        return "{" + ",".join(written) + "}"

    def _item(self, member: Json, path: Path, to: Decoding) -> Value:
        if self.pointers and member is None:
            return None
        return self.item.decode(member, self.item.zero(), path, to)

    def _shown_item(self, value: Value) -> str:
        if not self.pointers:
            return self.item.shown(value)
        return "<nil>" if value is None else f"<*>{self.item.shown(value)}"

    def _written_item(self, value: Value) -> str:
        return "null" if self.pointers and value is None else self.item.written(value)


class ListOf(NamedTuple):
    """A slice."""

    name: str
    item: GoType

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Take an array."""
        if found is None:
            return None
        if not isinstance(found, list):
            to.refuse(kind_of(found), path, self.name)
            return old
        return [
            self.item.decode(each, self.item.zero(), (*path, str(index)), to)
            for index, each in enumerate(found)
        ]

    def shown(self, value: Value) -> str:
        """Show the items in their order."""
        return "<nil>" if value is None else "[" + " ".join(map(self.item.shown, value)) + "]"

    def written(self, value: Value) -> str:
        """Write an array."""
        return "null" if value is None else "[" + ",".join(map(self.item.written, value)) + "]"


class Field(NamedTuple):
    """A field of a struct: its name in JSON and in Go; ``omit_empty``: not written where empty."""

    json_name: str
    go_name: str
    type: GoType
    omit_empty: bool = False


class Struct(NamedTuple):
    """A struct."""

    name: str
    fields: tuple[Field, ...]

    def zero(self) -> Value:
        """Return the struct with all fields zero."""
        return {each.json_name: each.type.zero() for each in self.fields}

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Take an object, member by member."""
        if not isinstance(found, Members):
            if found is not None:
                to.refuse(kind_of(found), path, self.name)
            return old
        into = dict(old)
        for name, member in found.pairs:
            meant = self._field(name)
            if meant is not None:
                at = meant.json_name
                to.fields.append((self.name, at))
                into[at] = meant.type.decode(member, into[at], (*path, name), to)
                to.fields.pop()
        return into

    def shown(self, value: Value) -> str:
        """Show every field with its type."""
        shown = (
            f"{each.go_name}:({each.type.name}){each.type.shown(value[each.json_name])}"
            for each in self.fields
        )
        return "{" + " ".join(shown) + "}"

    def written(self, value: Value) -> str:
        """Write an object, its members in the order of the fields."""
        members = (
            f"{go_string(each.json_name)}:{each.type.written(value[each.json_name])}"
            for each in self.fields
            if value[each.json_name] or not each.omit_empty
        )
        return "{" + ",".join(members) + "}"

    def _field(self, name: str) -> Field | None:
        folded = _folded(name)
        return next((each for each in self.fields if _folded(each.json_name) == folded), None)


def _folded(name: str) -> str:
    """Fold a name as Go does: two characters beyond ASCII count as the letters that they look like.

    The other one, the sign of degrees Kelvin, has a small k for Python, too.
    """
    return name.replace(_LONG_S, "s").lower()
