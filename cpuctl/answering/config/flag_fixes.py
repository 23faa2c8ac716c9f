"""Fixes of settings that flags set: a kubelet prefers its flags to its files, so the flags have to change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cpuctl.kubelet.configuration.schema import FIELD_TYPES
from cpuctl.kubelet.configuration.settings import OriginKind

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.loading import LoadedConfiguration

_OPTION = re.compile(r'([\w-]+): "([^"]*)"(?: or "([^"]*)")?')
_OPTIONS = re.compile(rf"set {_OPTION.pattern}(?:, {_OPTION.pattern})*")
_GATES = "featureGates"
_GATES_SET = re.compile(rf"set {_GATES}: \{{(?P<gates>[^}}]*)\}}")
_GATES_REMOVED = re.compile(rf"remove (?P<gates>\w+(?:(?:, | and )\w+)*) from {_GATES}")
_VALUE_SET = re.compile(r'set (?P<field>\w+): (?P<value>"[^"]*"|[^\s,;{(]+)')
_MEMBER = re.compile(r'(?P<removed>remove )?\b(?P<field>\w+)(?:\["(?P<quoted>[^"]+)"\]|\.(?P<name>\w[\w-]*))')
_FIELD = re.compile(r"(?<![\w.-])[a-z]\w+(?![\w:-])")
_FLAG = re.compile(r"--[a-z][\w-]*")


def in_flags(fix: str, where: str, loaded: LoadedConfiguration) -> str:
    """Write settings in a fix as the flags that set them; commands in it stay as they are.

    *where* is the place of the setting that the fix is about: if that is a flag, options are its members.
    """
    if where.startswith("--"):
        options = _OPTIONS.fullmatch(fix)
        if options and options[1] not in FIELD_TYPES:
            return _options_set(fix, where)
        # Defaults are only merged into thresholds of the file.
        fix = fix.partition(", or set mergeDefaultEvictionSettings")[0]
    text, command, rest = fix.partition("cpuctl ")
    text = _GATES_SET.sub(lambda found: _gates_set(found, loaded), text)
    text = _GATES_REMOVED.sub(lambda found: _gates_removed(found, loaded), text)
    text = _VALUE_SET.sub(lambda found: _value_set(found, loaded), text)
    text = _MEMBER.sub(lambda found: _member(found, loaded), text)
    text = _FIELD.sub(lambda found: _flag(loaded, found[0]) or found[0], text)
    return f"{text}{command}{rest}"


def _options_set(fix: str, flag: str) -> str:
    options = [
        f"{name}={value} or {name}={other}" if other else f"{name}={value}"
        for name, value, other in _OPTION.findall(fix)
    ]
    flags = " ".join(f"{flag}={option}" for option in options)
    return f"set {flags if len(options) > 1 else options[0]}"


def _flag(loaded: LoadedConfiguration, *path: str) -> str:
    """Return the flag that sets a setting, empty if none does."""
    if path[0] not in FIELD_TYPES:
        return ""
    origin = loaded.origin(*path)
    found = _FLAG.search(origin.text) if origin.kind is OriginKind.FLAG else None
    return found[0] if found else ""


def _gates_set(found: re.Match[str], loaded: LoadedConfiguration) -> str:
    gates = [gate.partition(": ") for gate in found["gates"].split(", ")]
    flag = next(filter(None, (_flag(loaded, _GATES, name) for name, _, _ in gates)), "")
    return f"set {','.join(f'{name}={value}' for name, _, value in gates)} in {flag}" if flag else found[0]


def _gates_removed(found: re.Match[str], loaded: LoadedConfiguration) -> str:
    flags = {_flag(loaded, _GATES, name) for name in re.split(", | and ", found["gates"])}
    return f"remove {found['gates']} from {flags.pop()}" if len(flags) == 1 and "" not in flags else found[0]


def _value_set(found: re.Match[str], loaded: LoadedConfiguration) -> str:
    value = found["value"].strip('"')
    flag = _flag(loaded, found["field"])
    return f"set {flag}={value}" if flag else found[0]


def _member(found: re.Match[str], loaded: LoadedConfiguration) -> str:
    member = found["quoted"] or found["name"]
    flag = _flag(loaded, found["field"], member)
    if not flag:
        return found[0]
    return f"remove {member} from {flag}" if found["removed"] else f"{member} in {flag}"
