"""The shape of an object: values of a wrong type, and fields that do not exist.

The shape is defined by the published schema of pod resources. Its rules for amounts, names and enumerated
values are checked elsewhere, with the messages of the component that refuses them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from cpuctl.documents.text_errors import describe
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.raw import CONTAINER_LISTS, items_of, mapping_of, member_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

QUANTITY = "quantity"
"""The title of the part of the schema that describes amounts."""
_LONGEST_FIELD = 40
_WATCHED_IN_SPEC = (*CONTAINER_LISTS, "resources", "overhead", "resourceClaims", "runtimeClassName")
_WATCHED_IN_OBJECT = ("metadata", "spec")
_OBJECT = ("apiVersion", "kind", *_WATCHED_IN_OBJECT, "status")
_WATCHED_IN_CONTAINER = ("name", "resources", "resizePolicy", "restartPolicy")
_OF_RESOURCES = ("limits", "requests")
"""Fields that, with a wrong indentation, stand beside ``resources``."""
_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
}


@dataclass(slots=True)
class PodSchema:
    """A validator by the schema of pod resources, prepared once per kind of object."""

    schema: Mapping[str, Any] = field(repr=False)
    _validators: dict[str, Validator] = field(default_factory=dict, repr=False)

    def check(
        self, kind: str, value: object, place: FieldPath, spec_steps: Sequence[str]
    ) -> Iterator[Finding]:
        """Check one whole object."""
        for error in self._validator(kind).iter_errors(cast("Any", value)):
            yield from _explained(error, place)
        spec, field_path = value, place.child(*spec_steps)
        for step in spec_steps:
            spec = member_of(spec, step)
        yield from _misspelt(value, place, _OBJECT, _WATCHED_IN_OBJECT)
        yield from self._misspelt(spec, field_path, "podSpec", _WATCHED_IN_SPEC)
        for name in CONTAINER_LISTS:
            for number, container in enumerate(items_of(member_of(spec, name))):
                where = field_path.child(name).item(number)
                yield from self._misspelt(container, where, "container", _WATCHED_IN_CONTAINER)

    def _validator(self, kind: str) -> Validator:
        if kind not in self._validators:
            from jsonschema import Draft202012Validator

            conditions = (each for each in self.schema["allOf"] if _is_about(each, kind))
            inlined = _inlined(next(conditions)["then"], self.schema["$defs"])
            self._validators[kind] = Draft202012Validator(inlined)
        return self._validators[kind]

    def _misspelt(
        self, value: object, field_path: FieldPath, part: str, watched: Sequence[str]
    ) -> Iterator[Finding]:
        return _misspelt(value, field_path, self.schema["$defs"][part]["properties"], watched)


def _misspelt(
    value: object, field_path: FieldPath, known: Container[str], watched: Sequence[str]
) -> Iterator[Finding]:
    """Report unknown fields whose names resemble a required field, or are about resources."""
    for name in mapping_of(value):
        if name in known:
            continue
        if name in _OF_RESOURCES and "resources" in watched:
            yield _unknown(field_path, name, f"resources.{name}")
        elif meant := _nearest(name, watched):
            yield _unknown(field_path, name, meant)


def _is_about(condition: Mapping[str, Any], kind: str) -> bool:
    kinds = condition["if"]["properties"]["kind"]
    return kind in kinds.get("enum", [kinds.get("const")])


def _inlined(part: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a schema is any JSON
    """Inline definitions at their references: resolving references takes as long as validation itself."""
    if isinstance(part, list):
        return [_inlined(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    inlined = {key: _inlined(value, definitions) for key, value in part.items() if key != "$ref"}
    if "$ref" in part:
        inlined = _inlined(definitions[part["$ref"].rpartition("/")[2]], definitions) | inlined
    return inlined


def _explained(error: Any, place: FieldPath) -> Iterator[Finding]:  # noqa: ANN401  # jsonschema is imported on use
    field_path = place
    for step in error.absolute_path:
        field_path = field_path.item(step) if isinstance(step, int) else field_path.child(step)
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        for name in error.instance:
            if name not in known:
                yield _unknown(field_path, name, _nearest(name, tuple(known)))
    elif error.validator == "enum" and isinstance(error.instance, str):
        words = [word for word in error.schema["enum"] if word is not None]
        yield field_path.unsupported("unsupported-value", error.instance, words)
    elif error.validator == "type" and error.schema.get("title") != QUANTITY:
        wanted = " or ".join(_WORDS[word] for word in _types(error.schema) if word != "null")
        yield field_path.rejected("wrong-type", f"expected {wanted}, found {describe(error.instance)}")


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    types = schema["type"]
    return [types] if isinstance(types, str) else types


def _unknown(field_path: FieldPath, name: str, meant: str) -> Finding:
    fix = misspelling_of(meant) if meant else ""
    field_name = field_path.child(name).field
    detail = f'strict decoding error: unknown field "{field_name}"'
    return FieldPath((*field_path.path, name), "").rejected("unknown-field", detail, fix=fix)


def misspelling_of(name: str) -> str:
    """Return the fix for a field whose name resembles *name*."""
    return f"did you mean {name}?"


def _nearest(name: str, known: Sequence[str]) -> str:
    from cpuctl.spelling import nearest

    return nearest(name, known, 0.75) if len(name) <= _LONGEST_FIELD else ""
