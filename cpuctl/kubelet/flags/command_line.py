"""A kubelet's command line: what its flags set, and the files they refer to.

Rule: ``spf13/pflag`` with ``_`` read as ``-``: a kubelet exits at the first flag that it does not know.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from types import MappingProxyType
from typing import NamedTuple

from cpuctl.documents.document import Value
from cpuctl.errors import InputError, UsageError
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError, Refusal
from cpuctl.kubelet.configuration.settings import OriginKind, ValueOrigin, uniform
from cpuctl.kubelet.flags.kubelet_flags import (
    HANDED_ON,
    STAGE,
    KubeletFlags,
    forwarded_flags,
    place_of_argument,
)
from cpuctl.kubelet.flags.table import (
    CONFIG,
    CONFIG_DIR,
    FLAGS,
    GONE_BEFORE,
    IGNORE_EVICTION,
    ROOT_DIR,
    SWITCHES,
    Flag,
    flag_of,
)
from cpuctl.kubelet.flags.values import read_flag
from cpuctl.spelling import nearest_spelling

_ARGUMENTS = "--kubelet-args"
_WITH_A_KUBELET = frozenset({"k3s", "k3s-agent", "k3s-server", "rke2"})
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")


class _Use(NamedTuple):
    """One use of a flag as written; the value is None if it is missing.

    ``place`` is where it is in a file; empty for the command line itself.
    """

    name: str
    flag: Flag
    value: str | None
    place: str = ""

    @property
    def called(self) -> str:
        """The flag as the kubelet's parser writes it in errors about a value."""
        return {"v": "-v, --v", "help": "-h, --help"}.get(self.name, f"--{self.name}")


def split_arguments(text: str) -> list[str]:
    """Split a command line as a shell does; raise UsageError if it cannot be split.

    Lines of a file for systemd (``KUBELET_EXTRA_ARGS="--max-pods=50"``) count as the words in them; the last
    assignment of a variable wins. In a command line of k3s or RKE2, the flags are those passed to the kubelet
    that it contains (``k3s agent --kubelet-arg=max-pods=50``).
    """
    arguments = _split(text)
    program = PurePath(arguments[0]).name if arguments and not arguments[0].startswith("-") else ""
    if program in _WITH_A_KUBELET:
        return list(forwarded_flags(arguments))
    if program == "kubelet":
        arguments = arguments[1:]
    found: dict[str, list[str]] = {"": []}
    name = ""
    for before, word in pairwise(["", *arguments]):
        if (variable := _VARIABLE.match(word)) and not _awaits_value(before):
            name = variable[1]
            found.pop(name, None)
            found[name] = _split(word[variable.end() :])
        else:
            found[name].append(word)
    return [word for part in found.values() for word in part]


def _awaits_value(word: str) -> bool:
    """Return whether the next word is the value of this one: ``--kube-reserved cpu=1``."""
    name = word.removeprefix("--").replace("_", "-")
    flag = flag_of(name, None) if word.startswith("--") else None
    return flag is not None and flag.kind not in SWITCHES


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        problem = str(error)[:1].lower() + str(error)[1:]
        hint = "close the quotes, or put the flags into a file: @FILE"
        raise UsageError(f"cannot be split into words: {problem}", where=_ARGUMENTS, hint=hint) from None


