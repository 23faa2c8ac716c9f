"""The way to a part of a document, key by key."""

from __future__ import annotations

import re
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def path_text(path: Path) -> str:
    """Write a path as ``spec.containers[0].resources.limits["nvidia.com/gpu"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
