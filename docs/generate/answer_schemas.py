"""The published schemas of answers, from the types in ``cpuctl/answers``."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import cpuctl.answers
from cpuctl.answers.values import Bounds, Items, Pattern, Requires, Together

Json = dict[str, Any]
Hint = Any
"""The type of a member: a class, a union, literals, all of them with annotations."""

_PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_WIDTH = 110


def answer_schemas() -> Mapping[str, str]:
    """Write the schema of every answer, by the name that ``cpuctl schema`` uses."""
    return {name: _text(_Schema(name).of_answer(answer)) for name, answer in sorted(_answers().items())}


@cache
def _modules() -> tuple[ModuleType, ...]:
    folder = Path(cpuctl.answers.__file__).parent
    return tuple(
        import_module(f"cpuctl.answers.{path.stem}")
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__"
    )


def _answers() -> Mapping[str, Any]:
    """Find the answers: a class, or a union of classes, with a ``kind``; a union hides its classes."""
    found: dict[str, Any] = {}
    for module in _modules():
        for name, value in vars(module).items():
            kinds = {kind for each in _classes(value) for kind in _kinds(each)}
            if kinds == {name}:
                found[name.lower()] = value
    return found


def _classes(value: Hint) -> Iterator[Any]:
    """Yield the typed dictionaries that a value of this type can be."""
    if get_origin(value) is Annotated:
        value = get_args(value)[0]
    for each in get_args(value) if _is_union(value) else (value,):
        if is_typeddict(each):
            yield each


def _kinds(answer: Hint) -> tuple[Any, ...]:
    return get_args(_hints(answer).get("kind"))


def _is_union(value: Hint) -> bool:
    return get_origin(value) in (Union, UnionType)


@cache
def _hints(cls: Hint) -> Mapping[str, Any]:
    return get_type_hints(cls, include_extras=True)


@cache
def _aliases() -> list[tuple[Any, str, str]]:
    """List the named types of a module, except lists of literals."""
    named = []
    for module in _modules():
        for name, value in vars(module).items():
            if get_origin(value) is Annotated or _is_union(value):
                named.append((value, name, module.__name__))
    return named


class _Schema:
    """A schema that is being written, with the definitions that it refers to."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._definitions: Json = {}
        self._of: dict[str, Any] = {}

    def of_answer(self, answer: Hint) -> Json:
        kind = next(kind for each in _classes(answer) for kind in _kinds(each))
        head = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"cpuctl/v1alpha1/{self._name}",
            "title": kind,
        }
        body = self._object(answer) if is_typeddict(answer) else self._annotated(answer)
        return {**head, **body, **({"$defs": self._definitions} if self._definitions else {})}

    def _of_type(self, kind: Hint) -> Json:
        if is_typeddict(kind):
            return self._reference(kind.__name__, kind.__module__, kind)
        for value, name, module in _aliases():
            if value == kind:
                return self._reference(name, module, kind)
        return self._unnamed(kind)

    def _reference(self, called: str, module: str, kind: Hint) -> Json:
        name = _camel(called)
        if self._of.get(name, kind) != kind:
            # An answer that consists of others has types from several modules.
            name = f"{module.rpartition('.')[2]}{called}"
        if name not in self._of:
            self._of[name] = kind
            self._definitions[name] = {}  # it is added at its first reference, and may refer to itself
            self._definitions[name] = self._object(kind) if is_typeddict(kind) else self._unnamed(kind)
        if self._of[name] != kind:
            raise ValueError(f"{self._name}: two types are named {name}")
        return {"$ref": f"#/$defs/{name}"}

    def _unnamed(self, kind: Hint) -> Json:
        origin, arguments = get_origin(kind), get_args(kind)
        if kind in _PRIMITIVES:
            return {"type": _PRIMITIVES[kind]}
        if kind in (Any, object):
            return {}
        if origin is Annotated:
            return self._annotated(kind)
        if origin is Literal:
            return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
        if _is_union(kind):
            return self._union(arguments)
        if origin is list:
            return {"type": "array", "items": self._of_type(arguments[0])}
        if origin is dict:
            return self._mapping(*arguments)
        raise TypeError(f"{self._name}: no schema says what {kind} is")

    def _annotated(self, kind: Hint) -> Json:
        bare, *notes = get_args(kind)
        schema = self._of_type(bare)
        for note in notes:
            schema |= _constraint(note)
        return schema

    def _union(self, kinds: tuple[Any, ...]) -> Json:
        """Combine the alternatives: literals and simple types in one line, the rest as a list."""
        parts = [self._of_type(kind) for kind in sorted(kinds, key=lambda kind: kind is not NoneType)]
        null, rest = {"type": "null"}, [part for part in parts if part != {"type": "null"}]
        if null in parts and len(rest) == 1:
            only = rest[0]
            if "const" in only or "enum" in only:
                return {"enum": [*only.get("enum", [only.get("const")]), None]}
            if isinstance(only.get("type"), str):
                return {**only, "type": [only["type"], "null"]}
        if all(part.keys() == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"oneOf": parts}

    def _mapping(self, key: Hint, value: Hint) -> Json:
        names = self._of_type(key)
        constraint = {} if names == {"type": "string"} else {"propertyNames": names}
        return {"type": "object", **constraint, "additionalProperties": self._of_type(value)}

    def _object(self, cls: Hint) -> Json:
        members, needed, kinds = {}, [], {}
        descriptions = _member_descriptions(cls)
        for name, hint in _hints(cls).items():
            marked = get_origin(hint) is NotRequired
            optional = marked or name in cls.__optional_keys__
            kind = get_args(hint)[0] if marked else hint
            described = {"description": descriptions[name]} if name in descriptions else {}
            members[name] = self._of_type(kind) | described
            needed += [] if optional else [name]
            kinds[name] = kind
        return {
            **_described(cls.__doc__),
            "type": "object",
            "additionalProperties": False,
            "required": needed,
            "properties": members,
            **_rules(kinds),
        }


