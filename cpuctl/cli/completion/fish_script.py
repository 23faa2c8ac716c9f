"""The script for fish: a ``complete`` for every option, verb and argument."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cli.completion.command_tree import Command, Option
from cpuctl.cli.completion.value_kinds import Kind, Value, complete_commands, value_of, value_of_argument

_WORDS = {
    Kind.NOTHING: "-x",
    Kind.FILE: "-r -F",
    Kind.DIRECTORY: "-x -a '(__fish_complete_directories)'",
    Kind.MACHINE: "-x -a '(__cpuctl_machine)'",
}


def fill_fish(template: str, root: Command) -> str:
    """Put the commands into the template."""
    commands = list(complete_commands(root))
    paths = [_quoted(each.path) for each in commands if each.words]
    values = [
        _quoted(f"{each.path}:{name}")
        for each in commands
        for option in each.options
        if not option.is_flag
        for name in option.names
    ]
    lines = [line for each in commands for line in _lines(each)]
    template = template.replace("@PATHS@", " \\\n    ".join(paths))
    template = template.replace("@VALUES@", " \\\n    ".join(values))
    return template.replace("@COMPLETIONS@", "\n".join(lines))


def _lines(command: Command) -> Iterator[str]:
    for verb in command.verbs:
        yield _line(_argument(command, 1), f"-a {verb.words[-1]} -d {_quoted(verb.summary)}")
    for number, argument in enumerate(command.arguments, start=1):
        place = _at(command) if argument.repeated else _argument(command, number)
        value = value_of_argument(argument)
        if value.kind is not Kind.NOTHING:
            yield _line(place, _value(value).replace("-x ", "").replace("-r ", ""))
    for option in command.options:
        yield _line(_at(command), _option(option))


def _line(condition: str, rest: str) -> str:
    return f"complete -c cpuctl -n {_quoted(condition)} {rest}"


def _at(command: Command) -> str:
    return f'__cpuctl_at "{command.path}"'


def _argument(command: Command, number: int) -> str:
    return f'__cpuctl_argument "{command.path}:{number}"'


def _option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = [] if option.is_flag else [_value(value_of(option))]
    return " ".join([*names, *value, f"-d {_quoted(option.help)}"])


def _value(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"-x -a {_quoted(' '.join(value.words))}"
    return _WORDS.get(value.kind, f"-x -a '(__cpuctl_ask {value.kind})'")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
