"""All commands as plain values, read from the command table: the source of scripts and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import typer

from cpuctl.cli.app import app
from cpuctl.cli.command_table import COMMANDS
from cpuctl.cli.panels import ARGUMENTS, in_panels


class Option(NamedTuple):
    """An option. ``metavar`` is empty for a flag; ``default`` is set if it is worth documenting."""

    names: tuple[str, ...]
    metavar: str
    help: str
    panel: str
    default: str = ""
    choices: tuple[str, ...] = ()
    values: int = 1
    repeated: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether the option takes no value."""
        return not self.metavar


class Argument(NamedTuple):
    """A positional argument; brackets and dots of ``metavar`` show that it is optional or repeatable."""

    metavar: str
    help: str
    choices: tuple[str, ...] = ()
    repeated: bool = False


class Command(NamedTuple):
    """A command or group; ``words`` are what is typed after ``cpuctl``, none for ``cpuctl`` itself.

    ``summary`` is its line in the list of commands. ``default_verb`` is the verb that may be left out.
    """

    words: tuple[str, ...]
    summary: str
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...] = ()
    verbs: tuple[Command, ...] = ()
    default_verb: str = ""

    @property
    def path(self) -> str:
        """The words as one text: ``checkpoint dump``."""
        return " ".join(self.words)

    @property
    def panels(self) -> dict[str, tuple[Option, ...]]:
        """The options by the help panel that shows them."""
        panels = dict.fromkeys(option.panel for option in self.options)
        return {panel: tuple(each for each in self.options if each.panel == panel) for panel in panels}

    def walk(self) -> Iterator[Command]:
        """Yield this command and all commands below it, in the order of their help."""
        yield self
        for verb in self.verbs:
            yield from verb.walk()


def command_tree() -> Command:
    """Read every command; this imports all of their modules."""
    root: Any = typer.main.get_command(app)
    verbs = tuple(
        _read(root.get_command(None, name), (name,), entry.help) for name, entry in COMMANDS.items()
    )
    return Command(words=(), summary="", help=_help(root), options=_options(root), verbs=verbs)


def _read(command: Any, words: tuple[str, ...], summary: str = "") -> Command:  # noqa: ANN401  # typer's types are private
    below = command.list_commands(None) if hasattr(command, "list_commands") else ()
    return Command(
        words=words,
        summary=summary or _help(command).partition("\n\n")[0].replace("\n", " "),
        help=_help(command),
        options=_options(command),
        arguments=tuple(_argument(each) for each in command.params if each.param_type_name == "argument"),
        verbs=tuple(_read(command.get_command(None, name), (*words, name)) for name in below),
        default_verb=getattr(command, "default_verb", ""),
    )


def _help(command: Any) -> str:  # noqa: ANN401
    return (command.help or "").strip()


def _options(command: Any) -> tuple[Option, ...]:  # noqa: ANN401
    context = typer.Context(command, help_option_names=["-h", "--help"])
    panels = in_panels(command.get_params(context))
    panels.pop(ARGUMENTS, None)
    return tuple(_option(each, panel) for panel, members in panels.items() for each in members)


def _option(option: Any, panel: str) -> Option:  # noqa: ANN401
    choices = tuple(getattr(option.type, "choices", ()))
    metavar = "" if option.is_flag else (option.metavar or "|".join(choices) or "VALUE")
    return Option(
        names=tuple(sorted(option.opts, key=lambda name: name.startswith("--"))),
        metavar=metavar,
        help=option.help or "",
        panel=panel,
        default=_default(option),
        choices=choices,
        values=option.nargs,
        repeated=option.multiple,
    )


def _default(option: Any) -> str:  # noqa: ANN401
    if option.is_flag or option.multiple or option.default in (None, ""):
        return ""
    return str(getattr(option.default, "value", option.default))


def _argument(argument: Any) -> Argument:  # noqa: ANN401
    return Argument(
        metavar=argument.metavar or argument.name.upper(),
        help=argument.help or "",
        choices=tuple(getattr(argument.type, "choices", ())),
        repeated=argument.nargs == -1,
    )
