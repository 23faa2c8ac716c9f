"""Texts of several documents, some of them unreadable."""

from __future__ import annotations

import pytest

from cpuctl.documents.document import Document
from cpuctl.documents.positions import Position
from cpuctl.pods.validation.objects import Unreadable, documents_of


def read(text: str) -> list[tuple[int, object]]:
    """Return line and value of every document, or line and message of an unreadable one."""
    return [
        (each.line, each.value) if isinstance(each, Document) else (each.place.line, each.message)
        for each in documents_of(text.encode(), "f.yaml")
    ]


def test_good_documents_around_a_bad_one_are_read() -> None:
    text = "a: 1\n---\n# nothing\n--- # more\n\tb: 1\n---\nc: 3\n"
    assert read(text) == [
        (1, {"a": 1}),
        (5, "a tab is used for indentation"),
        (7, {"c": 3}),
    ]


def test_documents_after_a_bad_one_keep_their_places_in_the_text() -> None:
    *_, last = documents_of(b"a: [\n---\nb:\n  c: 3\n", "f.yaml")
    assert isinstance(last, Document)
    assert last.nearest_position(("b", "c", "d")) == Position(4, 3)


def test_the_last_of_repeated_keys_counts_and_the_others_are_noted() -> None:
    (document,) = documents_of(b"a: 1\nb: {c: 1, c: 2}\n", "f.yaml")
    assert isinstance(document, Document)
    assert document.value == {"a": 1, "b": {"c": 2}}
    assert [(each.path, each.position) for each in document.repeats] == [(("b", "c"), Position(2, 11))]


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (b"a: \xff", Position(1, 4), "not UTF-8 text: byte 0xff is invalid"),
        (b"", Position(1, 1), "empty: expected YAML or JSON"),
        (b"\ta: 1", Position(1, 1), "a tab is used for indentation"),
        (b'{"a": ', Position(1, 7), "not JSON: unexpected end of JSON"),
    ],
)
def test_unreadable_texts(content: bytes, place: Position, message: str) -> None:
    (found,) = documents_of(content, "f.yaml")
    assert isinstance(found, Unreadable)
    assert (found.place, found.message) == (place, message)


def test_many_documents_are_not_read_one_by_one_if_that_would_take_forever() -> None:
    """Each is read at its place: a thousand of them at the end of a long text mean a thousand long texts."""
    content = ("a: 1\n---\n" * 20_000 + "b: [\n").encode()
    (found,) = documents_of(content, "f.yaml")
    assert isinstance(found, Unreadable)
