"""A kubelet's main configuration file, read the way the kubelet reads it, with readable errors.

The kubelet decodes the file strictly and, if only unknown or repeated fields fail, again leniently: it warns,
drops the unknown ones and uses the last of repeated ones. For a mistake, Go reports the type that it
expected; errors here also report the value and its place. Rule:
``pkg/kubelet/kubeletconfig/configfiles/configfiles.go`` and its ``util/codec``, 1.36.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, PlacedText, Syntax, Value
from cpuctl.documents.loading import EMPTY
from cpuctl.documents.positions import Path
from cpuctl.errors import InputError
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.json_mistakes import DURATION, QUANTITY, JSONDecoder, Mistake, all_mistakes
from cpuctl.golang.text import GoError
from cpuctl.kubelet.configuration.notes import ConfigRemark, unknown_fields, without_effect
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.schema import ROOT_TYPE, STRUCTS, structs_of
from cpuctl.kubelet.configuration.settings import OriginKind, Setting, Settings, settings_of
from cpuctl.kubelet.configuration.type_meta import (
    API_VERSION,
    BEGIN,
    HINT,
    KIND,
    STAGE,
    NoObjectError,
    TypeMeta,
    instead,
    read_config_object,
    without,
)
from cpuctl.kubelet.policy_options import ARCHIVED, ARCHIVED_WHY
from cpuctl.records import Record, replace

_PATHS = (
    ("staticPodPath",), ("authentication", "x509", "clientCAFile"), ("tlsCertFile",), ("tlsPrivateKeyFile",),
    ("resolvConf",), ("volumePluginDir",), ("podLogsDir",),
)  # fmt: skip
"""The fields that contain paths."""


class MainFile(Record):
    """What the file sets, what the kubelet would warn about, and the document itself."""

    settings: Settings
    warnings: tuple[ConfigRemark, ...]
    document: Document


def read_main_file(
    text: str | bytes, source: str, minor: int, *, base_directory: str = "", places: PlacedText | None = None
) -> MainFile:
    """Read a KubeletConfiguration (YAML or JSON) as kubelet 1.*minor* does, without defaults.

    Relative paths in it start from *base_directory*, by default the file's own directory. Lines are those of
    *places* if the text was generated from another. Raise InputError with file, line and path for any other
    document, ConfigRefusedError if the kubelet's own words for it are known.
    """
    if not text:
        raise _refused(InputError(EMPTY, where=source, hint=BEGIN), empty(source), source)
    try:
        found, type_meta = read_config_object(text, source)
        _check_type(found.document, type_meta)
    except NoObjectError as none:
        raise _refused(none.error, f"failed to decode: {none.text}", source) from None
    document = found.document
    mistakes = all_mistakes(document.value, ROOT_TYPE, walk_of(document, minor))
    if places is not None:
        document = replace(document, placed=places)
    if mistakes:
        wrong, *others = (explained(each, document, each.path) for each in mistakes)
        raise _refused(wrong, f"failed to decode: {mistakes[0].text}", source, others)
    given = settings_of(document, OriginKind.FILE)
    known, unknown = unknown_fields(given.members or {}, minor)
    return MainFile(
        settings=_resolved(known, base_directory or posixpath.dirname(source)),
        warnings=(*_repeated(document), *unknown, *_unread(source, found.next_line)),
        document=document,
    )


def walk_of(document: Document, minor: int) -> JSONDecoder:
    """Return the main file's decoder: JSON is decoded in text order, with numbers as written."""
    if document.syntax is Syntax.YAML:
        return JSONDecoder(structs=structs_of(minor))
    return JSONDecoder(structs=structs_of(minor), ordered=True, written=document.written)


def empty(source: str) -> str:
    """Return the kubelet's words for a file of zero bytes."""
    return f'kubelet config file "{source}" was empty'


def _check_type(document: Document, type_meta: TypeMeta) -> None:
    """Refuse another kind of document."""
    if not type_meta.version_at or not type_meta.api_version.rpartition("/")[2]:
        raise without(document, "apiVersion", "apiVersion", API_VERSION)
    for cursor, wanted in ((type_meta.kind_at, KIND), (type_meta.version_at, API_VERSION)):
        if cursor and cursor.value != wanted:
            kind, version = type_meta.kind, type_meta.api_version
            text = f'no kind "{kind}" is registered for version "{version}" in scheme ...'
            hint = HINT if kind == KIND else instead(kind, version)
            raise NoObjectError(cursor.expected(wanted, hint=hint), text)


