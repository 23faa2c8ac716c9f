"""Option names in the layers below the commands are those of existing options."""

from __future__ import annotations

import ast
from pathlib import Path

from cpuctl import option_names
from cpuctl.cli.completion.command_tree import Command, command_tree

PACKAGE = Path(__file__).parents[1] / "cpuctl"


def options_of(command: Command) -> set[str]:
    own = {name for option in command.options for name in option.names}
    return own.union(*(options_of(verb) for verb in command.verbs))


def test_every_name_belongs_to_an_option() -> None:
    named = {
        value for value in vars(option_names).values() if isinstance(value, str) and value.startswith("--")
    }
    assert "--memory" in named
    assert named <= options_of(command_tree())


def test_option_names_in_errors_come_from_the_table() -> None:
    files = [
        path for folder in ("inputs", "operations", "policies") for path in (PACKAGE / folder).rglob("*.py")
    ]
    places = [
        (path.name, keyword.value.lineno, ast.unparse(keyword.value))
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "where"
    ]
    assert places
    assert [place for place in places if "--" in place[2]] == []
