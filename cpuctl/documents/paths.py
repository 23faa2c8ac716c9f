"""The way to a part of a document, key by key."""

from __future__ import annotations

import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = r"[A-Za-z_][\w-]*"


def path_text(path: Path) -> str:
    """Write a path as ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_PLAIN_KEY, step, re.ASCII):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
