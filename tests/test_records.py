"""Records: fields, equality, immutability, copies."""

from __future__ import annotations

import copy
import pickle
from functools import cached_property
from typing import Generic, TypeVar

import pytest

from cpuctl.records import Record, replace

T = TypeVar("T")


class Point(Record):
    x: int
    y: int = 0

    @cached_property
    def sum(self) -> int:
        return self.x + self.y


class Other(Record):
    x: int
    y: int = 0


class Named(Point, Generic[T]):
    name: T | None = None


def test_fields_are_annotations_in_order_of_inheritance() -> None:
    assert Named._fields == ("x", "y", "name")
    assert repr(Named[str](1, name="a")) == "Named(x=1, y=0, name='a')"
    match Named(1, 2, "b"):
        case Named(x, y, name):
            assert (x, y, name) == (1, 2, "b")


def test_records_of_different_types_are_not_equal() -> None:
    assert Point(1) == Point(x=1, y=0)
    assert len({Point(1), Point(y=0, x=1), Point(1, 2)}) == 2
    assert Point(1) != Other(1)
    assert Point(1) != Named(1)
    assert Point(1) != (1, 0)


def test_cached_properties_are_not_content() -> None:
    point = Point(1, 2)
    assert (point.sum, point, hash(point), repr(point)) == (
        3,
        Point(1, 2),
        hash(Point(1, 2)),
        "Point(x=1, y=2)",
    )
    assert replace(point, y=3).sum == 4


def test_fields_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="nobody changes the x of a Point"):
        Point(1).x = 2  # type: ignore[misc]


@pytest.mark.parametrize("given", [((), {}), ((1, 2, 3), {}), ((1,), {"z": 3}), ((), {"y": 1, "z": 3})])
def test_missing_and_unknown_fields_raise_type_error(
    given: tuple[tuple[int, ...], dict[str, int]],
) -> None:
    with pytest.raises(TypeError, match="Point is made of x, y"):
        Point(*given[0], **given[1])


def test_copies_and_unpickled_records_are_equal() -> None:
    named = Named(1, 2, "c")
    assert copy.copy(named) == copy.deepcopy(named) == pickle.loads(pickle.dumps(named)) == named  # noqa: S301  # our own
