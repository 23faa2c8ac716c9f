"""The Go types of state files: how a value is decoded, shown for the checksum, and written.

Scalars come first, then containers: maps, slices and structs.

Decoding follows ``encoding/json``: names match regardless of case, unknown ones are ignored, a value of a
wrong type is noted and decoding continues, null leaves scalars as they are and empties maps and lists. A
repeated member is decoded into the result of the earlier one, so that maps are merged. Showing follows the
printer behind the kubelet's checksum (``k8s.io/utils/dump``). A decoded struct is a dict by JSON name, a map
or list that is nil in Go is None.
"""

import re
from typing import Any, Protocol, TypeAlias

from cpuctl.errors import InputError
from cpuctl.golang.json_values import Json, Members, Number, go_string, kind_of
from cpuctl.records import Record

Path: TypeAlias = tuple[str, ...]
"""The JSON names on the path from the root to a value; items of a list are named by their index."""
Value: TypeAlias = Any
"""A decoded value: str, int, dict, list or None."""

MAX_SHOWN_BITS = 1 << 21
"""The total of all sets whose members the checksum lists: those of 256 pods on 8192 CPUs."""

_INTEGER = re.compile(r"-?[0-9]+")


class Decoding:
    """One run of the decoder into a struct: it keeps the first complaint, which is the one that Go returns.

    ``root`` is Go's name of the struct, ``spent`` the number of bits of CPU sets read so far. Go 1.27
    identifies a place by its path, including map keys and indices (``names_keys``); Go up to 1.26 by the
    innermost struct and the fields on the path (``fields``: the struct and the JSON name of each).
    """

    def __init__(self, root: str, *, names_keys: bool) -> None:
        self.root = root
        self.names_keys = names_keys
        self.fields: list[tuple[str, str]] = []
        self.complaint = ""
        self.spent = 0

    def refuse(self, found: str, path: Path, go_type: str) -> None:
        """Note a value of a wrong type; *path* leads to it from the root."""
        self.note(f"json: cannot unmarshal {found} into Go {self._place(path)} of type {go_type}")

    def note(self, complaint: str) -> None:
        """Note a complaint unless there is an earlier one."""
        self.complaint = self.complaint or complaint

    def _place(self, path: Path) -> str:
        if not path:
            return "value"
        if self.names_keys:
            struct, steps = self.root, [step.replace("~", "~0").replace("/", "~1") for step in path]
        else:
            struct, steps = self.fields[-1][0], [name for _, name in self.fields]
        return f"struct field {struct.rpartition('.')[2]}.{'.'.join(steps)}"

    def spend(self, bits: int) -> None:
        """Count the bits of a CPU set whose members the checksum lists one by one.

        Raise InputError if the total exceeds ``MAX_SHOWN_BITS``.
        """
        self.spent += bits
        if self.spent > MAX_SHOWN_BITS:
            raise InputError("assigns pods more CPUs than any node has")


class GoType(Protocol):
    """One type; ``name`` is what Go prints for it."""

    @property
    def name(self) -> str:
        """Go's name of the type."""

    def zero(self) -> Value:
        """Return the value before anything is decoded into it."""

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Decode into *old* and return the result; complaints go *to* the decoding."""

    def shown(self, value: Value) -> str:
        """Show a value for the checksum."""

    def written(self, value: Value) -> str:
        """Write a value as JSON."""


class Text(Record):
    """A string."""

    name: str = "string"

    def zero(self) -> Value:
        """Return the empty text."""
        return ""

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Accept a string."""
        if isinstance(found, str):
            return found
        if found is not None:
            to.refuse(kind_of(found), path, self.name)
        return old

    def shown(self, value: Value) -> str:
        """Show the text unquoted."""
        return str(value)

    def written(self, value: Value) -> str:
        """Write a JSON string."""
        return go_string(value)


class Integer(Record):
    """An integer of 64 bits."""

    name: str
    signed: bool = False

    def zero(self) -> Value:
        """Return 0."""
        return 0

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Accept an integral number that fits."""
        if found is None:
            return old
        if isinstance(found, Number) and (number := self._fitting(found.text)) is not None:
            return number
        kind = kind_of(found)
        to.refuse(f"{kind} {found.text}" if isinstance(found, Number) else kind, path, self.name)
        return old

    def shown(self, value: Value) -> str:
        """Show the number."""
        return str(value)

    def written(self, value: Value) -> str:
        """Write the number."""
        return str(value)

    def _fitting(self, text: str) -> int | None:
        if not _INTEGER.fullmatch(text) or len(text) > 20 or (text[0] == "-" and not self.signed):
            return None
        number = int(text)
        low, high = (-(1 << 63), 1 << 63) if self.signed else (0, 1 << 64)
        return number if low <= number < high else None


_KEY = re.compile(r"[+-]?[0-9]{1,18}")
_LONG_S = "\u017f"


class MapOf(Record):
    """A map with text keys, or with numbers if ``numbered``; ``pointers``: its values are pointers.

    ``key_type`` is Go's name of a numeric key's type.
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
        """Accept an object; add its members to the existing ones."""
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


class ListOf(Record):
    """A slice."""

    name: str
    item: GoType

    def zero(self) -> Value:
        """Return nil."""
        return None

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Accept an array."""
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


class Field(Record):
    """A field of a struct: its name in JSON and in Go; ``omit_empty``: not written if empty."""

    json_name: str
    go_name: str
    type: GoType
    omit_empty: bool = False


class Struct(Record):
    """A struct."""

    name: str
    fields: tuple[Field, ...]

    def zero(self) -> Value:
        """Return the struct with all fields zero."""
        return {each.json_name: each.type.zero() for each in self.fields}

    def decode(self, found: Json, old: Value, path: Path, to: Decoding) -> Value:
        """Accept an object, member by member."""
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
    """Fold a name as Go does: two non-ASCII characters count as the letters that they resemble.

    One is the long s; the other, the Kelvin sign, has the lower case k in Python, too.
    """
    return name.replace(_LONG_S, "s").lower()