def _constraint(note: Hint) -> Json:
    match note:
        case str():
            return {"description": note}
        case Pattern(regex=regex):
            return {"pattern": regex}
        case Bounds(least=least, greatest=None):
            return {"minimum": least}
        case Bounds(least=least, greatest=greatest):
            return {"minimum": least, "maximum": greatest}
        case Items(fewest=fewest, most=most):
            return {"minItems": fewest, "maxItems": most}
        case Requires() | Together():
            return {}  # applies to the whole object
    raise TypeError(f"no schema can say {note!r}")


def _rules(members: Mapping[str, Hint]) -> Json:
    """Describe which members depend on other members or their values."""
    rules, together = [], {}
    for name, kind in members.items():
        for note in get_args(kind)[1:] if get_origin(kind) is Annotated else ():
            match note:
                case Requires(members=by_value):
                    rules += [
                        {"if": {"properties": {name: {"const": value}}}, "then": {"required": list(needed)}}
                        for value, needed in by_value
                    ]
                case Together(others=others):
                    together[name] = list(others)
    return ({"allOf": rules} if rules else {}) | ({"dependentRequired": together} if together else {})


def _described(text: str | None) -> Json:
    return {"description": " ".join(text.split())} if text else {}


@cache
def _member_descriptions(cls: Hint) -> Mapping[str, str]:
    """Read the strings below members, including those of base classes."""
    try:
        tree = ast.parse(inspect.getsource(cls)).body[0]
    except OSError:
        return {}  # made by a call, because some member names are Python keywords
    if not isinstance(tree, ast.ClassDef):
        return {}
    descriptions: dict[str, str] = {}
    for base in tree.bases:
        found = getattr(sys.modules[cls.__module__], base.id, None) if isinstance(base, ast.Name) else None
        descriptions |= _member_descriptions(found) if is_typeddict(found) else {}
    for member, below in zip(tree.body, tree.body[1:], strict=False):
        match member, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                descriptions[name] = " ".join(text.split())
    return descriptions


def _camel(name: str) -> str:
    """Write ``CPUList`` as ``cpuList``, ``NodeShare`` as ``nodeShare``."""
    capitals = len(name) - len(name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    first = capitals if capitals == len(name) else max(capitals - 1, 1)
    return name[:first].lower() + name[first:]


def _text(schema: Json) -> str:
    return _lines(schema, 0, 0) + "\n"


def _lines(value: Json | list[Any] | str | float | None, indent: int, used: int) -> str:
    """Write JSON with as much in one line as fits."""
    flat = json.dumps(value, ensure_ascii=False)
    if (indent + used + len(flat) < _WIDTH and indent) or not isinstance(value, dict | list) or not value:
        return flat
    deeper = indent + 2
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_lines(each, deeper, len(key) + 4)}" for key, each in value.items()]
        opened, closed = "{}"
    else:
        entries = [_lines(each, deeper, 0) for each in value]
        opened, closed = "[]"
    blanks = " " * deeper
    return f"{opened}\n" + ",\n".join(blanks + entry for entry in entries) + f"\n{' ' * indent}{closed}"
