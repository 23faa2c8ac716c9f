"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# A guess takes about a millisecond; a file with more unknown names is of another kind.
MOST_LISTED = 100


_A_TYPO = 0.85
"""The similarity of two long names that differ by one typing mistake."""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "", *, likeness: float = 0.6) -> str:
    """Return a hint with the known word that was probably meant, or *otherwise* if none is similar."""
    meant = nearest(word, known, likeness)
    return f"did you mean {meant}?" if meant else otherwise


def nearest_spelling(word: str, known: Iterable[str]) -> str:
    """Return the known word of which this is a misspelling, not one that is merely similar; else empty."""
    return nearest(word, known, _A_TYPO)


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known word that was probably meant; empty if none is similar."""
    by_spelling = {each.casefold(): each for each in known}
    matches = get_close_matches(word.casefold(), by_spelling, n=1, cutoff=likeness)
    return by_spelling[matches[0]] if matches else ""
