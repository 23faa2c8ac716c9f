"""A kubelet's command line: what its flags set, and what they point to.

Rule: ``spf13/pflag`` with ``_`` read as ``-``. Unlike the kubelet, flags that are not known are passed over:
releases differ in flags that say nothing of resource managers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from cpuctl.documents import Value
from cpuctl.errors import InputError, UsageError
from cpuctl.kubelet.config_refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.flag_table import (
    CONFIG,
    CONFIG_DIR,
    CONFIG_FLAGS,
    IGNORE_EVICTION,
    NODE_FLAGS,
    OTHER_FLAGS,
    OTHER_SWITCHES,
    ROOT_DIR,
)
from cpuctl.kubelet.flag_values import read_flag
from cpuctl.kubelet.golang import quoted
from cpuctl.kubelet.settings import OriginKind, Settings, ValueOrigin, uniform

STAGE = "flags"
_GATES = "featureGates"
_KNOWN = CONFIG_FLAGS.keys() | NODE_FLAGS.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletFlags:
    """What a command line says: fields, gates, files, and remarks about what was passed over."""

    settings: Settings = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    config: str = ""
    config_dir: str = ""
    root_dir: str = ""
    ignores_eviction_thresholds: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a flag; the value is None where there is none."""

    name: str
    value: str | None


def split_arguments(text: str) -> list[str]:
    """Split a command line as a shell does; raise UsageError where it cannot be split."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        raise UsageError(f"cannot be split into words: {problem}", where="--kubelet-args") from None
    return words[1:] if words and PurePath(words[0]).name == "kubelet" else words


def read_flags(arguments: Sequence[str]) -> KubeletFlags:
    """Read the kubelet's flags; raise ConfigRefusedError with the kubelet's words for a bad value."""
    given: dict[str, Value] = {}
    notes: list[str] = []
    for use in _uses(arguments):
        if use.name in _KNOWN:
            given[use.name] = _read(use, given.get(use.name))
        elif use.name not in OTHER_SWITCHES | OTHER_FLAGS:
            notes.append(f"--{use.name} is no flag that cpuctl knows, and is passed over")
    gates = given.pop("feature-gates", None)
    return KubeletFlags(
        settings={
            flag.field: uniform(given[name], ValueOrigin(OriginKind.FLAG, f"--{name}"))
            for name, flag in CONFIG_FLAGS.items()
            if name in given
        },
        gates={name: value is True for name, value in gates.items()} if isinstance(gates, dict) else {},
        config=str(given.get(CONFIG, "")),
        config_dir=str(given.get(CONFIG_DIR, "")),
        root_dir=str(given.get(ROOT_DIR, "")),
        ignores_eviction_thresholds=given.get(IGNORE_EVICTION) is True,
        notes=tuple(notes),
    )


def _read(use: _Use, before: Value) -> Value:
    kind = NODE_FLAGS.get(use.name) or CONFIG_FLAGS[use.name].kind
    if use.value is None:
        raise _refused(f"flag needs an argument: --{use.name}", f"--{use.name} needs a value")
    try:
        return read_flag(kind, use.value, before)
    except ValueError as error:
        text = f"invalid argument {quoted(use.value)} for {quoted(f'--{use.name}')} flag: {error}"
        raise _refused(text, text) from None


def _refused(text: str, message: str) -> ConfigRefusedError:
    refusal = Refusal(STAGE, text, f"failed to parse kubelet flag: {text}")
    return ConfigRefusedError.told(InputError(message, where="--kubelet-args"), refusal)


def _uses(arguments: Sequence[str]) -> Iterator[_Use]:
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            return
        if not word.startswith("-") or word == "-":
            raise _refused(f"unknown command {word}", f"expected a flag, found {word!r}")
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if equals:
            yield _Use(name, value)
        elif _is_switch(name):
            yield _Use(name, "true")
        elif not word.startswith("--") and len(name) > 1 and name[0] == "v":
            yield _Use("v", name[1:])
        else:
            yield _Use(name, words.pop(0) if words and _takes_value(name, words[0]) else None)


def _is_switch(name: str) -> bool:
    kind = NODE_FLAGS.get(name) or (CONFIG_FLAGS[name].kind if name in CONFIG_FLAGS else "")
    return kind == "bool" or name in OTHER_SWITCHES


def _takes_value(name: str, following: str) -> bool:
    """Tell whether the next word is the flag's value; of an unknown flag, unless it looks like a flag."""
    return name in _KNOWN or name in OTHER_FLAGS or not following.startswith("-")
