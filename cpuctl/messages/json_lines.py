"""Lines that are JSON objects: structured logs, ``journalctl -o json``, events."""

from __future__ import annotations

import json
from typing import Any


def json_object(line: str) -> dict[str, Any] | None:
    """Return the object that a line is, None for all else: what is cut off is a line like any other."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def object_name(reference: object) -> str:
    """Return ``namespace/name`` or the name of what an object refers to, empty where it names nothing."""
    if not isinstance(reference, dict) or not isinstance(name := reference.get("name"), str):
        return ""
    namespace = reference.get("namespace")
    return f"{namespace}/{name}" if isinstance(namespace, str) else name
