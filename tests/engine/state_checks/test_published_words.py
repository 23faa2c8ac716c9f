"""Words that answers are made of: schemas promise them to scripts, in the order in which they are listed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import pytest

from cpuctl.engine.state_checks.memory_drift import Cause, DriftKind
from cpuctl.engine.state_checks.owners import Standing
from cpuctl.engine.state_repair.actions import Did
from cpuctl.schemas import schema_text


def enums(schema: Any, member: str) -> Iterator[list[str]]:
    """Yield the words that a schema allows for a member, wherever it has one of that name."""
    for name, value in schema.items() if isinstance(schema, dict) else ():
        if name == member and isinstance(value, dict) and "enum" in value:
            yield value["enum"]
        yield from enums(value, member)
    for value in schema if isinstance(schema, list) else ():
        yield from enums(value, member)


@pytest.mark.parametrize(
    ("schema", "member", "words"),
    [
        ("checkpointverify", "kind", DriftKind),
        ("checkpointverify", "cause", Cause),
        ("checkpointchange", "owner", Standing),
        ("checkpointchange", "did", Did),
    ],
)
def test_words_are_those_of_the_schema(schema: str, member: str, words: type[StrEnum]) -> None:
    allowed = [*enums(json.loads(schema_text(schema)), member)]
    assert allowed
    assert all(each == [str(word) for word in words] for each in allowed)
