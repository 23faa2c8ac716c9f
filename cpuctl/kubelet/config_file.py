"""A kubelet's main configuration file, read the way the kubelet reads it.

The kubelet decodes the file strictly and, where that fails on unknown or repeated fields only, again
leniently: it warns, drops the unknown ones and takes the last of repeated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cpuctl.documents import Cursor, Document, load_documents
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD, KubeletConfiguration
from cpuctl.kubelet.config_fields import FIELDS, OTHER_FIELDS

_API_VERSION = "kubelet.config.k8s.io/v1beta1"
_KIND = "KubeletConfiguration"


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A configuration with its defaults filled in, what the kubelet would warn about, and the text itself."""

    config: KubeletConfiguration
    warnings: tuple[str, ...]
    document: Document


def read_kubelet_config(text: str | bytes, source: str) -> ConfigFile:
    """Read a KubeletConfiguration (YAML or JSON).

    Raise InputError with file, line and path for another kind of document and for values of a wrong type.
    """
    document, *ignored = load_documents(text, source, last_wins=True)
    root = Cursor.at_root(document)
    _require(root, "kind", _KIND)
    _require(root, "apiVersion", _API_VERSION)
    return ConfigFile(
        config=KubeletConfiguration(**_with_eviction_defaults(_values(root))),
        warnings=(*_repeated(document), *_unknown(root), *_unread(ignored)),
        document=document,
    )


def _require(root: Cursor, key: str, wanted: str) -> None:
    found = root.required(key)
    if found.text() != wanted:
        raise found.expected(wanted)


def _values(root: Cursor) -> dict[str, Any]:
    """Read every field that is set; one at its zero value counts as not set unless it keeps that."""
    values: dict[str, Any] = {}
    for key, field in FIELDS.items():
        cursor = root.get(key)
        if cursor is None:
            continue
        value = field.read(cursor)
        if value or field.keeps_zero:
            values[field.attribute] = value
    return values


def _with_eviction_defaults(values: dict[str, Any]) -> dict[str, Any]:
    given = values.get("eviction_hard")
    if given is None:
        return {**values, "eviction_hard": DEFAULT_EVICTION_HARD}
    if values.get("merge_default_eviction_settings"):
        return {**values, "eviction_hard": {**DEFAULT_EVICTION_HARD, **given}}
    return values


def _repeated(document: Document) -> Iterator[str]:
    for key, place in ((repeat.key, repeat.place) for repeat in document.repeats):
        yield f'{document.source}:{place.line}: key "{key}" already set in map, the last one counts'


def _unknown(root: Cursor) -> Iterator[str]:
    for name, member in root.members().items():
        if name not in FIELDS and name not in OTHER_FIELDS:
            yield f'{member.where}: unknown field "{name}" is ignored'


def _unread(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        yield f"{document.where(())}: only the first document of the file counts"
