"""Our named tuples are those of ``typing``, but for the time it takes to define them."""

from __future__ import annotations

import copy
import pickle
import sys
from functools import cached_property
from typing import NamedTuple as TypingNamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.named_tuple import NamedTuple


class Point(NamedTuple):
    """Somewhere."""

    x: int
    y: int = 2
    label: str = ""

    @property
    def swapped(self) -> Point:
        """The same with x and y changed."""
        return self._replace(x=self.y, y=self.x)

    def __str__(self) -> str:
        return f"{self.label}({self.x}, {self.y})"


class TypingPoint(TypingNamedTuple):
    """Somewhere, as typing defines it."""

    x: int
    y: int = 2
    label: str = ""


class Path(NamedTuple):
    """Fields whose classes are their own to derive from."""

    points: tuple[Point, ...]


class MeasuredPath(Path):
    """A derived class has a place for what is computed once."""

    @cached_property
    def length(self) -> int:
        """How many points."""
        return len(self.points)


VALUES = st.lists(st.integers(), max_size=5)
NAMED = st.dictionaries(st.sampled_from(["x", "y", "label", "z"]), st.integers())


@given(VALUES, NAMED)
def test_takes_and_refuses_what_typing_takes_and_refuses(values: list[int], named: dict[str, int]) -> None:
    expected: object
    made: object
    try:
        expected = TypingPoint(*values, **named)  # type: ignore[arg-type]
    except TypeError:
        expected = TypeError
    try:
        made = Point(*values, **named)  # type: ignore[arg-type]
    except TypeError:
        made = TypeError
    assert made == expected


@given(st.integers(), st.integers(), st.text())
def test_behaves_as_that_of_typing(x: int, y: int, label: str) -> None:
    mine, other = Point(x, y, label), TypingPoint(x, y, label)
    assert (mine.x, mine.y, mine.label) == (x, y, label)
    assert repr(mine) == repr(other).removeprefix("Typing")
    assert hash(mine) == hash(other)
    assert mine._asdict() == other._asdict()
    assert tuple(mine._replace(y=0)) == tuple(other._replace(y=0))
    assert Point._make((x, y, label)) == mine
    assert mine.swapped == (y, x, label)
    assert str(mine) == f"{label}({x}, {y})"
    assert (mine < Point(x, y + 1)) == (other < TypingPoint(x, y + 1))


def test_tells_of_its_fields_as_that_of_typing() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__"):
        assert getattr(Point, name) == getattr(TypingPoint, name)
    assert Point.x.__doc__ == TypingPoint.x.__doc__


@pytest.mark.parametrize("value", [Point(1), MeasuredPath((Point(1), Point(2)))])
def test_is_copied_and_pickled_as_itself(value: Point | MeasuredPath) -> None:
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301
        assert again == value
        assert type(again) is type(value)


def test_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Point(1).other = 2  # type: ignore[attr-defined]


def test_a_derived_class_computes_once() -> None:
    path = MeasuredPath((Point(1), Point(2)))
    assert path.length == 2
    assert vars(path) == {"length": 2}


def test_matches_patterns() -> None:
    match Point(1, 2, "here"):
        case Point(x, y, label="here"):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("a point is no point")


def test_parts_are_neither_added_nor_left_out() -> None:
    for wrong in ((1,), (1, 2, "", 4)):
        with pytest.raises(ValueError, match="zip"):
            Point._make(wrong)
    with pytest.raises(TypeError, match=r"^Point has the fields x, y, label, not \(z=\.\.\.\)$"):
        Point(1)._replace(z=2)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "()"),
        ((1, 2, 3, 4), {}, "(..., ..., ..., ...)"),
        ((1,), {"x": 2}, "(..., x=...)"),
        ((), {"y": 2, "z": 3}, "(y=..., z=...)"),
        ((), {"x": 2, "z": 3}, "(x=..., z=...)"),
    ],
)
def test_says_what_does_not_fit(values: tuple[int, ...], named: dict[str, int], words: str) -> None:
    with pytest.raises(TypeError) as raised:
        Point(*values, **named)  # type: ignore[arg-type]
    assert str(raised.value) == f"Point has the fields x, y, label, not {words}"


def test_definition_compiles_nothing() -> None:
    compiled = []
    define = compile("class Later(NamedTuple):\n    x: 'int'\n    y: 'int | None' = None\n", "here", "exec")
    watching = [True]
    sys.addaudithook(lambda event, _: compiled.append(event) if watching[0] and event == "compile" else None)
    space = {"NamedTuple": NamedTuple, "__name__": __name__}
    exec(define, space)  # noqa: S102
    assert not compiled
    exec(define, space | {"NamedTuple": TypingNamedTuple})  # noqa: S102
    watching[0] = False
    assert compiled
