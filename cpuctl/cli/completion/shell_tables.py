"""The tables that fill the templates of the shell scripts: commands, options, values."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cli.completion.command_tree import Argument, Command, Option
from cpuctl.cli.completion.value_kinds import Kind, Value, complete_commands, value_of, value_of_argument

_INDENT = " " * 8


def fill_bash(template: str, root: Command) -> str:
    """Fill the bash template with the tables of all commands."""
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


_WORDS = {
    Kind.NOTHING: "-x",
    Kind.FILE: "-r -F",
    Kind.DIRECTORY: "-x -a '(__fish_complete_directories)'",
    Kind.MACHINE: "-x -a '(__cpuctl_machine)'",
}


def fill_fish(template: str, root: Command) -> str:
    """Fill the fish template with the commands."""
    commands = list(complete_commands(root))
    paths = [_fish_quoted(each.path) for each in commands if each.words]
    values = [
        _fish_quoted(f"{each.path}:{name}")
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
        yield _line(_fish_argument(command, 1), f"-a {verb.words[-1]} -d {_fish_quoted(verb.summary)}")
    for number, argument in enumerate(command.arguments, start=1):
        place = _at(command) if argument.repeated else _fish_argument(command, number)
        value = value_of_argument(argument)
        if value.kind is not Kind.NOTHING:
            yield _line(place, _fish_value(value).replace("-x ", "").replace("-r ", ""))
    for option in command.options:
        yield _line(_at(command), _fish_option(option))


def _line(condition: str, rest: str) -> str:
    return f"complete -c cpuctl -n {_fish_quoted(condition)} {rest}"


def _at(command: Command) -> str:
    return f'__cpuctl_at "{command.path}"'


def _fish_argument(command: Command, number: int) -> str:
    return f'__cpuctl_argument "{command.path}:{number}"'


def _fish_option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = [] if option.is_flag else [_fish_value(value_of(option))]
    return " ".join([*names, *value, f"-d {_fish_quoted(option.help)}"])


def _fish_value(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"-x -a {_fish_quoted(' '.join(value.words))}"
    return _WORDS.get(value.kind, f"-x -a '(__cpuctl_ask {value.kind})'")


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_ACTIONS = {
    Kind.NOTHING: " ",
    Kind.FILE: "_files",
    Kind.DIRECTORY: "_files -/",
    Kind.MACHINE: " _cpuctl_machine",
}


def fill_zsh(template: str, root: Command) -> str:
    """Fill the zsh template with the commands."""
    commands = list(complete_commands(root))
    verbs = "\n".join(line for each in commands if each.verbs for line in _verbs(each))
    calls = "\n".join(line for each in commands for line in _call(each))
    return template.replace("@VERBS@", verbs).replace("@COMMANDS@", calls)


def _verbs(group: Command) -> Iterator[str]:
    yield f"        {_zsh_quoted(group.path)})"
    yield "            verbs=("
    for verb in group.verbs:
        yield f"                {_zsh_quoted(f'{verb.words[-1]}:{verb.summary}')}"
    yield "            )"
    yield "            ;;"


def _call(command: Command) -> Iterator[str]:
    function = f"_cpuctl_group {_zsh_quoted(command.path)}" if command.verbs else "_arguments"
    arguments = [_zsh_argument(number, each) for number, each in enumerate(command.arguments, start=1)]
    words = [*map(_zsh_option, command.options), *arguments]
    yield f"        {_zsh_quoted(command.path)})"
    yield f"            {function} \\"
    yield " \\\n".join(f"                {word}" for word in words)
    yield "            ;;"


def _zsh_option(option: Option) -> str:
    """Write ``'(-o --output)'{-o,--output}'[The form.]:table|json:(table json)'``."""
    value = "" if option.is_flag else _zsh_value(option.metavar, value_of(option)) * option.values
    text = _zsh_quoted(f"[{_escaped(option.help, '[]:')}]{value}")
    if option.repeated:
        return f"'*'{_spelled(option)}{text}"
    others = _zsh_quoted(f"({' '.join(option.names)})")
    return f"{others}{_spelled(option)}{text}"


def _spelled(option: Option) -> str:
    """Let a value be the next word, follow a long option after ``=``, or follow a short one directly."""
    if option.is_flag or option.values > 1:
        names = list(option.names)
    else:
        names = [f"{name}=" if name.startswith("--") else f"{name}+" for name in option.names]
    return f"{{{','.join(names)}}}" if len(names) > 1 else names[0]


def _zsh_argument(number: int, argument: Argument) -> str:
    place = "*" if argument.repeated else str(number)
    optional = ":" if argument.metavar.startswith("[") and not argument.repeated else ""
    return _zsh_quoted(f"{place}{optional}{_zsh_value(argument.metavar, value_of_argument(argument))}")


def _zsh_value(metavar: str, value: Value) -> str:
    return f":{_escaped(metavar, ':')}:{_action(value)}"


def _action(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"({' '.join(value.words)})"
    return _ACTIONS.get(value.kind, f" _cpuctl_ask {value.kind}")


def _escaped(text: str, characters: str) -> str:
    for character in ("\\", *characters):
        text = text.replace(character, f"\\{character}")
    return text


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
