"""Values of a configuration with the place where each was set, and how such trees are merged.

A tree is what Kubernetes calls the JSON form of an object: mappings, lists and scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cpuctl.documents.positions import Path as PathInDocument
from cpuctl.documents.positions import path_text
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.documents.document import Document, Value

Path: TypeAlias = tuple[str, ...]


class OriginKind(StrEnum):
    """What set a value: nothing, the main file, a drop-in file, or a flag."""

    DEFAULT = "default"
    FILE = "file"
    DROP_IN = "drop-in"
    FLAG = "flag"


class ValueOrigin(Record):
    """Where a value was set: ``text`` is a flag, or a file's name if there is no document."""

    kind: OriginKind
    text: str = ""
    document: Document | None = None
    path: PathInDocument = ()

    @property
    def place(self) -> str:
        """The place as shown to users: ``kubelet.yaml:12``, ``--max-pods``, or empty for a default.

        Finding the line requires reading the document again.
        """
        if self.document is None:
            return self.text
        line = self.document.line_of(self.path)
        return self.document.source if line is None else f"{self.document.source}:{line}"


DEFAULT_ORIGIN = ValueOrigin(OriginKind.DEFAULT)


class Setting(NamedTuple):
    """A value and its origin; a mapping has a Setting for every member, a list is one value."""

    value: Settings | list[Value] | str | int | float | bool | None
    origin: ValueOrigin = DEFAULT_ORIGIN

    @property
    def members(self) -> Settings | None:
        """The members of a mapping; None for any other value."""
        return self.value if isinstance(self.value, dict) else None


Settings: TypeAlias = dict[str, Setting]


def settings_of(document: Document, kind: OriginKind) -> Setting:
    """Split a document into settings with their places."""
    return _setting(document.value, document, kind, ())


def _setting(value: Value, document: Document, kind: OriginKind, path: Path) -> Setting:
    origin = ValueOrigin(kind, document=document, path=path)
    if not isinstance(value, dict):
        return Setting(value, origin)
    members = {key: _setting(member, document, kind, (*path, key)) for key, member in value.items()}
    return Setting(members, origin)


def uniform(value: Value, origin: ValueOrigin) -> Setting:
    """Return a whole value with one origin."""
    if not isinstance(value, dict):
        return Setting(value, origin)
    return Setting({key: uniform(member, origin) for key, member in value.items()}, origin)


def plain(setting: Setting) -> Value:
    """Return the value without its origins."""
    members = setting.members
    if members is None:
        assert not isinstance(setting.value, dict)
        return setting.value
    return {key: plain(member) for key, member in members.items()}


def merge_patch(target: Setting, patch: Setting) -> Setting:
    """Apply a JSON merge patch (RFC 7386): mappings merge, null deletes, everything else replaces.

    An existing mapping keeps its own origin; its members show what was set where. Beyond the RFC, null also
    deletes inside lists of a patch, as in the library that the kubelet uses.
    """
    changes = patch.members
    if isinstance(patch.value, list):
        return Setting([_pruned(item) for item in patch.value], patch.origin)
    if changes is None:
        return patch
    base = target.members
    merged: Settings = dict(base or {})
    for key, change in changes.items():
        if change.value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key, Setting(None)), change)
    kept = base is not None and (base or not merged)
    return Setting(merged, target.origin if kept else patch.origin)


def _pruned(value: Value) -> Value:
    match value:
        case dict():
            return {name: _pruned(member) for name, member in value.items() if member is not None}
        case list():
            return [_pruned(item) for item in value]
        case _:
            return value


def walk(settings: Mapping[str, Setting]) -> Iterator[tuple[Path, Setting]]:
    """Yield every setting with its path, mappings before their members."""
    for name, setting in settings.items():
        yield (name,), setting
        for path, member in walk(setting.members or {}):
            yield (name, *path), member


def path_name(path: Path) -> str:
    """Write a setting's path as in ``cpuManagerPolicyOptions.full-pcpus-only``."""
    return path_text(path)
