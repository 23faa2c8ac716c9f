"""What was probably meant by a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# A guess takes about a millisecond, and a file with more unknown names than this is something else.
MOST_TOLD = 100


def nearest(word: str, known: Iterable[str]) -> str:
    """Find the known word that was probably meant, nothing where none is near."""
    by_sound = {each.casefold(): each for each in known}
    matches = get_close_matches(word.casefold(), by_sound, n=1)
    return by_sound[matches[0]] if matches else ""
