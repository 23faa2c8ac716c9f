"""Answers drawn from their schemas, in every output form: anything that a schema allows can be shown."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

from cpuctl.cli.checkpoint.options import MetricsOutput
from cpuctl.cli.output import ListOutput, Output, Style, emit
from cpuctl.cli.render import as_jsonl
from cpuctl.schemas import schema_names, schema_text
from tests.fuzz.target import Target

_DEEPEST = 12
_TEXTS = ("", "a", "Started", "web-0", "1-3", "two words", "[bold]x[/bold]", "\x1b[2J\u202e", "\n", "0" * 80)
_SETS = ("", "0", "1-3", "0-3,8,10-11")
_PATTERNED = (*_SETS, "1.36", "1.36.2", "none", "cpu", "memory", "hugepages-2Mi", "--a-b=", "a-b/c.d", "Abc",
              "10s", "2Gi", "v1.36.2", "ab" * 32, "PodList", "ab" * 6, "/", "1h0m")  # fmt: skip


class _Drawing:
    """One document, determined by the fuzzer's bytes."""

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
                return self._one_of(schema, either)
        return self._of_type(schema)

    def _one_of(self, schema: dict[str, Any], either: str) -> Any:
        """Draw a value that follows one of several schemas, and their common part."""
        rest = {name: value for name, value in schema.items() if name != either}
        chosen = self._random.choice(schema[either])
        if "properties" not in rest:
            return self.draw(chosen)
        needed = chosen.get("required", ())
        others = {name for each in schema[either] for name in each.get("required", ())} - {*needed}
        members = {name: each for name, each in rest["properties"].items() if name not in others}
        members |= chosen.get("properties", {})
        return self.draw({**rest, "properties": members, "required": [*rest.get("required", ()), *needed]})

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
        if "enum" in schema:
            return str(self._random.choice(schema["enum"]))
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
                found[self.draw(schema.get("propertyNames", {"type": "string"}))] = self.draw(others)
        for rule in self._rules(schema):
            if Draft202012Validator(rule["if"]).is_valid(found):
                self._add(found, schema, rule["then"])
        for name, others in schema.get("dependentRequired", {}).items():
            if name in found:
                self._add(found, schema, {"required": others})
        self._deep -= 1
        return found

    def _add(self, found: dict[str, Any], schema: dict[str, Any], then: dict[str, Any]) -> None:
        for name in then.get("required", ()):
            if name not in found:
                found[name] = self.draw(schema["properties"][name])
        for name, narrower in then.get("properties", {}).items():
            found[name] = self.draw({**schema["properties"][name], **narrower})

    def _rules(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the additional members that the present ones require."""
        for part in schema.get("allOf", ()):
            if "$ref" in part:
                yield from self._rules(self._referred(part["$ref"]))
            else:
                yield part

    def _array(self, schema: dict[str, Any]) -> list[Any]:
        least = schema.get("minItems", 0)
        more = self._random.randrange(3) if self._deep < _DEEPEST else 0
        most = schema.get("maxItems", least + more)
        return [self.draw(schema.get("items", {})) for _ in range(min(least + more, most))]


@cache
def _schema(name: str) -> tuple[dict[str, Any], Draft202012Validator]:
    schema = json.loads(schema_text(name))
    return schema, Draft202012Validator(schema)


def _shown(name: str, shown: str, data: bytes) -> None:
    layout, view = shown.split(".")
    schema, validator = _schema(name)
    document = _Drawing(schema, data).draw(schema)
    assert validator.is_valid(document), "the drawn document is invalid"
    if shown in ONLY_WITH and ONLY_WITH[shown] not in document:
        return
    forms: list[Output | ListOutput | MetricsOutput] = [*Output]
    forms += [MetricsOutput.PROM] if "metrics" in document else []
    forms += [ListOutput.JSONL] if document.get("kind") in as_jsonl.ITEMS else []
    if shown in PART_OF:
        forms, document = [Output.TABLE, Output.WIDE], next(iter(document.get(PART_OF[shown], ())), None)
    styles = [Style(form, layout=layout, view=view) for form in forms] if document is not None else []
    for style in styles:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            emit(document, style)
        if style.for_people:
            assert "\x1b" not in text.getvalue(), "a control character reaches the terminal"


def _seeds(many: int) -> Iterable[bytes]:
    return [b"%d" % number for number in range(many)]


FOR_OTHERS = frozenset(
    {"cgroupsplan", "devices", "nrievent", "nriplan", "nrireplay", "podresources", "timeline", "watchevent"}
)
"""Schemas of what is never laid out for people: inputs, and plans for ``cgroups apply`` and runtimes."""

LAYOUTS = {
    "advice": ("advice.blocks", "advice.snippet_blocks"),
    "configcheck": ("config_check.blocks",),
    "configreserve": ("config_reserve.blocks", "config_reserve.snippet_blocks"),
    "configshow": ("config_show.blocks",),
    "configversions": ("config_versions.blocks",),
    "podsdiff": ("pods_diff.blocks",),
    "podsshow": ("pods_show.blocks",),
    "policydescription": ("policies.description_blocks",),
    "replay": ("replay.blocks", "replay.end_blocks"),
    "topology": tuple(f"topology.{view}blocks" for view in ("", "map_", "distances_", "synthetic_")),
}
"""The layouts of answers whose kind does not name the only one, and the functions in them."""

ONLY_WITH = {"config_reserve.snippet_blocks": "proposal"}
"""What must be in an answer that is laid out so."""

PART_OF = {"advice.snippet_blocks": "proposals"}
"""What is laid out so is one of these parts of an answer, for people alone."""

ANSWERS = {
    f"answer-{layout}": Target(run=partial(_shown, name, layout), seeds=partial(_seeds, 60))
    for name in schema_names()
    if name not in FOR_OTHERS
    for layout in LAYOUTS.get(name, (f"{name}.blocks",))
}
