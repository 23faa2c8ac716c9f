"""The script for zsh: a call of ``_arguments`` for every command."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cli.completion.command_tree import Argument, Command, Option
from cpuctl.cli.completion.value_kinds import Kind, Value, complete_commands, value_of, value_of_argument

_ACTIONS = {
    Kind.NOTHING: " ",
    Kind.FILE: "_files",
    Kind.DIRECTORY: "_files -/",
    Kind.MACHINE: " _cpuctl_machine",
}


def fill_zsh(template: str, root: Command) -> str:
    """Put the commands into the template."""
    commands = list(complete_commands(root))
    verbs = "\n".join(line for each in commands if each.verbs for line in _verbs(each))
    calls = "\n".join(line for each in commands for line in _call(each))
    return template.replace("@VERBS@", verbs).replace("@COMMANDS@", calls)


def _verbs(group: Command) -> Iterator[str]:
    yield f"        {_quoted(group.path)})"
    yield "            verbs=("
    for verb in group.verbs:
        yield f"                {_quoted(f'{verb.words[-1]}:{verb.summary}')}"
    yield "            )"
    yield "            ;;"


def _call(command: Command) -> Iterator[str]:
    function = f"_cpuctl_group {_quoted(command.path)}" if command.verbs else "_arguments"
    arguments = [_argument(number, each) for number, each in enumerate(command.arguments, start=1)]
    words = [*map(_option, command.options), *arguments]
    yield f"        {_quoted(command.path)})"
    yield f"            {function} \\"
    yield " \\\n".join(f"                {word}" for word in words)
    yield "            ;;"


def _option(option: Option) -> str:
    """Write ``'(-o --output)'{-o,--output}'[The form.]:table|json:(table json)'``."""
    value = "" if option.is_flag else _value(option.metavar, value_of(option)) * option.values
    text = _quoted(f"[{_escaped(option.help, '[]:')}]{value}")
    if option.repeated:
        return f"'*'{_spelled(option)}{text}"
    others = _quoted(f"({' '.join(option.names)})")
    return f"{others}{_spelled(option)}{text}"


def _spelled(option: Option) -> str:
    """Let a value be the next word, or follow a long option behind ``=`` and a short one at once."""
    if option.is_flag or option.values > 1:
        names = list(option.names)
    else:
        names = [f"{name}=" if name.startswith("--") else f"{name}+" for name in option.names]
    return f"{{{','.join(names)}}}" if len(names) > 1 else names[0]


def _argument(number: int, argument: Argument) -> str:
    place = "*" if argument.repeated else str(number)
    optional = ":" if argument.metavar.startswith("[") and not argument.repeated else ""
    return _quoted(f"{place}{optional}{_value(argument.metavar, value_of_argument(argument))}")


def _value(metavar: str, value: Value) -> str:
    return f":{_escaped(metavar, ':')}:{_action(value)}"


def _action(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"({' '.join(value.words)})"
    return _ACTIONS.get(value.kind, f" _cpuctl_ask {value.kind}")


def _escaped(text: str, characters: str) -> str:
    for character in ("\\", *characters):
        text = text.replace(character, f"\\{character}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
