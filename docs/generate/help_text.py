"""Help texts split into paragraphs, verbatim blocks, examples and exit codes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EXIT_CODES = re.compile(r"(?:^|, )((?:\d{1,3}, )*\d{1,3}(?: or \d{1,3})?) (?=\D)")
_VERBATIM = "\b"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph on one line, or lines that are printed verbatim."""

    text: str
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class HelpText:
    """The parts of a help text; ``exit_codes`` are pairs of code and meaning."""

    summary: str
    blocks: tuple[Block, ...]
    examples: str
    exit_codes: tuple[tuple[str, str], ...]


def take_apart(help_text: str) -> HelpText:
    """Split the help of a command as typer does: a backspace starts a verbatim paragraph."""
    blocks = [_block(part) for part in re.split(r"\n\s*\n", help_text.strip())]
    blocks = [block for block in blocks if block.text]
    examples, rest = "", []
    codes: tuple[tuple[str, str], ...] = ()
    for place, block in enumerate(blocks):
        if block.verbatim and place and blocks[place - 1].text == "Examples:":
            examples = block.text
        elif block.text.startswith("Exit codes: "):
            codes = _exit_codes(block.text)
        elif block.text != "Examples:":
            rest.append(block)
    return HelpText(rest[0].text, tuple(rest[1:]), examples, codes)


def _block(part: str) -> Block:
    part = part.strip("\n")
    if part.startswith(_VERBATIM):
        lines = part.removeprefix(_VERBATIM).strip("\n").splitlines()
        indent = min(len(line) - len(line.lstrip()) for line in lines)
        return Block("\n".join(line[indent:].rstrip() for line in lines), verbatim=True)
    return Block(" ".join(part.split()))


def _exit_codes(text: str) -> tuple[tuple[str, str], ...]:
    text = text.removeprefix("Exit codes: ").removesuffix(".")
    _, *parts = re.split(_EXIT_CODES, text)
    return tuple(zip(parts[::2], parts[1::2], strict=True))
