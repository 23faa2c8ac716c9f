"""Values of a document taken for what they should be; for anything else, nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
"""Where a pod's spec has containers."""


def mapping_of(value: object) -> Mapping[str, object]:
    """Take a mapping, or an empty one."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> Sequence[object]:
    """Take a list, or an empty one."""
    return value if isinstance(value, list) else ()


def text_of(value: object) -> str:
    """Take a text, or an empty one."""
    return value if isinstance(value, str) else ""


def member_of(value: object, name: str) -> object:
    """Take a member of a mapping, or nothing."""
    return mapping_of(value).get(name)
