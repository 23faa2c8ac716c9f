"""Go's types where no state file has them: what is nil."""

from __future__ import annotations

import pytest

from cpuctl.golang.state_types import Field, GoType, Integer, ListOf, MapOf, Struct, Text

FIELDS = (Field("a", "A", Text()), Field("b", "B", Text(), omit_empty=True))


@pytest.mark.parametrize(
    ("type_", "shown", "written"),
    [
        (ListOf("[]string", Text()), "<nil>", "null"),
        (MapOf("map[string]string", Text()), "<nil>", "null"),
        (Integer("int"), "0", "0"),
        (Text(), "", '""'),
        (
            Struct("S", (Field("a", "A", Text()), Field("b", "B", Text(), omit_empty=True))),
            "{A:(string) B:(string)}",
            '{"a":""}',
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_value_that_was_never_set(type_: GoType, shown: str, written: str) -> None:
    assert (type_.shown(type_.zero()), type_.written(type_.zero())) == (shown, written)
