"""A check that only returns yes or no, compared with the schema from which it is made."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.schemas import schema_text
from cpuctl.schemas.quick_check import MOST, quick_check
from tests.support.running_node import Running, counting_node, moments_of
from tests.support.schemas import schema_validator

TOP = json.loads(schema_text("top"))
CHECK = quick_check(TOP)


@pytest.fixture(scope="module")
def moment(tmp_path_factory: pytest.TempPathFactory) -> Any:
    running = Running(tmp_path_factory.mktemp("node"), counting_node())
    document = moments_of(running, 1)[0]
    document["containers"][0]["foreign"] = [
        {"tid": 1, "pid": 1, "comm": "a", "cgroup": "/b", "cpu": 0, "kernel": False, "used": 0.5}
    ]
    return document


def places(value: Any) -> list[tuple[Any, Any]]:
    """List all members and items below a value, each as its container and its name or index."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        names = list(value) if isinstance(value, dict) else range(len(value))
        pairs = [(value, name) for name in names]
        pairs += [below for name in names for below in places(value[name])]
    return pairs


ODD: tuple[Any, ...] = (
    *(None, True, "", "x", "0-3", "0-3\n", "exclusive", [], [None], {}, {"x": 1}),
    *(0, 1, -1, 0.5, -0.5, float("nan"), float("inf"), MOST + 1, 10**400),
)


def harmless(value: Any) -> bool:
    """Return whether code can process every number in a value."""
    if isinstance(value, dict | list):
        return all(map(harmless, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int | float) or abs(value) <= MOST


@given(data=st.data())
def test_it_accepts_what_the_schema_accepts_except_too_large_numbers(
    moment: Any, data: st.DataObject
) -> None:
    document = copy.deepcopy(moment)
    assert CHECK(document)
    for _ in range(data.draw(st.integers(1, 2))):
        holder, name = data.draw(st.sampled_from(places(document)))
        match data.draw(st.sampled_from(("change", "remove", "add"))):
            case "remove":
                del holder[name]
            case "add" if isinstance(holder, dict):
                holder[f"{name}2"] = 1
            case _:
                holder[name] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    assert CHECK(document) == (schema_validator("top").is_valid(document) and harmless(document))


@pytest.mark.parametrize("value", [1.0, True, "1", None, float("nan"), MOST + 1, -1])
def test_only_integers_are_accepted_as_integers(value: object) -> None:
    check = quick_check({"$defs": {}, "type": "integer", "minimum": 0})
    assert check(7)
    assert not check(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string"}]},
        {
            "type": "object",
            "required": [],
            "properties": {"a": {"type": "null"}},
            "additionalProperties": False,
        },
        {"type": "string", "maxLength": 3},
        {"oneOf": [{"type": "null"}, {"type": ["string", "null"]}]},
        {"type": ["string", "integer"]},
    ],
)
def test_a_schema_with_unknown_keywords_is_rejected(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not known"):
        quick_check({"$defs": {}, **schema})
