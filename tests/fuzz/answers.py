"""Answers drawn from their schemas, in every form: whatever a schema allows can be shown."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

from cpuctl.cli.output import MetricsOutput, Output, Style, emit
from cpuctl.cli.render import layouts
from cpuctl.schemas import schema_names, schema_text
from tests.fuzz.target import Target

_DEEPEST = 12
_TEXTS = ("", "a", "Started", "web-0", "1-3", "two words", "[bold]x[/bold]", "\x1b[2J\u202e", "\n", "0" * 80)
_SETS = ("", "0", "1-3", "0-3,8,10-11")
_PATTERNED = (*_SETS, "1.36", "1.36.2", "none", "cpu", "memory", "hugepages-2Mi", "--a-b=", "a-b/c.d", "Abc",
              "10s", "2Gi", "v1.36.2", "ab" * 32, "PodList", "/", "1h0m")  # fmt: skip


class _Drawing:
    """One document, decided by the bytes that a fuzzer gives."""

    def __init__(self, schema: dict[str, Any], data: bytes) -> None:
        self._root = schema
        self._random = Random(data)  # noqa: S311  # no secret
        self._deep = 0

    def draw(self, schema: Any) -> Any:
        if schema is True or not schema:
            return self._random.choice((None, 1, "x", [], {}))
        if "$ref" in schema:
            return self.draw(self._referred(schema["$ref"]))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        for either in ("oneOf", "anyOf"):
            if either in schema:
                rest = {name: value for name, value in schema.items() if name != either}
                drawn = self.draw(self._random.choice(schema[either]))
                more = self.draw(rest) if "properties" in rest else None
                return {**more, **drawn} if isinstance(more, dict) and isinstance(drawn, dict) else drawn
        return self._of_type(schema)

    def _referred(self, name: str) -> Any:
        found = self._root
        for part in name.removeprefix("#/").split("/"):
            found = found[part]
        return found

    def _of_type(self, schema: dict[str, Any]) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "integer" | "number":
                low = schema.get("minimum", -1)
                return min(self._random.choice((low, low + 1, 7, 1 << 40)), schema.get("maximum", 1 << 62))
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
            case _:
                return self._text(schema)

    def _text(self, schema: dict[str, Any]) -> str:
        pattern = schema.get("pattern")
        fitting = [each for each in _PATTERNED if pattern and re.search(pattern, each)]
        return self._random.choice(fitting or _TEXTS)

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        self._deep += 1
        needed = set(schema.get("required", ()))
        often = 0.5 if self._deep < _DEEPEST else 0
        found = {
            name: self.draw(each)
            for name, each in schema.get("properties", {}).items()
            if name in needed or self._random.random() < often
        }
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and self._deep < _DEEPEST:
            for _ in range(self._random.randrange(3)):
                found[self._text(schema.get("propertyNames", {}))] = self.draw(others)
        self._deep -= 1
        return found

    def _array(self, schema: dict[str, Any]) -> list[Any]:
        least = schema.get("minItems", 0)
        more = self._random.randrange(3) if self._deep < _DEEPEST else 0
        most = schema.get("maxItems", least + more)
        return [self.draw(schema.get("items", {})) for _ in range(min(least + more, most))]


@cache
def _schema(name: str) -> tuple[dict[str, Any], Draft202012Validator]:
    schema = json.loads(schema_text(name))
    return schema, Draft202012Validator(schema)


def _shown(name: str, data: bytes) -> None:
    schema, validator = _schema(name)
    document = _Drawing(schema, data).draw(schema)
    if not validator.is_valid(document):
        return
    styles = [Style(form) for form in (Output.TABLE, Output.WIDE, Output.JSON, Output.YAML)]
    styles += [Style(MetricsOutput.PROM)] if "metrics" in document else []
    for style in styles:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            emit(document, style)
        if style.for_people:
            assert "\x1b" not in text.getvalue(), "a control character reaches the terminal"


def _seeds(many: int) -> Iterable[bytes]:
    return [b"%d" % number for number in range(many)]


LOOSE = frozenset(
    {
        "capture",
        "checkpointversions",
        "explanation",
        "plan",
        "plancomparison",
        "resize",
        "topology",
    }
)
"""Schemas that allow more than any answer is: which members go with which outcome they do not say yet."""
_LAYOUTS = Path(layouts.__file__).parent


def _kind(name: str) -> str:
    properties = json.loads(schema_text(name)).get("properties", {})
    return str(properties.get("kind", {}).get("const", "")).lower() or "-"


ANSWERS = {
    f"answer-{name}": Target(run=partial(_shown, name), seeds=partial(_seeds, 60))
    for name in schema_names()
    if name not in LOOSE and (_LAYOUTS / f"{_kind(name)}.py").is_file()
}
