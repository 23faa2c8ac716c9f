"""How Go quotes text in its messages: ``strconv.Quote``, which ``fmt`` calls for ``%q``."""

from __future__ import annotations


class GoError(ValueError):
    """An error text that Kubernetes' own code prints.

    Only such a text may become a part of a kubelet's message: those of other exceptions are ours or Python's.
    """


_ESCAPES = {"\\": r"\\", "\a": r"\a", "\b": r"\b", "\f": r"\f"} | {
    "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
}  # fmt: skip


def quoted(text: str) -> str:
    """Write a string as ``%q`` does."""
    return '"' + "".join(r"\"" if char == '"' else escaped(char) for char in text) + '"'


def escaped(char: str) -> str:
    """Write one character, escaped unless it is printable."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