def _refused(
    error: InputError, text: str, source: str, others: Iterable[InputError] = ()
) -> ConfigRefusedError:
    prefix = f"failed to load kubelet config file, path: {source}, error: "
    logged = f"{prefix}failed to load Kubelet config file {source}, error {text}"
    return ConfigRefusedError.from_error(error, Refusal(STAGE, text, logged), tuple(others))


def _resolved(settings: Settings, directory: str) -> Settings:
    """Resolve relative paths against a directory."""
    resolved = dict(settings)
    for name, *below in _PATHS:
        if name in resolved:
            resolved[name] = _in_directory(resolved[name], below, directory)
    return resolved


def _in_directory(setting: Setting, below: Sequence[str], directory: str) -> Setting:
    members, path = setting.members, setting.value
    if below and members and below[0] in members:
        inner = _in_directory(members[below[0]], below[1:], directory)
        return Setting({**members, below[0]: inner}, setting.origin)
    if below or not isinstance(path, str) or not path or path.startswith("/"):
        return setting
    return setting._replace(value=posixpath.normpath(posixpath.join(directory, path)))


def _repeated(document: Document) -> Iterator[ConfigRemark]:
    for repeat in document.repeats:
        where = f"{document.source}:{repeat.position.line}"
        message = f'key "{repeat.path[-1]}" already set in map, the last one is used'
        yield without_effect("repeated-key", where, message)


def _unread(source: str, line: int | None) -> Iterator[ConfigRemark]:
    if line is not None:
        message = "only the first document in the file is used"
        yield without_effect("ignored-document", f"{source}:{line}", message)


_DURATION_HINT = "write a duration such as 10s, 1m30s or 100ms"


def explained(mistake: Mistake, document: Document, path: Path) -> InputError:
    """Return the error for a mistake at *path* in a document."""
    value = document.value
    for step in path:
        value = value[step]  # type: ignore[index]  # the path was found in this value
    cursor = Cursor(document, value, path)
    try:
        _reader(mistake.go_type)(cursor)
    except InputError as error:
        if isinstance(value, dict) and ARCHIVED in value:  # as written in KEP-4540
            return cursor.error(f"{error.message}: {ARCHIVED} is {ARCHIVED_WHY}", hint=error.hint)
        if hint := _text_hint(document, value, path):
            return cursor.error(error.message, hint=hint)
        return error
    if isinstance(value, float) and _reader(mistake.go_type) in (_int32, _int64):
        wanted = "a whole number without a decimal point or exponent"
        return cursor.error(f"expected {wanted}, found {document.written(path)}")
    return cursor.error(mistake.text)


def _text_hint(document: Document, value: Value, path: Path) -> str:
    """Say how to write a number that, as text, would still be wrong; an empty text for others."""
    if not isinstance(value, int | float):
        return ""
    if path[0] == "evictionSoftGracePeriod":
        return _DURATION_HINT
    in_decimal = document.written(path) == str(value)
    return (
        "" if in_decimal or path != ("reservedSystemCPUs",) else 'write a CPU list in quotes, such as "0-3,8"'
    )


def _reader(go_type: str) -> Callable[[Cursor], object]:
    if go_type in _READERS:
        return _READERS[go_type]
    if go_type.startswith("[]"):
        return Cursor.items
    # Named types that are not structs are strings in this API.
    return Cursor.members if go_type.startswith("map[") or go_type in STRUCTS else Cursor.text


def _duration(cursor: Cursor) -> int:
    if not isinstance(cursor.value, str):
        raise cursor.expected("a duration", hint=_DURATION_HINT)
    try:
        return parse_duration(cursor.value)
    except GoError as error:
        raise cursor.error(str(error), hint=_DURATION_HINT) from None


def _int32(cursor: Cursor) -> int:
    return cursor.integer(minimum=-(1 << 31), maximum=(1 << 31) - 1)


def _int64(cursor: Cursor) -> int:
    return cursor.integer(minimum=-(1 << 63), maximum=(1 << 63) - 1)


_READERS: Mapping[str, Callable[[Cursor], object]] = {
    "string": Cursor.text,
    "bool": Cursor.boolean,
    "int32": _int32,
    "int64": _int64,
    "float64": Cursor.number,
    DURATION: _duration,
    QUANTITY: Cursor.quantity,
}
