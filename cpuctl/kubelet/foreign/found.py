"""The result of another tool's file: a kubelet configuration, flags, and assumptions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cpuctl.documents.text_errors import describe
from cpuctl.errors import InputError
from cpuctl.kubelet.foreign.lines import renamed, renamed_from

Fields = dict[str, Any]


class ToolFile(NamedTuple):
    """A file of another tool, in the kubelet's terms.

    ``what`` says what the file is; ``fields`` are those of KubeletConfiguration, ``flags`` are those of the
    kubelet's command line, ``assumed`` is what the tool adds that is not in a file, or what is unknown, and
    ``text`` is a KubeletConfiguration contained verbatim in the file, as the file *inside* this one.
    """

    what: str
    fields: Fields
    flags: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    text: str = ""
    inside: str = ""


class WrongTypeError(InputError):
    """A value in a tool's file has a type that the tool does not accept; ``where`` is its path."""


def wrong_type(at: str, expected: str, value: object) -> WrongTypeError:
    """Return the error for a value *at* a path in the file."""
    return WrongTypeError(f"expected {expected}, found {describe(value)}", where=at)


def mapping(value: object, *path: str, at: str = "") -> Fields:
    """Return the mapping at a path, empty if it is missing; *at* is the path of *value* itself.

    Raise WrongTypeError for anything but a mapping on the path.
    """
    here = _mapping(value, at)
    for name in path:
        at = f"{at}.{name}" if at else name
        here = _mapping(here.get(name), at)
    return here


def _mapping(value: object, at: str) -> Fields:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong_type(at, "a mapping", value)
    return value


def items(value: object, at: str) -> list[Any]:
    """Return the list *at* a path, empty if it is missing; raise WrongTypeError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong_type(at, "a list", value)
    return value


def flags_of(extra: object, at: str) -> tuple[str, ...]:
    """Read the arguments *at* a path, as a mapping or as ``arguments_of`` does."""
    if isinstance(extra, dict):
        return tuple(
            renamed(f"--{name}={_flag_text(value, f'{at}.{name}')}", name) for name, value in extra.items()
        )
    return arguments_of(extra, at)


def arguments_of(extra: object, at: str) -> tuple[str, ...]:
    """Read ``name=value``, or a list of them, or of mappings with ``name`` and ``value``.

    Raise WrongTypeError for anything else.
    """
    if isinstance(extra, str):
        return (_flag(extra, at),) if extra else ()
    return tuple(_flag(each, f"{at}[{index}]") for index, each in enumerate(items(extra, at)))


def _flag(item: object, at: str) -> str:
    if isinstance(item, dict) and isinstance(item.get("name"), str):
        return renamed_from(f"--{item['name']}={_flag_text(item.get('value'), f'{at}.value')}", item, "name")
    if isinstance(item, str):
        return renamed(f"--{item.lstrip('-')}", item)
    raise wrong_type(at, "an argument (NAME=VALUE)", item)


def _flag_text(value: object, at: str) -> str:
    if isinstance(value, dict | list):
        raise wrong_type(at, "the value of an argument", value)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def unread_files(flags: Iterable[str]) -> Iterator[str]:
    """Report the files that flags refer to, which are on the node and not part of the tool's file."""
    for flag in flags:
        name, _, path = flag.partition("=")
        if path and name in ("--config", "--config-dir"):
            option = "--kubelet-config" if name == "--config" else name
            yield f"not read: {flag}, which is a file on the node: specify it with {option}"


def filled(fields: Mapping[str, Any], own: Mapping[str, Any], tool: str) -> tuple[Fields, tuple[str, ...]]:
    """Fill in what a tool sets if the file does not, member by member; also return a note about it."""
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
    """Write a value for an assumption: text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def not_held(tool: str, what: str) -> str:
    """Return a note about what a tool also sets, but only the node knows."""
    return (
        f"{tool} also sets {what}, which this file does not contain: use the node's /configz to include them"
    )


def picked(fields: Mapping[str, Any], known: Iterable[str]) -> tuple[Fields, list[str]]:
    """Return the known fields, and the names of the others."""
    names = set(known)
    return (
        {name: value for name, value in fields.items() if name in names},
        [name for name in fields if name not in names],
    )
