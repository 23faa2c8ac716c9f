"""The documents of a text, as many as can be read: one that is no YAML does not keep from the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.documents.document import Document
from cpuctl.documents.loading import EMPTY, load_documents
from cpuctl.documents.places import Place
from cpuctl.errors import InputError

_BETWEEN = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_MOST_TEXT = 64 << 20
"""Characters read in all to tell good documents from bad ones; each is read at its place in the text."""
_PLACE = re.compile(r":([0-9]+):([0-9]+)")


class Unreadable(NamedTuple):
    """Why a text, or one of its documents, cannot be read, and where."""

    place: Place
    message: str
    hint: str = ""


def documents_of(content: bytes, source: str) -> Iterator[Document | Unreadable]:
    """Yield the documents of a text; of repeated keys the last one counts, and the others are noted."""
    try:
        documents = load_documents(content, source, last_wins=True)
    except InputError as error:
        yield from _one_by_one(content, source, error)
    else:
        yield from documents


def _one_by_one(content: bytes, source: str, error: InputError) -> Iterator[Document | Unreadable]:
    """Read the documents between lines of ``---`` each by itself, as ``kubectl`` does."""
    text = content.decode(errors="replace")
    starts = [0, *(found.start() for found in _BETWEEN.finditer(text))]
    if len(starts) < 2 or len(starts) * len(text) > _MOST_TEXT or "\ufffd" in text:
        yield _unreadable(error, source)
        return
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        try:
            # Empty lines stand in for what comes before, so that places stay what they are.
            part = "\n" * text.count("\n", 0, start) + text[start:end]
            yield from load_documents(part, source, last_wins=True)
        except InputError as wrong:
            if wrong.message != EMPTY:
                yield _unreadable(wrong, source)


def _unreadable(error: InputError, source: str) -> Unreadable:
    found = _PLACE.fullmatch(error.where.removeprefix(source))
    place = Place(int(found[1]), int(found[2])) if found else Place(1, 1)
    return Unreadable(place, error.message, error.hint)
