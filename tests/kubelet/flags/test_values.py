"""Lists on a command line: what Go's reader of comma-separated values makes of them."""

from __future__ import annotations

import pytest

from cpuctl.kubelet.flags.values import csv_list


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", []),
        ("a", ["a"]),
        ("a,b c,", ["a", "b c", ""]),
        (",", ["", ""]),
        ('"a","b,c"', ["a", "b,c"]),
        ('"a""b",c', ['a"b', "c"]),
        ('""', [""]),
        ('"a",', ["a", ""]),
        ("\na,b\nc", ["a", "b"]),
    ],
)
def test_fields(text: str, fields: list[str]) -> None:
    assert csv_list(text) == fields


def test_empty_lines_are_no_line() -> None:
    with pytest.raises(ValueError, match=r"^EOF$"):
        csv_list("\n\n")


BARE, STRAY = 'bare " in non-quoted-field', 'extraneous or missing " in quoted-field'


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ('a"b', 2, BARE),
        ('é"b', 3, BARE),
        ('a,b"', 4, BARE),
        ('"', 2, STRAY),
        ('a,"b', 5, STRAY),
        ('"a"b', 3, STRAY),
        ('"a""b', 6, STRAY),
    ],
)
def test_mistakes_are_those_of_go(text: str, column: int, what: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        csv_list(text)
    assert str(caught.value) == f"parse error on line 1, column {column}: {what}"
