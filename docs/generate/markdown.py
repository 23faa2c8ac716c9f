"""The reference in Markdown: a page for each command, and an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.cli.completion.command_tree import Command, Option
from docs.generate.common import ENVIRONMENT, EXIT_CODES, FILES, NOTICE
from docs.generate.help_text import Block, take_apart

_GENERATED_TEXTS = (
    "[Schemas](schemas.md) of output and input, [configuration rules of the kubelet](kubelet-rules.md), "
    "[differences between releases](releases.md), [KEP coverage](keps.md)."
)
_OTHER_TEXTS = (
    "See also: [tutorial](../tutorial.md), [how-to](../how-to.md), "
    "[how the managers decide](../explanation.md), [synthetic machines](../synthetic.md)."
)


def page_name(command: Command) -> str:
    """Name the page of a command: ``checkpoint-dump.md``."""
    return f"{'-'.join(command.words)}.md"


def command_page(command: Command) -> str:
    """Write the page of one command."""
    text = take_apart(command.help)
    parts = [f"# cpuctl {command.path}", text.summary, _code(_synopsis(command)), *_blocks(text.blocks)]
    if command.verbs:
        parts += [
            "## Commands",
            _table(("Command", "Description"), [_verb_row(each) for each in command.verbs]),
        ]
    if text.examples:
        parts += ["## Examples", _code(text.examples)]
    if command.arguments:
        rows = [(_mono(each.metavar), _cell(each.help)) for each in command.arguments]
        parts += ["## Arguments", _table(("Argument", "Meaning"), rows)]
    parts += ["## Options", *_options(command)]
    if not command.verbs:
        codes = [(code, _cell(meaning)) for code, meaning in text.exit_codes or EXIT_CODES]
        parts += ["## Exit codes", _table(("Code", "Meaning"), codes)]
    return _page([*parts, "All commands: [reference](README.md)."])


def index_page(root: Command) -> str:
    """Write the list of commands, and what applies to all of them."""
    commands = [each for each in root.walk() if each.words]
    rows = [_verb_row(each) for each in commands]
    return _page(
        [
            "# Reference",
            "All commands and their options, as in `cpuctl COMMAND --help` and `man cpuctl`.",
            _table(("Command", "Description"), rows),
            _GENERATED_TEXTS,
            _OTHER_TEXTS,
            "## Exit codes",
            _table(("Code", "Meaning"), EXIT_CODES),
            "## Environment",
            _table(("Variable", "Meaning"), [(_mono(name), meaning) for name, meaning in ENVIRONMENT]),
            "## Files",
            _table(("File", "Meaning"), [(_mono(name), meaning) for name, meaning in FILES]),
        ]
    )


def _page(parts: Sequence[str]) -> str:
    return "\n\n".join([f"<!-- {NOTICE} -->", *parts]) + "\n"


def _synopsis(command: Command) -> str:
    words = [f"cpuctl {command.path}", "[OPTIONS]"]
    if command.verbs:
        words += ["[COMMAND]" if command.default_verb else "COMMAND", "..."]
    return " ".join([*words, *(each.metavar.strip("{}") for each in command.arguments)])


def _verb_row(command: Command) -> tuple[str, str]:
    return f"[`cpuctl {command.path}`]({page_name(command)})", _cell(command.summary)


def _options(command: Command) -> Iterator[str]:
    """Write one table for each panel, without a heading if there is only one."""
    panels = command.panels
    for panel, options in panels.items():
        if len(panels) > 1:
            yield f"### {panel}"
        yield _table(("Option", "Default", "Meaning"), list(_option_rows(options)))


def _option_rows(options: Sequence[Option]) -> Iterator[tuple[str, str, str]]:
    for option in options:
        names = ", ".join(option.names) + (f" {option.metavar}" if option.metavar else "")
        again = " Can be given several times." if option.repeated else ""
        yield _mono(names), _mono(option.default) if option.default else "", _cell(option.help + again)


def _blocks(blocks: Sequence[Block]) -> list[str]:
    return [_code(block.text) if block.verbatim else _cell(block.text) for block in blocks]


def _code(text: str) -> str:
    return f"```\n{text}\n```"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mono(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")
