"""Laws of reading text: for any text the answer is plain data or one InputError."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError

YAML_PARTS = [
    "a",
    "b: ",
    "- ",
    "? ",
    ": ",
    "\n",
    "\n  ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&x ",
    "*x ",
    "<<: ",
    "!!int ",
]
YAML_PARTS += [
    "!t ",
    "|\n ",
    ">",
    "'",
    '"',
    "#",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "1",
    "0x",
    ".inf",
    "~",
    "\\ud800",
    "\x85",
]

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff"), max_size=20)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
plain_data = st.recursive(
    leaves,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(texts, below, max_size=4),
    max_leaves=20,
)
documents = st.dictionaries(texts, plain_data, min_size=1, max_size=4)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for step, below in steps for found in paths(below, (*path, step)))]


@given(
    st.text()
    | st.binary()
    | st.lists(st.sampled_from(YAML_PARTS), max_size=30).map("".join)
    | st.text('{}[]",:0123456789eE.-+ntruefalsNI\\ud8 \n', max_size=30).map(lambda text: '{"a":' + text)
)
def test_no_text_ends_in_a_traceback(text: str | bytes) -> None:
    with suppress(InputError):
        for document in load_documents(text, "input"):
            json.dumps(document.value, allow_nan=False).encode()
            for path in paths(document.value):
                assert document.where(path).startswith("input")


@given(documents)
def test_json_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    (document,) = load_documents(json.dumps(value), "input")
    assert document.value == value


@given(documents)
def test_yaml_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    """With everything quoted the writer tags every type: the two resolve plain scalars differently."""
    text = yaml.safe_dump(value, default_style='"', allow_unicode=True)
    (document,) = load_documents(text, "input")
    assert document.value == value


@given(documents)
def test_every_path_of_a_json_text_has_its_line(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=0)
    (document,) = load_documents(text, "input")
    for path in paths(value):
        line = document.line_of(path)
        assert line is not None
        if path and isinstance(path[-1], str):
            assert text.split("\n")[line - 1].startswith(json.dumps(path[-1]))


@given(plain_data)
def test_readers_return_or_raise_input_error(value: Any) -> None:
    (document,) = load_documents(json.dumps({"a": value}), "input")
    member = Cursor.at_root(document).members()["a"]
    readers = [Cursor.text, Cursor.texts, Cursor.boolean, Cursor.integer, Cursor.number]
    for read in (*readers, Cursor.quantity, Cursor.cpu_set, Cursor.items, Cursor.members):
        with suppress(InputError):
            assert read(member) is not None
