"""The width of text, estimated without its font: never less than in the usual fonts."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import combining, east_asian_width

from cpuctl.visible_text import printable

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

# Widths in em of DejaVu Sans and Verdana, the widest fonts that systems commonly have for this.
_WIDTHS = {
    **dict.fromkeys("ijlI|'", 0.46),
    **dict.fromkeys("ftr.,:;!()[]/\\- ", 0.46),
    **dict.fromkeys("mMW%@", 1.08),
    **dict.fromkeys("wGOQ#+=~<>", 0.86),
}
_USUAL, _CAPITAL, _OTHER_SCRIPT, _FULL = 0.66, 0.79, 0.9, 1.25
_LATIN_END = "\u0530"
"""Latin, Greek and Cyrillic precede it."""
_LONGEST = 1000
"""The maximum number of characters of a text in a picture."""
BOLD = 1.14
"""The relative width of bold text."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate a text's width from its font's size, in the same unit."""
    return sum(map(_width, printable(text))) * size * (BOLD if bold else 1)


def fitted(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return a text that fits: if it is too long, an ellipsis replaces its middle."""
    text = bounded(printable(text), _LONGEST)
    if text_width(text, size, bold=bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        if text_width(_cut(text, kept), size, bold=bold) <= width:
            low = kept
        else:
            high = kept - 1
    return _cut(text, low)


def wrapped(text: str, width: float, size: float, *, bold: bool = False) -> Iterator[str]:
    """Break a text into lines between its words; a word that is too long for a line is cut."""
    line = ""
    for word in bounded(text, _LONGEST).split():
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, bold=bold) > width:
            yield fitted(line, width, size, bold=bold)
            longer = word
        line = longer
    if line:
        yield fitted(line, width, size, bold=bold)


def bounded(text: str, most: int) -> str:
    """Return a text of at most this many characters, shortened in the same way."""
    return text if len(text) <= most else _cut(text, most - 1)


def _cut(text: str, kept: int) -> str:
    """Keep this many characters of the beginning and the end: both distinguish names of one kind."""
    tail = kept // 3
    return f"{text[: kept - tail]}{ELLIPSIS}{text[len(text) - tail :]}"


def _width(char: str) -> float:
    if (known := _WIDTHS.get(char)) is not None:
        return known
    if char < _LATIN_END:
        return _CAPITAL if char.isupper() else _USUAL
    if combining(char):
        return 0
    return _FULL if east_asian_width(char) in "WF" else _OTHER_SCRIPT
