"""The drop-in directory of a kubelet (``--config-dir``): which files count, and how they are merged.

Rule: ``mergeKubeletConfigurations`` in ``cmd/kubelet/app/server.go``, 1.36. Nothing is checked against the
configuration's types before all files are merged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from cpuctl.documents import Cursor, Document, load_documents
from cpuctl.documents.document import Syntax
from cpuctl.documents.files import read_input
from cpuctl.errors import InputError, unreadable
from cpuctl.kubelet.config_file import API_VERSION, EMPTY, KIND, STAGE, refusal_of_nothing
from cpuctl.kubelet.config_mistakes import explained
from cpuctl.kubelet.config_object import folded
from cpuctl.kubelet.config_refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.config_schema import FIELD_TYPES, ROOT_TYPE, STRUCTS
from cpuctl.kubelet.config_warnings import ConfigWarning, unknown_fields
from cpuctl.kubelet.go_json import Mistake, Walk, first_mistake, match_field
from cpuctl.kubelet.settings import OriginKind, Setting, Settings, merge_patch, plain, settings_of

EXTENSION = ".conf"
_MERGE_DEFAULTS = "mergeDefaultEvictionSettings"
_WALK = "failed to walk through kubelet dropin directory"
_DECODE = "failed to decode: "


class DropInSource(Protocol):
    """A directory of drop-in files, wherever it is kept."""

    @property
    def name(self) -> str:
        """What to call the directory."""

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the files that count, in the order in which the kubelet reads them."""


@dataclass(frozen=True, slots=True)
class DropInDirectory:
    """A directory of this host.

    The kubelet walks directories by the bytes of their names and does not follow links to directories; of
    files only those count whose name ends in ``.conf``, hidden ones and links among them.
    """

    name: str

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Read the files one by one; raise as ``merge_drop_ins`` does."""
        for path in _walk(self.name, self.name):
            yield path, read_input(path)


@dataclass(frozen=True, slots=True)
class Merged:
    """The configuration with all drop-ins applied, what is passed over, and the files in their order."""

    settings: Settings
    warnings: tuple[ConfigWarning, ...]
    files: tuple[str, ...]


def merge_drop_ins(base: Settings, source: DropInSource, minor: int) -> Merged:
    """Apply every drop-in file of *source* to a configuration that was written out (``reserialised``).

    Raise ConfigRefusedError in the kubelet's words where they are known, else InputError or NodeAccessError.
    """
    patches = [(path, _read(path, content, source.name)) for path, content in source.files()]
    merged = Setting(base)
    for _, patch in patches:
        merged = merge_patch(merged, Setting(patch))
    if mistake := first_mistake(plain(merged), ROOT_TYPE, Walk(structs=STRUCTS, any_case=True)):
        raise _mistyped(mistake, merged)
    settings, _ = unknown_fields(folded(merged.members or {}), minor)
    warnings = [warning for _, patch in patches for warning in _warnings(patch, minor)]
    return Merged(settings, tuple(warnings), tuple(path for path, _ in patches))


def counts_as_drop_in(path: str) -> bool:
    """Tell by a file's name whether the kubelet reads it."""
    return path[path.rfind(".") :] == EXTENSION


def _walk(path: str, directory: str) -> Iterator[str]:
    try:
        is_directory = stat.S_ISDIR(os.lstat(path).st_mode)
        names = sorted(os.listdir(path), key=os.fsencode) if is_directory else []  # noqa: PTH208
    except FileNotFoundError as error:
        missing = unreadable(error, path)
        assert isinstance(missing, InputError)
        raise _refused(missing, f'{_WALK} "{directory}": lstat {path}: no such file or directory') from None
    except OSError as error:
        raise unreadable(error, path) from None
    if not is_directory and counts_as_drop_in(path):
        yield path
    for name in names:
        yield from _walk(os.path.join(path, name), directory)  # noqa: PTH118  # names may be no text


def _read(path: str, content: bytes, directory: str) -> Settings:
    """Read one drop-in: what it sets, its head left out."""
    failed = f'{_WALK} "{directory}": failed to load kubelet dropin file, path: {path},'
    if error := refusal_of_nothing(content, path):
        raise _refused(InputError(EMPTY, where=path), f"{failed} error: {error.removeprefix(_DECODE)}")
    document = load_documents(content, path, last_wins=True)[0]
    _check_head(document, failed)
    _check_repeats(document, failed)
    members = settings_of(document, OriginKind.DROP_IN).members or {}
    return {name: setting for name, setting in members.items() if name not in ("apiVersion", "kind")}


def _check_head(document: Document, failed: str) -> None:
    root = Cursor.at_root(document)
    kind, version = root.optional("kind", Cursor.text, ""), root.optional("apiVersion", Cursor.text, "")
    if not kind:
        missing = root.error(f"kind is missing: expected {KIND}")
        raise _refused(missing, f"{failed} error: Object 'Kind' is missing in '{document.text}'")
    if (kind, version) != (KIND, API_VERSION):
        group_version = version if "/" in version else f"/{version}"
        other = root.error(f"expected a {KIND} of {API_VERSION}, found {kind} of {version or 'no version'}")
        raise _refused(other, f"{failed} unknown apiVersion/kind: {group_version}, Kind={kind}")


def _check_repeats(document: Document, failed: str) -> None:
    if not document.repeats:
        return
    first = document.repeats[0]
    where = f"{document.source}:{first.place.line}"
    error = InputError(f'the key "{first.key}" is given twice', where=where)
    if document.syntax is not Syntax.YAML:
        raise error
    lines = [f'  line {each.place.line}: key "{each.key}" already set in map' for each in document.repeats]
    text = "\n".join(["strict decoding error: yaml: unmarshal errors:", *lines])
    raise _refused(error, f"{failed} error: {text}")


def _mistyped(mistake: Mistake, merged: Setting) -> ConfigRefusedError:
    """Blame the file whose value has the wrong type."""
    at, path = merged, list(mistake.path)
    while path and (members := at.members) is not None:
        at = members[str(path.pop(0))]
    origin = at.origin
    assert origin.document is not None  # the rest of the tree was read before, and has the right types
    error = explained(mistake, origin.document, (*origin.path, *path))
    prefix = "failed to unmarshal merged JSON into kubelet configuration: "
    return _refused(error, prefix + mistake.text)


def _refused(error: InputError, text: str) -> ConfigRefusedError:
    return ConfigRefusedError.told(error, Refusal(STAGE, text, f"failed to merge kubelet configs: {text}"))


def _warnings(patch: Settings, minor: int) -> Iterator[ConfigWarning]:
    """Tell what a drop-in sets in vain; the kubelet itself is silent about it."""
    matched: Settings = {}
    for name, setting in patch.items():
        field = match_field(name, FIELD_TYPES, any_case=True) or name
        matched[field] = setting
        if field != name:
            why = "only drop-ins are read without regard to case"
            message = f'means the field "{field}": {why}'
            yield ConfigWarning("field-case", setting.origin.place, message, setting=name, meant=field)
    yield from unknown_fields(matched, minor)[1]
    if merges := patch.get(_MERGE_DEFAULTS):
        why = "has no effect in a drop-in: only the main file merges defaults"
        yield ConfigWarning("no-effect", merges.origin.place, why, setting=_MERGE_DEFAULTS)