def arguments_of_file(text: str) -> list[str]:
    """Split a file that holds a command line, or lines of variables as systemd reads them."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))
    return split_arguments("\n".join(lines).replace("\\\n", ""))


def read_flags(
    arguments: Sequence[str],
    where: str = _ARGUMENTS,
    *,
    minor: int | None = None,
    lines: Mapping[str, str] = MappingProxyType({}),
) -> KubeletFlags:
    """Read the flags of a kubelet of a release; raise ConfigRefusedError with its words for a bad one.

    Without a release, accept the flags of any release and skip unknown ones. The error reports all bad flags;
    the kubelet exits at the first. *lines* are the lines in files by flag: the error includes that of the bad
    flag.
    """
    bad: list[_BadFlagError] = []
    flags = _flags(arguments, minor, where, bad)
    if bad:
        first, *later = (_refused(each, lines.get(each.flag) or where) for each in bad)
        raise first.before(*later)
    return flags


def valid_flags(arguments: Sequence[str]) -> KubeletFlags:
    """Read the flags that any release has, and ignore all errors."""
    return _flags(arguments, None, _ARGUMENTS, [])


def _refused(bad: _BadFlagError, where: str) -> ConfigRefusedError:
    text = str(bad)
    refusal = Refusal(STAGE, text, f"failed to parse kubelet flag: {text}" if bad.parsing else text)
    error = InputError(bad.message or text, where=bad.place or where, hint=bad.hint)
    return ConfigRefusedError.from_error(error, refusal)


def check_names(names: Iterable[str], where: str, *, minor: int, lines: Mapping[str, str]) -> None:
    """Raise ConfigRefusedError if a release does not have a flag with one of the names."""
    unknown = [f"--{name}" for name in names if flag_of(name, minor) is None]
    read_flags(unknown, where, minor=minor, lines=lines)


class _BadFlagError(Exception):
    """A command line that the kubelet refuses: its words, ours, the fix, and whether its parser refuses it.

    ``flag`` is its name, ``place`` where it is in a file, if it is in one.
    """

    flag: str = ""
    place: str = ""

    def __init__(self, text: str, message: str = "", hint: str = "", *, parsing: bool = True) -> None:
        super().__init__(text)
        self.message = message
        self.hint = hint
        self.parsing = parsing


def _flags(arguments: Sequence[str], minor: int | None, where: str, bad: list[_BadFlagError]) -> KubeletFlags:
    given: dict[str, Value] = {}
    used: dict[str, _Use] = {}
    for use in _uses(arguments, minor, bad):
        try:
            given[use.name] = _read(use, given.get(use.name))
            used[use.name] = use
        except _BadFlagError as error:
            error.flag, error.place = use.name, use.place
            bad.append(error)
    try:
        _check_short_circuits(given)
    except _BadFlagError as error:
        bad.append(error)
    gates = given.get("feature-gates")
    return KubeletFlags(
        settings={
            use.flag.field: uniform(given[name], ValueOrigin(OriginKind.FLAG, use.place or f"--{name}"))
            for name, use in used.items()
            if use.flag.field and name != "feature-gates"
        },
        gates={name: value is True for name, value in gates.items()} if isinstance(gates, dict) else {},
        config=str(given.get(CONFIG, "")),
        config_dir=str(given.get(CONFIG_DIR, "")),
        root_dir=str(given.get(ROOT_DIR, "")),
        ignores_eviction_thresholds=given.get(IGNORE_EVICTION) is True,
        arguments=tuple(arguments),
        where=where,
        names=tuple(used),
    )


def _check_short_circuits(given: dict[str, Value]) -> None:
    """Raise if the kubelet would print a text and exit instead of starting."""
    for name in ("help", "version"):
        if given.get(name):
            text = f"--{name}: the kubelet prints its {name} and exits"
            raise _BadFlagError(text, hint=f"remove --{name}", parsing=False)


def _read(use: _Use, before: Value) -> Value:
    if use.value is None:
        raise _BadFlagError(
            f"flag needs an argument: --{use.name}",
            f"--{use.name} needs a value",
            f"add a value, or remove --{use.name}",
        )
    try:
        return read_flag(use.flag.kind, use.value, before)
    except GoError as error:
        text = f"invalid argument {quoted(use.value)} for {quoted(use.called)} flag: {error}"
        raise _BadFlagError(text, hint=f"correct the value, or remove --{use.name}") from None


def _uses(arguments: Sequence[str], minor: int | None, bad: list[_BadFlagError]) -> Iterator[_Use]:
    """Separate flags from values, and collect what is neither (*bad*).

    Words that are not flags are refused after all flags have been read.
    """
    arguments = deque(arguments)
    strays: list[str] = []
    while arguments:
        word = arguments.popleft()
        if word == "--":
            strays += arguments
            break
        if not word.startswith("-") or word == "-":
            strays.append(word)
        else:
            place = place_of_argument(word)
            try:
                for use in (
                    _long(word, arguments, minor) if word.startswith("--") else _short(word, arguments)
                ):
                    yield use._replace(place=place)
            except _BadFlagError as error:
                error.flag, error.place = word.lstrip("-").partition("=")[0], place
                bad.append(error)
    if strays:
        found = f"expected a flag, found {strays[0]!r}"
        meant = f"--{strays[0].lstrip('-')}"
        is_flag = "=" in meant and flag_of(meant[2:].partition("=")[0].replace("_", "-"), minor) is not None
        fix = f"use {meant}" if is_flag else f"remove {strays[0]}"
        bad.append(_BadFlagError(f"unknown command {strays[0]}", found, fix, parsing=False))


def _long(word: str, following: deque[str], minor: int | None) -> Iterator[_Use]:
    written, equals, value = word[2:].partition("=")
    if not written or written.startswith("-"):
        raise _BadFlagError(f"bad flag syntax: {word}", hint=f"remove {word}")
    name = written.replace("_", "-")
    flag = flag_of(name, minor)
    if flag is None:
        if not equals and following and not following[0].startswith("-"):
            following.popleft()
        if minor is not None:
            raise _unknown(written, name, minor)
    elif equals:
        yield _Use(name, flag, value)
    elif flag.kind in SWITCHES:
        yield _Use(name, flag, "true")
    else:
        yield _Use(name, flag, following.popleft() if following else None)


def _unknown(written: str, name: str, minor: int) -> _BadFlagError:
    """Return the error for a flag that a release lacks: when it was removed, or what may be meant."""
    text = f"unknown flag: --{written}"
    forms = FLAGS.get(name, ())
    if not forms:
        if before := GONE_BEFORE.get(name):
            return _BadFlagError(text, f"{text}: --{name} was removed in 1.{before}", f"remove --{name}")
        if written == HANDED_ON.lstrip("-"):
            hint = "this is a k3s or RKE2 option: include the program name (k3s agent --kubelet-arg=...)"
            return _BadFlagError(text, hint=hint)
        near = nearest_spelling(name, FLAGS)
        hint = f"did you mean --{near}?" if near else f"remove --{name}: no kubelet since 1.27 has it"
        return _BadFlagError(text, hint=hint)
    if minor < forms[0].first:
        came = f"kubelet 1.{minor} has no flag --{name}, which was added in 1.{forms[0].first}"
        return _BadFlagError(text, f"{text}: {came}", f"remove --{name}")
    gone = f"--{name} was removed in 1.{forms[-1].last + 1}"
    return _BadFlagError(text, f"{text}: {gone}", f"remove --{name}")


def _short(word: str, following: deque[str]) -> Iterator[_Use]:
    """Read ``-v=2``, ``-v2`` or ``-v 2``, and ``-h``: the kubelet has no other short flags."""
    letters = word[1:]
    while letters.startswith("h"):
        has_value = len(letters) > 2 and letters[1] == "="  # -h= followed by something
        yield _Use("help", FLAGS["help"][0], letters[2:] if has_value else "true")
        letters = "" if has_value else letters[1:]
    if letters[:1] not in ("", "v"):
        raise _BadFlagError(
            f"unknown shorthand flag: {_rune(letters[0])} in -{letters}", hint=f"remove {word}"
        )
    if letters:
        value = letters[1:]
        if not value and not following:
            raise _BadFlagError(f"flag needs an argument: 'v' in -{letters}", hint=f"remove {word}")
        # For a bare -v= the parser uses the equals sign as the value.
        value = value[1:] if len(value) > 1 and value[0] == "=" else value or following.popleft()
        yield _Use("v", FLAGS["v"][0], value)


def _rune(letter: str) -> str:
    return "'\\''" if letter == "'" else f"'{letter}'"
