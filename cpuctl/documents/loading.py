"""Text to documents, or to one Kubernetes object: the syntax, and what both syntaxes reject.

Rule for a file of one object: the serializers of ``k8s.io/apimachinery``. Text beginning with ``{`` is JSON;
of YAML only the first document is used. The text after the object is not checked, unlike with
``load_documents``, which reads lists of objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from cpuctl.documents.document import Document, PlacedText, Syntax, Value
from cpuctl.documents.positions import Position
from cpuctl.documents.text_errors import (
    MAX_DOCUMENTS,
    TextError,
    too_many_documents,
    too_many_values,
)
from cpuctl.errors import InputError
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.documents.tree import TreeBuilder


_PREFIX = "couldn't get version/kind; json parse error: "


class ObjectText(Record):
    """The object, null if the text has none, and the line where an unread document begins."""

    document: Document
    next_line: int | None = None


def read_object(text: str | bytes, source: str) -> ObjectText:
    """Read one object; a repeated key is recorded in ``Document.repeats``, and the last one applies.

    Raise BrokenTextError for anything else, as ``load_documents`` does.
    """
    content = decoded(text, source)
    try:
        if content.lstrip().startswith("{"):
            return ObjectText(_json_object(content, source))
        return _yaml_object(content, source)
    except TextError as error:
        raise error.as_input_error(source) from None


def _json_object(text: str, source: str) -> Document:
    try:
        first, *others = json_documents(text, source, last_wins=True)
    except json.JSONDecodeError as error:
        from cpuctl.documents.json_text import syntax_error
        from cpuctl.golang.json_values import syntax_error_text

        broken = syntax_error(error)
        broken.go = f"{_PREFIX}{syntax_error_text(text)}"
        raise broken from None
    for other in others:
        bracket = "{" if isinstance(other.value, dict) else "["
        go = f"{_PREFIX}invalid character '{bracket}' after top-level value"
        raise TextError(f"not JSON: unexpected {bracket!r}", Position(other.line, 1), go=go)
    return first


def _yaml_object(text: str, source: str) -> ObjectText:
    from cpuctl.documents.yaml_text import YamlReader

    builders = iter(YamlReader(text, last_wins=True))
    first = next(builders, None)
    document = Document(
        source=source,
        number=0,
        value=cast("Value", first.root if first else None),
        placed=PlacedText(text, Syntax.YAML),
        line=first.line if first else 1,
        repeats=tuple(first.repeats) if first else (),
    )
    try:
        another = next((builder.line for builder in builders if builder.root is not None), None)
    except TextError as error:
        another = error.position.line
    return ObjectText(document, another)


EMPTY = "empty: expected YAML or JSON"

_LOOKS_LIKE_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*["{\[\]])')
"""The beginning of JSON, unlike YAML's own ``{a: b}``."""


def load_documents(text: str | bytes, source: str, *, last_wins: bool = False) -> list[Document]:
    """Read YAML or JSON, one document or several; empty ones are left out.

    A repeated key is an error, or with *last_wins* noted in ``Document.repeats``. Raise InputError with
    file, line and column for text that is not YAML or JSON, for what JSON cannot represent (keys that are not
    text, infinity, tags), and for more values or documents than ``text_errors`` permits.
    """
    content = decoded(text, source)
    try:
        documents = _read(content, source, last_wins=last_wins)
    except TextError as error:
        raise error.as_input_error(source) from None
    if not documents:
        raise InputError(EMPTY, where=source)
    return documents


def decoded(text: str | bytes, source: str) -> str:
    """Turn bytes into text; a byte order mark is dropped.

    Raise InputError with the place of the first byte that is not UTF-8.
    """
    try:
        content = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        message = f"not UTF-8 text: byte 0x{error.object[error.start]:02x} is invalid"
        hint = _meant_by(error.object, source)
        raise TextError(message, Position.at(before, len(before)), hint).as_input_error(source) from None
    return content.removeprefix("\ufeff")


_COMPRESSED = {
    b"\x1f\x8b": "zcat",
    b"BZh": "bzcat",
    b"\xfd7zXZ\0": "xzcat",
    b"\x28\xb5\x2f\xfd": "zstdcat",
}
"""The first bytes of a compressed file, and the program that prints its content."""


def _meant_by(content: bytes, source: str) -> str:
    """Return how to read an input that is compressed or has another encoding."""
    from shlex import quote

    from cpuctl.documents.files import file_argument

    file = quote(file_argument(source))
    for magic, reader in _COMPRESSED.items():
        if content.startswith(magic):
            return f"decompress it ({reader} {file}), or use -m {file} if it is a recording of a node"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"iconv -f UTF-16 -t UTF-8 {file} writes it as UTF-8"
    return "save it as UTF-8"


def _read(text: str, source: str, *, last_wins: bool) -> list[Document]:
    if not _LOOKS_LIKE_JSON.match(text):
        return _from_yaml(text, source, last_wins=last_wins)
    try:
        return json_documents(text, source, last_wins=last_wins)
    except json.JSONDecodeError as error:
        not_json = error
    try:  # `{"a": 1, b: 2}` and JSON documents separated by `---` are YAML
        return _from_yaml(text, source, last_wins=last_wins)
    except TextError:
        from cpuctl.documents.json_text import syntax_error

        raise syntax_error(not_json) from None


def _from_yaml(text: str, source: str, *, last_wins: bool) -> list[Document]:
    from cpuctl.documents.yaml_text import YamlReader

    return _built(YamlReader(text, last_wins=last_wins), text, source, Syntax.YAML)


def json_documents(text: str, source: str, *, last_wins: bool = False) -> list[Document]:
    """Read consecutive JSON values; raise TextError, or json.JSONDecodeError for other text.

    A repeated key is an error, or with *last_wins* noted in ``Document.repeats``.
    """
    from cpuctl.documents.json_text import NotPlainJsonError, fast_values, token_documents

    try:
        values = fast_values(text)
    except NotPlainJsonError:
        return _built(token_documents(text, last_wins=last_wins), text, source, Syntax.JSON)
    placed = PlacedText(text, Syntax.JSON)
    return [
        Document(source=source, number=number, value=value, placed=placed, line=line)
        for number, (line, value) in enumerate(values)
    ]


def _built(builders: Iterable[TreeBuilder], text: str, source: str, syntax: Syntax) -> list[Document]:
    placed = PlacedText(text, syntax)
    return [
        Document(
            source=source,
            number=number,
            value=cast("Value", builder.root),
            placed=placed,
            line=builder.line,
            repeats=tuple(builder.repeats),
        )
        for number, builder in enumerate(_within_limits(builders))
        if builder.root is not None
    ]


def _within_limits(builders: Iterable[TreeBuilder]) -> Iterator[TreeBuilder]:
    values = 0
    for number, builder in enumerate(builders, start=1):
        position = Position(builder.line, 1)
        values += builder.size
        if values > builder.most:
            raise too_many_values(position, builder.most)
        if number > MAX_DOCUMENTS:
            raise too_many_documents(position)
        yield builder
