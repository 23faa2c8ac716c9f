"""Values of a document as their expected types; anything else gives an empty value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
"""The lists of containers in a pod's spec."""


def mapping_of(value: object) -> Mapping[str, object]:
    """Return a mapping, empty for any other value."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> Sequence[object]:
    """Return a list, empty for any other value."""
    return value if isinstance(value, list) else ()


def text_of(value: object) -> str:
    """Return a text, empty for any other value."""
    return value if isinstance(value, str) else ""


def member_of(value: object, name: str) -> object:
    """Return a member of a mapping; None if there is none."""
    return mapping_of(value).get(name)
