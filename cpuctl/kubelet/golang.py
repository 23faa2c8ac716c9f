"""How Go reads and writes a few kinds of text that show up in the kubelet's messages."""

from __future__ import annotations

from collections.abc import Mapping

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_ESCAPES = {'"': r"\"", "\\": r"\\", "\a": r"\a", "\b": r"\b", "\f": r"\f"} | {
    "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
}  # fmt: skip


def parse_bool(text: str) -> bool:
    """Read a boolean as ``strconv.ParseBool`` does; raise ValueError with its text."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")


def quoted(text: str) -> str:
    """Write a string as ``%q`` does."""
    return '"' + "".join(_ESCAPES.get(char) or _printable(char) for char in text) + '"'


def map_text(pairs: Mapping[str, object]) -> str:
    """Write a map as ``%v`` does, keys in order: ``map[a:1 b:2]``."""
    return f"map[{' '.join(f'{key}:{pairs[key]}' for key in sorted(pairs))}]"


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
