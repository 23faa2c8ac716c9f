"""Errors in a command line, in the form of every other error: one line, and the correct input.

The parser has its own messages, over several lines and without a next step; they are parsed here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from cpuctl import option_names
from cpuctl.errors import UsageError
from cpuctl.spelling import did_you_mean, nearest

_NO_COMMAND = re.compile(r"""No such command (['"])(.*?)\1\.""", re.DOTALL)
_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_NEEDS = re.compile(r"Option '(.*)' requires (?:an|(\d+)) arguments?\.")
_TAKES_NONE = re.compile(r"Option '(.*)' does not take a value\.")
_NO_CHOICE = re.compile(r"""(?P<found>(['"]).*\2) is not one of (?P<choices>'.*')\.""", re.DOTALL)
_FLAG_WITH_VALUE = re.compile(r"-[A-Za-z]*([A-Za-z])=.*", re.DOTALL)
_NO_NUMBER = re.compile(r"(?P<found>.*) is not (?:a valid \w+(?: range)?|in the range .*)\.", re.DOTALL)
_CPU_LIST = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
_OF_RUNNING_NODES = ("cpuctl top", "cpuctl watch")
_SAME = {
    option_names.ROOT: "-m",
    "--topology": "-m",
    option_names.KUBELET_VERSION: "--from",
    "--version": option_names.KUBELET_VERSION,
    option_names.PODS: "-f",
}
"""Options of other commands, and the options that do the same in commands without them."""
_TELLING = 5
"""The fewest letters by which an option or flag is recognized: many of them begin with ``pod``."""
_LIKE = 0.8
"""How similar an option has to be for a guess: the parser's own guesses often differ."""


def explained(error: Any, command: Any, arguments: Sequence[str]) -> UsageError:  # noqa: ANN401  # private types
    """Return the parser's error, with the correct input as a hint.

    *command* is the root: if the parser does not say which command it was reading, the arguments do.
    """
    if error.ctx is not None:
        named, path = error.ctx.command, error.ctx.command_path
    else:
        named, path = _called(command, arguments)
    if getattr(error, "option_name", "") == "-=":
        return _value_of_flag(named, path, arguments)
    if hasattr(error, "possibilities"):
        return _of_options(error.option_name, named, path, arguments)
    found = _of_names(error, named, path, arguments) or _of_values(error, named, path)
    return found or _other(error, path)


def _called(command: Any, arguments: Iterable[str]) -> tuple[Any, str]:  # noqa: ANN401
    path = ["cpuctl"]
    for word in arguments:
        verb = command.get_command(None, word) if hasattr(command, "get_command") else None
        if verb is None:
            break
        command, path = verb, [*path, word]
    return command, " ".join(path)


def _of_names(error: Any, command: Any, path: str, arguments: Sequence[str]) -> UsageError | None:  # noqa: ANN401
    """Explain an unknown command or an extra argument."""
    if unknown := _NO_COMMAND.match(error.message):
        hint = did_you_mean(unknown[2], command.list_commands(error.ctx), f"{path} -h lists the commands")
        return UsageError(f"no such command: {unknown[2]}", hint=hint)
    if extra := _EXTRA.match(error.message):
        hint = f"usage: {_usage(error.ctx)}"
        if path in _OF_RUNNING_NODES:
            from cpuctl.audit.commands import operand

            # The parser lists several words in one text: which of them is a recording is unknown then.
            named = operand(extra[1]) if extra[1] in arguments else "NODE"
            hint = f"it reads a running node; for a recording, use cpuctl audit {named}"
        return UsageError(f"unexpected argument: {extra[1]}", hint=hint)
    return None


def _of_options(written: str, command: Any, path: str, arguments: Sequence[str]) -> UsageError:  # noqa: ANN401
    """Explain an unknown option: an option of the command may be meant, or a flag of the kubelet."""
    from cpuctl.kubelet.flags.table import FLAGS

    known = _options(command)
    hint = f"{path} -h lists the options"
    if not written.strip("-"):
        return UsageError(f"no such option: {written}", hint=hint)
    takes_flags, name = option_names.KUBELET_ARGS in known, written.removeprefix("--")
    if path in _OF_RUNNING_NODES and written in ("-m", "--machine"):
        node = _value_of(written, arguments, joined=False) or "NODE"
        hint = f"it reads a running node; for a recording, use cpuctl audit -m {node}"
    elif (same := _SAME.get(written, "")) in known:
        value = _value_of(written, arguments, joined=False)
        hint = f"use {shlex.join([same, value] if value else [same])}"
    elif meant := nearest(written, known, _LIKE):
        hint = f"did you mean {meant}?"
    elif takes_flags and name in FLAGS:
        hint = f"it is a kubelet flag: use {_handed_on(name, written, arguments)}"
    elif meant := _begun(written, known):
        hint = f"did you mean {meant}?"
    # An option of another command is not a misspelt flag.
    elif (
        takes_flags
        and written not in vars(option_names).values()
        and (meant := nearest(name, FLAGS, _LIKE) or _begun(name, FLAGS))
    ):
        hint = f"did you mean {_handed_on(meant, written, arguments)}?"
    return UsageError(f"no such option: {written}", hint=hint)


def _handed_on(flag: str, written: str, arguments: Sequence[str]) -> str:
    """Write a flag of the kubelet with the value after *written*; both are split into words again."""
    from cpuctl.kubelet.flags.table import FLAGS, SWITCHES

    value = _value_of(written, arguments, joined=FLAGS[flag][-1].kind in SWITCHES)
    return shlex.join([option_names.KUBELET_ARGS, f"--{flag}={shlex.quote(value)}" if value else f"--{flag}"])


def _begun(written: str, known: Iterable[str]) -> str:
    """Return the shortest known word with the same beginning, allowing for a typing error."""
    if len(written.removeprefix("--")) < _TELLING:
        return ""
    shortest = sorted((each for each in known if len(each) > len(written)), key=len, reverse=True)
    beginnings = {each[: len(written)]: each for each in shortest}
    return beginnings.get(nearest(written, beginnings, _LIKE), "")


def _value_of(written: str, arguments: Sequence[str], *, joined: bool) -> str:
    """Return the value after an unknown option, if it looks like one.

    If a value has to be *joined* by an equals sign, the next word is not the value.
    """
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option == written:
            return value if equals else "" if joined or following.startswith("-") else following
    return ""


def _value_of_flag(command: Any, path: str, arguments: Sequence[str]) -> UsageError:  # noqa: ANN401
    """Explain ``-q=3``, in which the parser takes the equals sign for an option."""
    known = _options(command)
    written = (match[1] for word in arguments if (match := _FLAG_WITH_VALUE.fullmatch(word)))
    letter = next((each for each in written if getattr(known.get(f"-{each}"), "is_flag", False)), "")
    if not letter:
        return UsageError("no such option: -=", hint=f"{path} -h lists the options")
    return UsageError("takes no value", where=f"-{letter}", hint=f"use -{letter} alone")


def with_configuration(file: str, command: Any, arguments: Sequence[str]) -> str:  # noqa: ANN401
    """Return a hint: the same command line with the kubelet configuration as the value of its own option.

    Empty if the command has no such option, if it is already given, or if the file was not named
    on the command line.
    """
    called, _ = _called(command, arguments)
    option, known = option_names.KUBELET_CONFIG, _options(called)
    if option not in known or any(word.partition("=")[0] == option for word in arguments):
        return ""
    before = ["", *arguments]
    for at, word in enumerate(arguments):
        named = before[at] in ("-m", "--machine") and word == file
        alone = word == file and (before[at][:1] != "-" or getattr(known.get(before[at]), "is_flag", False))
        if named or alone or word in (f"-m{file}", f"--machine={file}"):
            words = [*arguments[: at - named], option, file, *arguments[at + 1 :]]
            return f"use it as an option: {shlex.join(['cpuctl', *words])}"
    return ""


def _of_values(error: Any, command: Any, path: str) -> UsageError | None:  # noqa: ANN401
    """Explain a value that is missing, that no option takes, or that is not a valid choice."""
    parameter = getattr(error, "param", None)
    if parameter is not None:
        if type(error).__name__ == "MissingParameter":
            return UsageError(f"{_metavar(parameter)} is missing", hint=f"usage: {_usage(error.ctx)}")
        return _wrong(error.message, parameter)
    if needs := _NEEDS.match(error.message):
        option, values = _options(command).get(needs[1]), int(needs[2] or 1)
        metavar = option and option.metavar
        expected = "expected a value, found none" if values == 1 else f"expected {values} values"
        hint = f"use {needs[1]} {metavar}" if metavar else f"{path} -h explains its value"
        if choices := option and getattr(option.type, "choices", ()):
            hint = f"choose from {', '.join(map(str, choices))}"
        return UsageError(expected, where=needs[1], hint=hint)
    if takes_none := _TAKES_NONE.match(error.message):
        return UsageError("takes no value", where=takes_none[1], hint=f"use {takes_none[1]} alone")
    return None


def _wrong(message: str, parameter: Any) -> UsageError:  # noqa: ANN401
    """Return the values that an option takes."""
    where = parameter.opts[-1] if parameter.param_type_name == "option" else _metavar(parameter)
    if wrong := _NO_CHOICE.fullmatch(message):
        choices = re.findall(r"'([^']*)'", wrong["choices"])
        expected = f"expected one of {', '.join(choices)}, found {wrong['found']}"
        return UsageError(expected, where=where, hint=did_you_mean(wrong["found"][1:-1], choices))
    if wrong := _NO_NUMBER.fullmatch(message):
        found = wrong["found"]
        hint = _given_cpus(found.strip("'")) if where == option_names.CPU_COUNT else ""
        return UsageError(f"expected {_numbers(parameter.type)}, found {found}", where=where, hint=hint)
    return UsageError(message, where=where)


def _given_cpus(found: str) -> str:
    """Return how to check a list of CPUs that was given instead of their number; empty if it is no list."""
    if not _CPU_LIST.fullmatch(found):
        return ""
    return f"to check given CPUs: cpuctl config check {option_names.KUBELET_ARGS} '--reserved-cpus={found}'"


def _numbers(kind: Any) -> str:  # noqa: ANN401
    noun = "a whole number" if kind.name.startswith("int") else "a number"
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is None and most is None:
        return noun
    if most is None:
        return f"{noun} of at least {least}"
    return f"{noun} of at most {most}" if least is None else f"{noun} from {least} to {most}"


def _other(error: Any, path: str) -> UsageError:  # noqa: ANN401
    """Repeat the parser's own words, which begin with a capital and end with a period."""
    message = error.format_message().removesuffix(".")
    return UsageError(f"{message[:1].lower()}{message[1:]}", hint=f"{path} -h shows how it is used")


def _options(command: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the options by all their names, except former names."""
    shown = (each for each in command.params if not getattr(each, "hidden", False))
    return {name: each for each in shown for name in (*each.opts, *each.secondary_opts)}


def _metavar(parameter: Any) -> str:  # noqa: ANN401
    return str(parameter.human_readable_name).strip("[]{}.")


def _usage(context: Any) -> str:  # noqa: ANN401
    return " ".join(context.get_usage().split()).removeprefix("Usage: ")
