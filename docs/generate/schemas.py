"""The page about the schemas of output and input files, as tables of their fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.schemas import schema_names, schema_text
from docs.generate.common import NOTICE

Schema = Mapping[str, Any]

_INTRODUCTION = """# Schemas

The output of `-o json` and `-o yaml`, and cpuctl's own input files. `cpuctl schema NAME` prints a schema.
Field names are stable and never translated; `?` marks optional fields. A type in *italics* is described in
the table of that name."""


def schema_page(made: Mapping[str, str]) -> str:
    """Write one section for each schema: the generated ones (*made*), and those written by hand."""
    names = sorted({*schema_names(), *made})
    links = " · ".join(f"[{name}](#{name})" for name in names)
    sections = [_section(name, json.loads(made.get(name) or schema_text(name))) for name in names]
    return "\n\n".join([f"<!-- {NOTICE} -->", _INTRODUCTION, links, *sections]) + "\n"


def _section(name: str, schema: Schema) -> str:
    parts = [
        f"## {name}",
        f"**{schema['title']}**. {schema.get('description', '')}".rstrip(),
        *_table(schema),
    ]
    for key, part in schema.get("$defs", {}).items():
        rows = list(_table(part))
        shown = _cell(part.get("description", ""))
        shown = shown if rows and shown else f"{_type(part)}{f': {shown}' if shown else ''}"
        parts += [f"*{key}*: {shown}", *rows]
    return "\n\n".join(parts)


def _table(schema: Schema) -> Iterator[str]:
    rows = list(_rows(schema, ""))
    if rows:
        lines = ["| Field | Type | Meaning |", "|---|---|---|"]
        yield "\n".join(
            [*lines, *(f"| `{path}` | {_cell(kind)} | {_cell(text)} |" for path, kind, text in rows)]
        )


def _rows(schema: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    needed = set(schema.get("required", ()))
    for name, member in schema.get("properties", {}).items():
        if isinstance(member, bool):
            continue  # a field that excludes others
        place = f"{path}.{name}" if path else name
        yield place + ("" if name in needed else "?"), _type(member), member.get("description", "")
        yield from _below(member, place)


def _below(member: Schema, place: str) -> Iterator[tuple[str, str, str]]:
    yield from _rows(member, place)
    for key, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(member.get(key), dict):
            yield from _below(member[key], place + suffix)


def _type(schema: Schema) -> str:
    for key in ("$ref", "const", "enum", "anyOf", "oneOf"):
        if key in schema:
            return _named(key, schema[key])
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(_one_type(kind, schema) for kind in kinds)


def _named(key: str, value: Any) -> str:  # noqa: ANN401  # JSON
    if key == "$ref":
        return f"*{value.rpartition('/')[2]}*"
    if key == "const":
        return f"`{json.dumps(value)}`"
    if key == "enum":
        return " or ".join(f"`{json.dumps(each)}`" for each in value)
    return " or ".join(dict.fromkeys(_type(each) for each in value))


def _one_type(kind: str, schema: Schema) -> str:
    if kind == "array":
        items = schema.get("items")
        return f"array of {_type(items)}" if isinstance(items, dict) else "array"
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict):
        return f"object of {_type(values)} by name"
    return str(kind)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
