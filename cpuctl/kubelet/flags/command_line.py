"""A kubelet's command line: what its flags set, and what they point to.

Rule: ``spf13/pflag`` with ``_`` read as ``-``. Unlike the kubelet, flags that are not known are passed over:
releases differ in flags that say nothing of resource managers.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from cpuctl.documents.document import Value
from cpuctl.errors import InputError, UsageError
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.settings import OriginKind, ValueOrigin, uniform
from cpuctl.kubelet.flags.given import STAGE, KubeletFlags
from cpuctl.kubelet.flags.table import (
    CONFIG,
    CONFIG_DIR,
    CONFIG_FLAGS,
    IGNORE_EVICTION,
    NODE_FLAGS,
    OTHER_FLAGS,
    OTHER_SWITCHES,
    ROOT_DIR,
)
from cpuctl.kubelet.flags.values import read_flag
from cpuctl.kubelet.golang import quoted
from cpuctl.named_tuple import NamedTuple

_ARGUMENTS = "--kubelet-args"
_GATES = "featureGates"
_KNOWN = CONFIG_FLAGS.keys() | NODE_FLAGS.keys()


class _Use(NamedTuple):
    """One use of a flag; the value is None where there is none."""

    name: str
    value: str | None


def split_arguments(text: str) -> list[str]:
    """Split a command line as a shell does; raise UsageError where it cannot be split."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        raise UsageError(f"cannot be split into words: {problem}", where=_ARGUMENTS) from None
    is_program = bool(words) and not words[0].startswith("-") and PurePath(words[0]).name == "kubelet"
    return words[1:] if is_program else words


def read_flags(arguments: Sequence[str], where: str = _ARGUMENTS) -> KubeletFlags:
    """Read the kubelet's flags; raise ConfigRefusedError with the kubelet's words for a bad value."""
    try:
        return _flags(arguments)
    except _BadFlagError as bad:
        text = str(bad)
        refusal = Refusal(STAGE, text, f"failed to parse kubelet flag: {text}" if bad.parsing else text)
        raise ConfigRefusedError.told(InputError(bad.message or text, where=where), refusal) from None


class _BadFlagError(Exception):
    """A command line that the kubelet refuses: its words, ours, and whether its parser says so."""

    def __init__(self, text: str, message: str = "", *, parsing: bool = True) -> None:
        super().__init__(text)
        self.message = message
        self.parsing = parsing


def _flags(arguments: Sequence[str]) -> KubeletFlags:
    given: dict[str, Value] = {}
    notes: list[str] = []
    for use in _uses(arguments):
        if use.name in _KNOWN:
            given[use.name] = _read(use, given.get(use.name))
        elif use.name in OTHER_FLAGS and use.value is None:
            raise _lacking(use)
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
        raise _lacking(use)
    try:
        return read_flag(kind, use.value, before)
    except ValueError as error:
        text = f"invalid argument {quoted(use.value)} for {quoted(f'--{use.name}')} flag: {error}"
        raise _BadFlagError(text) from None


def _lacking(use: _Use) -> _BadFlagError:
    return _BadFlagError(f"flag needs an argument: --{use.name}", f"--{use.name} needs a value")


def _uses(arguments: Sequence[str]) -> Iterator[_Use]:
    """Tell flags and values apart; words that are no flags are refused when all the flags have been read."""
    words = deque(arguments)
    strays: list[str] = []
    while words:
        word = words.popleft()
        if word == "--":
            strays += words
            break
        if not word.startswith("-") or word == "-":
            strays.append(word)
        elif word.startswith("--"):
            yield _long(word, words)
        else:
            yield from _short(word, words)
    if strays:
        found = f"expected a flag, found {strays[0]!r}"
        raise _BadFlagError(f"unknown command {strays[0]}", found, parsing=False)


def _long(word: str, following: deque[str]) -> _Use:
    name, equals, value = word[2:].partition("=")
    if not name or name.startswith("-"):
        raise _BadFlagError(f"bad flag syntax: {word}")
    name = name.replace("_", "-")
    if equals:
        return _Use(name, value)
    if _is_switch(name):
        return _Use(name, "true")
    return _Use(name, following.popleft() if following and _takes_value(name, following[0]) else None)


def _short(word: str, following: deque[str]) -> Iterator[_Use]:
    """Read ``-v=2``, ``-v2`` or ``-v 2``, and ``-h``: the kubelet has no other short flags."""
    letters = word[1:]
    while letters.startswith("h"):
        letters = letters[1:]
        yield _Use("help", "true")
    if letters[:1] not in ("", "v"):
        raise _BadFlagError(f"unknown shorthand flag: '{letters[0]}' in -{letters}")
    if letters:
        value = letters[1:].removeprefix("=")
        if not value and not following:
            raise _BadFlagError(f"flag needs an argument: 'v' in -{letters}")
        yield _Use("v", value or following.popleft())


def _is_switch(name: str) -> bool:
    kind = NODE_FLAGS.get(name) or (CONFIG_FLAGS[name].kind if name in CONFIG_FLAGS else "")
    return kind == "bool" or name in OTHER_SWITCHES


def _takes_value(name: str, following: str) -> bool:
    """Tell whether the next word is the flag's value; of an unknown flag, unless it looks like a flag."""
    return name in _KNOWN or name in OTHER_FLAGS or not following.startswith("-")
