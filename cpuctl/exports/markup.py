"""Markup for XML and HTML: what comes from outside gets in through ``text`` or an attribute, escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NewType

from cpuctl.visible_text import printable

Markup = NewType("Markup", str)
"""Text that is markup already."""
Value = str | int | float
Attributes = Mapping[str, Value]

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def text(value: str) -> Markup:
    """Write any text as what it says: characters that XML forbids, or that are unseen, become escapes."""
    return Markup(printable(value).translate(_ESCAPES))


def element(name: str, attributes: Attributes, *children: Markup) -> Markup:
    """Write an element with its content."""
    return Markup(f"<{name}{_written(attributes)}>{''.join(children)}</{name}>")


def leaf(name: str, attributes: Attributes) -> Markup:
    """Write an element that can have no content, in HTML a void one."""
    return Markup(f"<{name}{_written(attributes)}/>")


def joined(parts: Iterable[Markup], between: str = "") -> Markup:
    """Put markup together."""
    return Markup(between.join(parts))


def as_bytes(markup: Markup) -> bytes:
    """Encode a file in ASCII, other characters as references: no encoding of the reader's garbles it."""
    return markup.encode("ascii", "xmlcharrefreplace")


def _written(attributes: Attributes) -> str:
    return "".join(f' {name}="{_value(value)}"' for name, value in attributes.items())


def _value(value: Value) -> str:
    match value:
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case int():
            return str(value)
        case str():
            return text(value)
