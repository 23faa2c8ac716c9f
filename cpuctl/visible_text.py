"""Text that no input can use to steer the reader's terminal, page or picture."""

from __future__ import annotations


def printable(text: str) -> str:
    """Write control characters as escapes: none breaks a line, turns its direction or hides a part of it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
