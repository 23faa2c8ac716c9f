"""Copies and equality of the parts of a node."""

from __future__ import annotations

from functools import cached_property

import pytest

from cpuctl.engine.changeable import ByContent, Changeable, Copied
from cpuctl.engine.outcome import Admitted


class Inner(Copied):
    def __init__(self, *seen: int) -> None:
        self.seen = set(seen)


class Counter(Changeable):
    def __init__(self, start: int = 0) -> None:
        self.count = start
        self.by_name: dict[str, int] = {}
        self.inner = Inner(start)

    @cached_property
    def double(self) -> int:
        return 2 * self.count


class Derived(Counter):
    pass


def test_copies_are_independent() -> None:
    first = Counter(3)
    second = first.copy()
    second.by_name["a"] = 1
    second.inner.seen.add(4)
    second.count += 1
    assert (first.count, first.by_name, first.inner.seen) == (3, {}, {3})
    assert (second.count, second.by_name, second.inner.seen) == (4, {"a": 1}, {3, 4})


def test_values_are_shared_by_copies() -> None:
    shared = (object(),)
    first = Inner()
    first.seen.add(1)
    first.values = shared  # type: ignore[attr-defined]
    assert first.copy().values is shared  # type: ignore[attr-defined]


def equivalent(kind: type[Counter], start: int) -> Counter:
    made = kind(start)
    made.inner = INNER
    return made


INNER = Inner()


@pytest.mark.parametrize("kind", [Counter, Derived])
def test_equality_depends_on_content_and_ignores_computed_values(kind: type[Counter]) -> None:
    first, second, other = equivalent(kind, 3), equivalent(kind, 3), equivalent(kind, 4)
    assert first.double == 6
    assert first == second
    assert first != other


def test_different_classes_are_never_equal() -> None:
    assert equivalent(Counter, 3) != equivalent(Derived, 3)
    assert equivalent(Counter, 3) != 3


def test_changeable_content_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


class Named(ByContent):
    def __init__(self) -> None:
        self.name, self.number = "a", 1

    @cached_property
    def computed(self) -> int:
        return 5


def test_content_is_shown() -> None:
    named = Named()
    assert named.computed == 5
    assert repr(named) == "Named(name='a', number=1)"
    assert repr(Admitted()) == "Admitted()"
    assert Admitted() == Admitted()
