"""The kinds of values on the command line that completion distinguishes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from cpuctl.cli.completion.command_tree import Argument, Command, Option
from cpuctl.kubelet.policy_options import VARIED
from cpuctl.kubelet.version import NEWEST, OLDEST
from cpuctl.policies.catalogue import SHIPPED


class Kind(StrEnum):
    """``WORDS`` are known beforehand, shells complete ``FILE`` and ``DIRECTORY``, cpuctl computes the others.

    For these, the value is the first word of ``cpuctl __complete``.
    """

    NOTHING = "nothing"
    WORDS = "words"
    FILE = "file"
    DIRECTORY = "directory"
    MACHINE = "machine"
    POD = "pod"
    RESIZE = "resize"
    CONTAINER = "container"
    CPUS = "cpus"
    GATES = "gates"
    CHECKS = "checks"
    COLUMNS = "columns"


class Value(NamedTuple):
    """The value of an option or an argument; ``words`` if they are known."""

    kind: Kind
    words: tuple[str, ...] = ()


_MINORS = Value(Kind.WORDS, tuple(f"1.{minor}" for minor in range(NEWEST, OLDEST - 1, -1)))
_FILE = Value(Kind.FILE)
_BY_METAVAR = {
    "FILE": _FILE,
    "PATH": _FILE,
    "PODS": _FILE,
    "DIR|FILE": _FILE,
    "RECORDINGS": _FILE,
    "TIMELINE": _FILE,
    "STATE": _FILE,
    "OLD": _FILE,
    "NEW": _FILE,
    "A": _FILE,
    "BEFORE": _FILE,
    "AFTER": _FILE,
    "B": _FILE,
    "DIR": Value(Kind.DIRECTORY),
    "SOURCE": Value(Kind.MACHINE),
    "VERSION": _MINORS,
    "1|2": Value(Kind.WORDS, ("1", "2")),
    "N|max": Value(Kind.WORDS, ("max",)),
    "A=true,B=false": Value(Kind.GATES),
    "LIST": Value(Kind.CPUS),
    "POD": Value(Kind.POD),
    "POLICY": Value(Kind.WORDS, tuple(SHIPPED)),
    "POD[/CONTAINER]:cpu=N": Value(Kind.RESIZE),
    "NS/POD/CONTAINER=CPUS": Value(Kind.CONTAINER),
    "config,state,audit": Value(Kind.WORDS, ("config", "state", "audit")),
    "config,state,audit,nrt": Value(Kind.WORDS, ("config", "state", "audit", "nrt")),
}
_BY_NAME = {
    "--keep": Value(Kind.WORDS, VARIED),
    "--check": Value(Kind.CHECKS),
    "--columns": Value(Kind.COLUMNS),
}


def value_of(option: Option) -> Value:
    """Return an option's kind of value; ``NOTHING`` if a shell cannot help: quantities, numbers."""
    if option.choices:
        return Value(Kind.WORDS, option.choices)
    named = next((_BY_NAME[name] for name in option.names if name in _BY_NAME), None)
    return _BY_METAVAR.get(option.metavar, named or Value(Kind.NOTHING))


def value_of_argument(argument: Argument) -> Value:
    """Return the kind of an argument; ``NAME`` is the name of a schema."""
    if argument.choices:
        return Value(Kind.WORDS, argument.choices)
    metavar = argument.metavar.removesuffix("...").strip("[]{}")
    if metavar == "NAME":
        from cpuctl.schemas import schema_names

        return Value(Kind.WORDS, tuple(schema_names()))
    return _BY_METAVAR.get(metavar, Value(Kind.NOTHING))


def complete_commands(root: Command) -> Iterator[Command]:
    """Yield all commands; a group with a default verb also takes the options of that verb."""
    for command in root.walk():
        yield with_default_verb(command)


def with_default_verb(command: Command) -> Command:
    """Add the options of the default verb to a group."""
    verb = next((each for each in command.verbs if each.words[-1] == command.default_verb), None)
    return command if verb is None else command._replace(options=verb.options)
