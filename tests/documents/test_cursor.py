from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import pytest

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.documents.positions import path_text
from cpuctl.errors import InputError


def cursor(text: str) -> Cursor:
    return Cursor.at_root(load_documents(text, "f.yaml")[0])


@dataclass(frozen=True)
class Wrong:
    """A value that a reader rejects, and the message after the place."""

    text: str
    read: Callable[[Cursor], object]
    want: str


WRONG = [
    Wrong("3", Cursor.text, "expected a string, found the number 3"),
    Wrong("yes", Cursor.text, "expected a string, found true"),
    Wrong("[1]", Cursor.text, "expected a string, found a list"),
    Wrong("'3'", Cursor.integer, 'expected a whole number, found the string "3"'),
    Wrong("1.5", Cursor.integer, "expected a whole number, found the number 1.5"),
    Wrong("true", Cursor.integer, "expected a whole number, found true"),
    Wrong("0", lambda c: c.integer(minimum=1), "expected a whole number of at least 1, found the number 0"),
    Wrong("9", lambda c: c.integer(maximum=8), "expected a whole number of at most 8, found the number 9"),
    Wrong("x", Cursor.number, 'expected a number, found the string "x"'),
    Wrong("false", Cursor.number, "expected a number, found false"),
    Wrong("1", Cursor.boolean, "expected true or false, found the number 1"),
    Wrong("{b: 1}", Cursor.items, "expected a list, found a mapping"),
    Wrong("[1]", Cursor.members, "expected a mapping, found a list"),
    Wrong(
        "blue", lambda c: c.one_of(("red", "green")), 'expected one of red, green, found the string "blue"'
    ),
    Wrong("blue", lambda c: c.one_of(("red",)), 'expected red, found the string "blue"'),
    Wrong("[2]", Cursor.quantity, "expected a quantity, found a list"),
    Wrong("true", Cursor.quantity, "expected a quantity, found true"),
    Wrong("5", Cursor.cpu_set, "expected a string, found the number 5"),
    Wrong("x" * 70, Cursor.boolean, f'expected true or false, found the string "{"x" * 57}..."'),
    Wrong(
        "1-",
        Cursor.cpu_set,
        'expected a CPU list, found the string "1-": a number is missing',
    ),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.want)
def test_errors_name_place_expected_and_found_value(case: Wrong) -> None:
    with pytest.raises(InputError) as caught:
        case.read(cursor(f"x: 1\na: {case.text}").required("a"))
    assert str(caught.value) == f"f.yaml:2: a: {case.want}"


def test_wrong_quantity_includes_the_kubelets_message() -> None:
    with pytest.raises(
        InputError, match=r'expected a quantity, found the string "2x": quantities must match'
    ):
        cursor("a: 2x").required("a").quantity()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2", "2"),
        ("0.5", "500m"),
        ("1e3", "1k"),
        ("'1e3'", "1e3"),
        ("null", "0"),
        ("' 1Gi '", "1Gi"),
        ("1e18", "1E"),
    ],
)
def test_quantities_may_be_bare_numbers(text: str, want: str) -> None:
    (amount,) = cursor(f"a: {text}").members().values()
    assert str(amount.quantity().canonical()) == want


@pytest.mark.parametrize(
    ("text", "hint"), [("a: gren", "did you mean green?"), ("a: blue", ""), ("a: 3", "")]
)
def test_the_closest_valid_word_is_suggested(text: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        cursor(text).required("a").one_of(("red", "green"))
    assert refused.value.hint == hint


def test_valid_values_are_returned() -> None:
    root = cursor("{t: x, i: 3, f: 3.0, r: 1.5, b: true, l: [a, b], m: {k: v}, c: 0-2, w: red}")
    assert root.required("t").text() == "x"
    assert root.required("i").integer() == root.required("f").integer() == 3
    assert root.required("r").number() == 1.5
    assert root.required("b").boolean() is True
    assert root.required("l").texts() == ("a", "b")
    assert str(root.required("c").cpu_set()) == "0-2"
    assert root.required("w").one_of(("red", "green")) == "red"


def test_null_is_absent() -> None:
    root = cursor("{a: null, b: 0}")
    assert root.get("a") is None
    assert root.get("nothing") is None
    assert root.optional("a", Cursor.integer, 7) == 7
    assert root.optional("b", Cursor.integer, 7) == 0
    with pytest.raises(InputError, match=r"^f.yaml:1: a is missing$"):
        root.required("a")


def test_hint_appears_only_if_quotes_help() -> None:
    with pytest.raises(InputError) as number:
        cursor("a: 3").required("a").text()
    with pytest.raises(InputError) as listed:
        cursor("a: [3]").required("a").text()
    with pytest.raises(InputError) as mapped:
        cursor("a: {b: 3}").required("a").text()
    hints = [each.value.hint for each in (number, listed, mapped)]
    assert hints == ["put it in quotes", 'write one string: "3"', ""]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("no", "write false"),
        ("Yes", "write true"),
        ("true", "remove the quotes"),
        ("maybe", ""),
    ],
)
def test_words_for_booleans_are_understood(text: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        cursor(f'a: "{text}"').required("a").boolean()
    assert refused.value.hint == hint


def test_hints_repeat_no_long_values() -> None:
    for value, read in (([1] * 100, Cursor.text), (["x" * 100], Cursor.text), ("a=b," * 100, Cursor.members)):
        with pytest.raises(InputError) as refused:
            read(cursor(f"a: {json.dumps(value)}").required("a"))
        assert refused.value.hint == ""


def test_the_notation_of_flags_is_rewritten() -> None:
    with pytest.raises(InputError) as refused:
        cursor("a: cpu=1,memory=1Gi").required("a").members()
    assert refused.value.hint == 'write {cpu: "1", memory: "1Gi"}'


def test_origin_is_printed_as_the_place() -> None:
    assert str(cursor("a:\n  b: 1").required("a").required("b").origin) == "f.yaml: a.b"


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ((), ""),
        (("spec", "containers", 0, "name"), "spec.containers[0].name"),
        (("limits", "nvidia.com/gpu"), 'limits["nvidia.com/gpu"]'),
        ((0, "a"), "[0].a"),
    ],
)
def test_path_text(path: tuple[str | int, ...], want: str) -> None:
    assert path_text(path) == want


@pytest.mark.parametrize(
    ("members", "missing", "hint"),
    [
        ("contaners: []", "containers", "found contaners: did you mean containers?"),
        ("apiversion: v1", "apiVersion", "found apiversion: did you mean apiVersion?"),
        ("nmae: a", "name", "found nmae: did you mean name?"),
        ("initContainers: []", "containers", ""),
        ("namespace: a", "name", ""),
        ("{names: a, name: null}", "name", ""),
    ],
)
def test_a_misspelt_key_is_suggested_for_a_missing_one(members: str, missing: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        cursor(members).required(missing)
    assert (caught.value.message, caught.value.hint) == (f"{missing} is missing", hint)


def test_a_place_is_looked_up_without_visiting_its_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a list of thousands of pods, the place of each one is looked up."""
    second = cursor("items: [{a: 1}, {a: 2}]").required("items").items()[1]

    def refuse(_: Cursor) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(Cursor, "items", refuse)
    monkeypatch.setattr(Cursor, "members", refuse)
    assert Cursor.at(second.origin) == second
