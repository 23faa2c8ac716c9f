"""Manual pages: one for each command, with the man(7) macros that both groff and mandoc support."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cpuctl import __version__
from cpuctl.cli.completion.command_tree import Command, Option
from docs.generate.common import ENVIRONMENT, EXIT_CODES, FILES, NOTICE
from docs.generate.help_text import Block, take_apart

_DATE = "2026-11-22"
_WIDTH = 78
_SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def man_name(command: Command) -> str:
    """Name the page of a command: ``cpuctl-checkpoint-dump``."""
    return "-".join(("cpuctl", *command.words))


def man_page(command: Command, root: Command) -> str:
    """Write the manual page of one command."""
    text = take_apart(command.help)
    name = man_name(command)
    lines = [
        f'.\\" {_plain(NOTICE)}',
        f'.TH {name.upper()} 1 {_DATE} "cpuctl {__version__}"',
        ".SH NAME",
        *_filled_roff(f"{name} \\- {_text((command.summary or text.summary).removesuffix('.'))}"),
        ".SH SYNOPSIS",
        *_synopsis(command),
        ".SH DESCRIPTION",
        *_paragraphs([Block(text.summary), *text.blocks]),
        *_verbs(command),
        *_arguments(command),
        ".SH OPTIONS",
        *_options(command),
        *_pairs("EXIT STATUS", (command.words and text.exit_codes) or EXIT_CODES),
    ]
    if not command.words:
        lines += [*_pairs("ENVIRONMENT", ENVIRONMENT), *_pairs("FILES", FILES)]
    if text.examples:
        lines += [".SH EXAMPLES", *_verbatim(text.examples)]
    return "\n".join([*lines, *_see_also(command, root)]) + "\n"


def _synopsis(command: Command) -> Iterator[str]:
    words = " ".join(("cpuctl", *command.words))
    yield f".B {_text(words)}"
    yield "[\\fIOPTIONS\\fR]"
    if command.verbs:
        yield "[\\fICOMMAND\\fR] ..." if command.default_verb else "\\fICOMMAND\\fR ..."
    yield from (f"\\fI{_text(each.metavar.strip('{}'))}\\fR" for each in command.arguments)


def _verbs(command: Command) -> Iterator[str]:
    if not command.verbs:
        return
    yield ".SH COMMANDS"
    for verb in command.verbs:
        yield from (".TP", f".BR {man_name(verb).replace('-', chr(92) + '-')} (1)", *_filled(verb.summary))


def _arguments(command: Command) -> Iterator[str]:
    if not command.arguments:
        return
    yield ".SH ARGUMENTS"
    for argument in command.arguments:
        yield from (".TP", f"\\fI{_text(argument.metavar.strip('{}'))}\\fR", *_filled(argument.help))


def _options(command: Command) -> Iterator[str]:
    panels = command.panels
    for panel, options in panels.items():
        if len(panels) > 1:
            yield f".SS {panel}"
        for option in options:
            yield from _option(option)


def _option(option: Option) -> Iterator[str]:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in option.names)
    yield ".TP"
    yield names + (f" \\fI{_text(option.metavar)}\\fR" if option.metavar else "")
    again = " Can be given several times." if option.repeated else ""
    default = f" Default: {option.default}." if option.default else ""
    yield from _filled(option.help + again + default)


def _pairs(title: str, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in pairs:
        yield from (".TP", f".B {_text(name)}", *_filled(meaning))


def _see_also(command: Command, root: Command) -> Iterator[str]:
    parent = next((each for each in root.walk() if command in each.verbs), None)
    near = parent.verbs if parent is not None and parent.words else ()
    names = sorted({man_name(each) for each in (root, *near, *command.verbs, *(() if near else root.verbs))})
    others = [name.replace("-", "\\-") for name in names if name != man_name(command)]
    yield ".SH SEE ALSO"
    yield from (f".BR {name} (1){',' if name != others[-1] else ''}" for name in others)


def _paragraphs(blocks: Sequence[Block]) -> Iterator[str]:
    for place, block in enumerate(blocks):
        if block.verbatim:
            yield ".PP"
            yield from _verbatim(block.text)
        else:
            yield from ([".PP"] if place else [])
            yield from _filled(block.text)


_INDENTATION, _NARROWEST = 11, 78
"""Columns before an example, and how many a terminal has at least: long lines are indented less."""


def _verbatim(text: str) -> Iterator[str]:
    longest = max(map(len, text.splitlines()), default=0)
    yield from (".nf", f".in {min(_INDENTATION, max(_NARROWEST - longest, 0))}")
    yield from (_text(line) for line in text.splitlines())
    yield from (".in", ".fi")


def _filled(text: str) -> Iterator[str]:
    """Wrap a paragraph to make diffs readable; troff fills it again."""
    return _filled_roff(_text(text))


def _filled_roff(roff: str) -> Iterator[str]:
    for line in textwrap.wrap(roff, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"\\&{line}" if line.startswith((".", "\\(aq")) else line


def _plain(text: str) -> str:
    return text.replace("`", "")


def _text(text: str) -> str:
    """Escape troff's special characters, and characters outside ASCII."""
    escaped = "".join(
        _SPECIAL.get(each, each if each.isascii() else f"\\[u{ord(each):04X}]") for each in text
    )
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped
