"""What was probably meant by a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# A guess takes about a millisecond, and a file with more unknown names than this is something else.
MOST_LISTED = 100


_A_TYPO = 0.85
"""How alike two long names are that one slip of the hand apart."""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "", *, likeness: float = 0.6) -> str:
    """Write the hint at the known word that was probably meant, else *otherwise*."""
    meant = nearest(word, known, likeness)
    return f"did you mean {meant}?" if meant else otherwise


def nearest_spelling(word: str, known: Iterable[str]) -> str:
    """Find the known word of which this is a misspelling: another word that is like it is not meant."""
    return nearest(word, known, _A_TYPO)


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Find the known word that was probably meant, nothing where none is near."""
    by_sound = {each.casefold(): each for each in known}
    matches = get_close_matches(word.casefold(), by_sound, n=1, cutoff=likeness)
    return by_sound[matches[0]] if matches else ""
