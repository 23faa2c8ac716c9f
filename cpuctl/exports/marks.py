"""The letters that stand for owners in pictures, so that no colour is needed to tell them apart."""

from __future__ import annotations


def mark_of(place: int) -> str:
    """Name an owner in pictures by its place, from 0: a to z, then aa, ab and so on."""
    mark = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        mark = chr(ord("a") + letter) + mark
    return mark
