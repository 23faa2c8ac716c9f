"""Examples in help and texts can be copied: their options exist, and explanations are comments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpuctl.cli.completion.command_tree import Command, command_tree
from cpuctl.cli.completion.value_kinds import with_default_verb
from docs.generate.help_text import take_apart

ROOT = Path(__file__).parents[2]
TREE = command_tree()
COMMANDS = {each.words: with_default_verb(each) for each in TREE.walk()}
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINES = re.compile(r"^(?:    |\$ )?((?:sudo |kubectl |source )?.*\bcpuctl [a-z-].*)$")


def calls(line: str) -> Iterator[list[str]]:
    """Yield the words after each ``cpuctl`` of a line, up to the next shell operator."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    words: list[str] = []
    inside = False
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;<>()"):
            if inside:
                yield words
            words, inside = [], False
        elif inside:
            words.append(word)
        elif word.endswith("cpuctl"):
            inside = True


def wrong(words: list[str]) -> str:
    """Return the words of a command line that its command does not accept; empty if all are valid."""
    command = COMMANDS[()]
    while words and (below := COMMANDS.get((*command.words, words[0]))):
        command, words = below, words[1:]
    options = {name: option for option in command.options for name in option.names}
    arguments = 0
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and word != "-":
            name = word.partition("=")[0]
            if name not in options:
                return f"{command.path}: no option {name}"
            if not options[name].is_flag and "=" not in word:
                for _ in range(options[name].values):
                    next(rest)
        elif word != "...":
            arguments += 1
    return "" if _may_have(command, arguments) else f"{command.path}: {arguments} arguments"


def _may_have(command: Command, arguments: int) -> bool:
    return arguments <= len(command.arguments) or any(each.repeated for each in command.arguments)


@pytest.mark.parametrize("command", list(TREE.walk()), ids=lambda command: command.path or "cpuctl")
def test_examples_in_help_can_be_copied(command: Command) -> None:
    lines = take_apart(command.help).examples.replace("\\\n", " ").splitlines()
    assert [reported for line in lines for words in calls(line) if (reported := wrong(words))] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_examples_in_texts_can_be_copied(path: Path) -> None:
    lines = re.split("\n", path.read_text().replace("\\\n", " "))
    shown = [found[1] for line in lines if line.startswith(("    ", "$ ")) and (found := _LINES.match(line))]
    assert [reported for line in shown for words in calls(line) if (reported := wrong(words))] == []


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("cpuctl audit --root a   on this host", "audit: 3 arguments"),
        ("x | sudo cpuctl audit --nothing", "audit: no option --nothing"),
        ("cpuctl plan --compare A B -f a | cpuctl checkpoint dump a b", "checkpoint dump: 2 arguments"),
        ("cpuctl topology --cpus node:1    # on this host", ""),
    ],
)
def test_invalid_examples_are_found(line: str, reported: str) -> None:
    assert "".join(map(wrong, calls(line))) == reported
