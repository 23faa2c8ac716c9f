"""A kubelet's main configuration file, read the way the kubelet reads it.

The kubelet decodes the file strictly and, where that fails on unknown or repeated fields only, again
leniently: it warns, drops the unknown ones and takes the last of repeated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from cpuctl.documents import Cursor, Document, load_documents
from cpuctl.documents.document import Syntax
from cpuctl.errors import InputError
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.config_mistakes import explained
from cpuctl.kubelet.config_object import with_defaults
from cpuctl.kubelet.config_reading import to_configuration
from cpuctl.kubelet.config_refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.config_schema import ROOT_TYPE, STRUCTS
from cpuctl.kubelet.config_warnings import ConfigWarning, unknown_fields
from cpuctl.kubelet.eviction import default_eviction_hard
from cpuctl.kubelet.go_json import Walk, first_mistake
from cpuctl.kubelet.settings import (
    DEFAULT_ORIGIN,
    OriginKind,
    Setting,
    Settings,
    settings_of,
    uniform,
)
from cpuctl.kubelet.version import DEFAULT_VERSION

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
STAGE = "configDecode"
EMPTY = "empty: expected YAML or JSON"
_HINT = "name the file that the kubelet reads (its flag --config), often /var/lib/kubelet/config.yaml"


@dataclass(frozen=True, kw_only=True)
class MainFile:
    """What the file sets, what the kubelet would warn about, and the text itself."""

    settings: Settings
    warnings: tuple[ConfigWarning, ...]
    document: Document


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A configuration with its defaults filled in, and what the kubelet would warn about."""

    config: KubeletConfiguration
    warnings: tuple[ConfigWarning, ...]
    document: Document


def read_kubelet_config(text: str | bytes, source: str, minor: int = DEFAULT_VERSION.minor) -> ConfigFile:
    """Read the configuration of a kubelet that has this file only: no drop-ins, no flags.

    Errors as in ``read_main_file``; feature gates are not looked at.
    """
    read = read_main_file(text, source, minor)
    settings = with_defaults(with_eviction_defaults(read.settings, minor), minor)
    return ConfigFile(config=to_configuration(settings), warnings=read.warnings, document=read.document)


def read_main_file(text: str | bytes, source: str, minor: int) -> MainFile:
    """Read a KubeletConfiguration (YAML or JSON) as kubelet 1.*minor* does, defaults left out.

    Raise InputError with file, line and path for what is no such document, ConfigRefusedError where the
    kubelet's own words for it are known.
    """
    if error := refusal_of_nothing(text, source):
        raise _refused(InputError(EMPTY, where=source), error, source)
    document, *ignored = load_documents(text, source, last_wins=True)
    root = Cursor.at_root(document)
    _check_head(root)
    walk = Walk(structs=STRUCTS, ordered=document.syntax is Syntax.JSON)
    if mistake := first_mistake(document.value, ROOT_TYPE, walk):
        wrong = explained(mistake, document, mistake.path)
        raise _refused(wrong, f"failed to decode: {mistake.text}", source)
    given = settings_of(document, OriginKind.FILE)
    known, unknown = unknown_fields(given.members or {}, minor)
    return MainFile(
        settings=_resolved(known, source),
        warnings=(*_repeated(document), *unknown, *_unread(ignored)),
        document=document,
    )


def refusal_of_nothing(text: str | bytes, source: str) -> str:
    """Return the kubelet's words for a file without content, or with comments only; else nothing."""
    if not text:
        return f'kubelet config file "{source}" was empty'
    content = text.decode(errors="replace") if isinstance(text, bytes) else text
    if all(line.lstrip()[:1] in ("", "#") for line in content.splitlines()):
        return f"failed to decode: Object 'Kind' is missing in '{content}'"
    return ""


def _check_head(root: Cursor) -> None:
    """Refuse another kind of document."""
    kind, version = root.get("kind"), root.get("apiVersion")
    source, text = root.document.source, root.document.text
    if kind is None:
        missing = root.error(f"kind is missing: expected {KIND}", hint=_HINT)
        raise _refused(missing, f"failed to decode: Object 'Kind' is missing in '{text}'", source)
    if kind.value != KIND and not isinstance(kind.value, str):
        raise kind.expected(KIND, hint=_HINT)
    if version is None:
        raise root.error(f"apiVersion is missing: expected {API_VERSION}", hint=_HINT)
    for cursor, wanted in ((kind, KIND), (version, API_VERSION)):
        if cursor.value != wanted:
            error = f'no kind "{kind.value}" is registered for version "{version.value}" in scheme ...'
            raise _refused(cursor.expected(wanted, hint=_HINT), f"failed to decode: {error}", source)


def _refused(error: InputError, text: str, source: str) -> ConfigRefusedError:
    prefix = f"failed to load kubelet config file, path: {source}, error: "
    logged = f"{prefix}failed to load Kubelet config file {source}, error {text}"
    return ConfigRefusedError.told(error, Refusal(STAGE, text, logged))


def _resolved(settings: Settings, source: str) -> Settings:
    """Take a relative path to be beside the file."""
    path = settings.get("staticPodPath")
    if path is None or not isinstance(path.value, str) or not path.value:
        return settings
    absolute = str(PurePath(source).parent / path.value)
    return {**settings, "staticPodPath": replace(path, value=absolute)}


def with_eviction_defaults(settings: Settings, minor: int) -> Settings:
    """Give ``evictionHard`` the default thresholds: where it is absent, or is to be merged with them."""
    given = settings.get("evictionHard")
    defaults = uniform(dict(default_eviction_hard(minor)), DEFAULT_ORIGIN)
    if given is None or given.value is None:
        return {**settings, "evictionHard": defaults}
    merges = settings.get("mergeDefaultEvictionSettings")
    if merges is None or merges.value is not True:
        return settings
    merged = {**(defaults.members or {}), **(given.members or {})}
    return {**settings, "evictionHard": Setting(merged, given.origin)}


def _repeated(document: Document) -> Iterator[ConfigWarning]:
    for repeat in document.repeats:
        where = f"{document.source}:{repeat.place.line}"
        message = f'key "{repeat.key}" already set in map, the last one counts'
        yield ConfigWarning("repeated-key", where, message)


def _unread(documents: list[Document]) -> Iterator[ConfigWarning]:
    for document in documents:
        message = "only the first document of the file counts"
        yield ConfigWarning("ignored-document", document.where(()), message)
