"""The script for bash: three tables in a template."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cli.completion.command_tree import Command
from cpuctl.cli.completion.value_kinds import Kind, Value, complete_commands, value_of, value_of_argument

_INDENT = " " * 8


def fill_bash(template: str, root: Command) -> str:
    """Put the tables of all commands into the template."""
    commands = list(complete_commands(root))
    verbs = [(each.path, " ".join(verb.words[-1] for verb in each.verbs)) for each in commands if each.verbs]
    options = [(each.path, " ".join(_names(each))) for each in commands]
    tables = {
        "VERBS": [f"'{path}') verbs='{words}' ;;" for path, words in verbs],
        "OPTIONS": [f"'{path}') options='{words}' ;;" for path, words in options],
        "VALUES": list(_values(commands)),
    }
    for name, lines in tables.items():
        template = template.replace(f"@{name}@", "\n".join(f"{_INDENT}{line}" for line in lines))
    return template


def _names(command: Command) -> Iterator[str]:
    for option in command.options:
        yield from option.names


def _values(commands: list[Command]) -> Iterator[str]:
    places: dict[Value, list[str]] = {}
    for command in commands:
        for place, value in _places(command):
            places.setdefault(value, []).append(f"'{command.path}:{place}'")
    for value, patterns in places.items():
        lines = f" | \\\n{_INDENT}".join(patterns)
        yield f"{lines}) value='{' '.join((value.kind, *value.words))}' ;;"


def _places(command: Command) -> Iterator[tuple[str, Value]]:
    for option in command.options:
        if not option.is_flag:
            yield from ((name, value_of(option)) for name in option.names)
    for number, argument in enumerate(command.arguments, start=1):
        value = value_of_argument(argument)
        if value.kind is not Kind.NOTHING:
            yield "..." if argument.repeated else str(number), value
