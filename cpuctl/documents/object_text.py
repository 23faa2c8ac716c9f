"""The file of one Kubernetes object: what begins with ``{`` is JSON, and of YAML the first document counts.

Rule: the serializers of ``k8s.io/apimachinery``. What follows the object is not even looked at, unlike with
``load_documents``, which reads lists of objects.
"""

from __future__ import annotations

import json
from typing import NamedTuple, cast

from cpuctl.documents.document import Document, PlacedText, Syntax, Value
from cpuctl.documents.loading import decoded, json_documents
from cpuctl.documents.places import Place
from cpuctl.documents.text_errors import TextError

_PREFIX = "couldn't get version/kind; json parse error: "


class ObjectText(NamedTuple):
    """The object, null where the text holds none, and the line where a document begins that is not read."""

    document: Document
    next_line: int | None = None


def read_object(text: str | bytes, source: str) -> ObjectText:
    """Read one object; a repeated key is noted in ``Document.repeats``, and the last one counts.

    Raise BrokenTextError for what is none, as ``load_documents`` does.
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
        from cpuctl.golang.json_syntax import syntax_complaint

        broken = syntax_error(error)
        broken.go = f"{_PREFIX}{syntax_complaint(text)}"
        raise broken from None
    for other in others:
        bracket = "{" if isinstance(other.value, dict) else "["
        go = f"{_PREFIX}invalid character '{bracket}' after top-level value"
        raise TextError(f"not JSON: unexpected {bracket!r}", Place(other.line, 1), go=go)
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
        another = error.place.line
    return ObjectText(document, another)
