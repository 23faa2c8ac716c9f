"""What comes of another tool's file: a kubelet configuration, flags, and what had to be assumed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cpuctl.named_tuple import NamedTuple

Fields = dict[str, Any]


class Found(NamedTuple):
    """A file of another tool, in the kubelet's terms.

    ``what`` says what the file is; ``fields`` are those of KubeletConfiguration, ``flags`` what the kubelet's
    command line gets, ``assumed`` what the tool adds that stands in no file, or what is not known, and
    ``text`` is a KubeletConfiguration that stands in the file word for word, the file *inside* this one.
    """

    what: str
    fields: Fields
    flags: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    text: str = ""
    inside: str = ""


def mapping(value: object, *path: str) -> Fields:
    """Return the mapping at a path, empty where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a list, empty where it is none."""
    return value if isinstance(value, list) else []


def flags_of(extra: object) -> tuple[str, ...]:
    """Read extra arguments: a mapping, a list of ``name`` and ``value``, or of ``name=value``."""
    if isinstance(extra, dict):
        return tuple(f"--{name}={_flag_text(value)}" for name, value in extra.items())
    found: list[str] = []
    for item in items(extra if isinstance(extra, list) else [extra] if extra else []):
        if isinstance(item, dict) and "name" in item:
            found.append(f"--{item['name']}={_flag_text(item.get('value', ''))}")
        elif isinstance(item, str):
            found.append(f"--{item.lstrip('-')}")
    return tuple(found)


def _flag_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(fields: Mapping[str, Any], own: Mapping[str, Any], tool: str) -> tuple[Fields, tuple[str, ...]]:
    """Fill in what a tool sets where the file does not, member by member; return what to say of that, too."""
    result, added = _merged(fields, own, "")
    return result, (f"{tool} adds {', '.join(added)}",) if added else ()


def _merged(fields: Mapping[str, Any], own: Mapping[str, Any], path: str) -> tuple[Fields, list[str]]:
    result, added = dict(fields), []
    for name, value in own.items():
        if isinstance(value, dict) and isinstance(fields.get(name, {}), dict):
            result[name], inner = _merged(fields.get(name, {}), value, f"{path}{name}.")
            added += inner
        elif name not in fields:
            result[name] = value
            added.append(f"{path}{name}={value_text(value)}")
    return result, added


def value_text(value: object) -> str:
    """Write a value as an assumption names it: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def not_held(tool: str, what: str) -> str:
    """Say what a tool sets, too, that can only be known on the node."""
    return f"{tool} also sets {what}, which this file does not hold: give the node's /configz to have them"


def picked(fields: Mapping[str, Any], known: Iterable[str]) -> tuple[Fields, list[str]]:
    """Take the known fields, and name the others."""
    names = set(known)
    return (
        {name: value for name, value in fields.items() if name in names},
        [name for name in fields if name not in names],
    )
