"""A kubelet's main configuration file, read the way the kubelet reads it.

The kubelet decodes the file strictly and, where that fails on unknown or repeated fields only, again
leniently: it warns, drops the unknown ones and takes the last of repeated ones. Rule:
``pkg/kubelet/kubeletconfig/configfiles/configfiles.go`` and its ``util/codec``, 1.36.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuctl.documents.document import Document, PlacedText, Syntax
from cpuctl.documents.loading import EMPTY
from cpuctl.errors import InputError
from cpuctl.golang.json_mistakes import Walk, all_mistakes
from cpuctl.kubelet.configuration.head import (
    API_VERSION,
    BEGIN,
    HINT,
    KIND,
    STAGE,
    Head,
    NoObjectError,
    instead,
    read_config_object,
    without,
)
from cpuctl.kubelet.configuration.mistakes import explained
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.remarks import ConfigRemark, unknown_fields, without_effect
from cpuctl.kubelet.configuration.schema import ROOT_TYPE, structs_of
from cpuctl.kubelet.configuration.settings import OriginKind, Setting, Settings, settings_of

_PATHS = (
    ("staticPodPath",), ("authentication", "x509", "clientCAFile"), ("tlsCertFile",), ("tlsPrivateKeyFile",),
    ("resolvConf",), ("volumePluginDir",), ("podLogsDir",),
)  # fmt: skip
"""The fields that hold paths."""


class MainFile(NamedTuple):
    """What the file sets, what the kubelet would warn about, and the text itself."""

    settings: Settings
    warnings: tuple[ConfigRemark, ...]
    document: Document


def read_main_file(
    text: str | bytes, source: str, minor: int, *, beside: str = "", places: PlacedText | None = None
) -> MainFile:
    """Read a KubeletConfiguration (YAML or JSON) as kubelet 1.*minor* does, defaults left out.

    Relative paths in it are taken to be in *beside*, or else in the file's own directory. Lines are those of
    *places*, where the text was made of another.
    Raise InputError with file, line and path for what is no such document, ConfigRefusedError where the
    kubelet's own words for it are known.
    """
    if not text:
        raise _refused(InputError(EMPTY, where=source, hint=BEGIN), empty(source), source)
    try:
        found, head = read_config_object(text, source)
        _check_head(found.document, head)
    except NoObjectError as none:
        raise _refused(none.error, f"failed to decode: {none.text}", source) from None
    document = found.document
    mistakes = all_mistakes(document.value, ROOT_TYPE, walk_of(document, minor))
    if places is not None:
        document = document._replace(placed=places)
    if mistakes:
        wrong, *others = (explained(each, document, each.path) for each in mistakes)
        raise _refused(wrong, f"failed to decode: {mistakes[0].text}", source, others)
    given = settings_of(document, OriginKind.FILE)
    known, unknown = unknown_fields(given.members or {}, minor)
    return MainFile(
        settings=_resolved(known, beside or posixpath.dirname(source)),
        warnings=(*_repeated(document), *unknown, *_unread(source, found.next_line)),
        document=document,
    )


def walk_of(document: Document, minor: int) -> Walk:
    """Decode as the main file is: from JSON in the order of the text and with numbers as they are written."""
    if document.syntax is Syntax.YAML:
        return Walk(structs=structs_of(minor))
    return Walk(structs=structs_of(minor), ordered=True, written=document.written)


def empty(source: str) -> str:
    """Return the kubelet's words for a file without a single byte."""
    return f'kubelet config file "{source}" was empty'


def _check_head(document: Document, head: Head) -> None:
    """Refuse another kind of document."""
    if not head.version_at or not head.api_version.rpartition("/")[2]:
        raise without(document, "apiVersion", "apiVersion", API_VERSION)
    for cursor, wanted in ((head.kind_at, KIND), (head.version_at, API_VERSION)):
        if cursor and cursor.value != wanted:
            text = f'no kind "{head.kind}" is registered for version "{head.api_version}" in scheme ...'
            hint = HINT if head.kind == KIND else instead(head.kind, head.api_version)
            raise NoObjectError(cursor.expected(wanted, hint=hint), text)


def _refused(
    error: InputError, text: str, source: str, others: Iterable[InputError] = ()
) -> ConfigRefusedError:
    prefix = f"failed to load kubelet config file, path: {source}, error: "
    logged = f"{prefix}failed to load Kubelet config file {source}, error {text}"
    return ConfigRefusedError.told(error, Refusal(STAGE, text, logged), tuple(others))


def _resolved(settings: Settings, directory: str) -> Settings:
    """Take relative paths to be in a directory."""
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
        where = f"{document.source}:{repeat.place.line}"
        message = f'key "{repeat.path[-1]}" already set in map, the last one counts'
        yield without_effect("repeated-key", where, message)


def _unread(source: str, line: int | None) -> Iterator[ConfigRemark]:
    if line is not None:
        message = "only the first document of the file counts"
        yield without_effect("ignored-document", f"{source}:{line}", message)
