"""Answers and inputs validated against their published schemas, each of which is compiled once."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from cpuctl.schemas import schema_text


def follow_schema(document: Any, name: str = "") -> None:
    """Raise the most specific error if *document* does not follow a schema, by default its kind's."""
    error = best_match(schema_validator(name or document["kind"].lower()).iter_errors(document))
    if error is not None:
        raise error


@cache
def schema_validator(name: str) -> Draft202012Validator:
    """Compile a schema; ``tests/cli/test_schemas.py`` checks that each is valid."""
    return Draft202012Validator(json.loads(schema_text(name)))
