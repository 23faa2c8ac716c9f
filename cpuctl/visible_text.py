"""Text with which no input can control the reader's terminal, page or picture."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape control characters, so that none breaks a line, reverses its direction or hides a part of it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
