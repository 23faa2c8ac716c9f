"""Commands shown in pages, and their output: run again, compared and updated.

A code block marked ``console`` contains lines such as ``$ cpuctl plan -f pods.yaml``, each followed by its
output. A line of three dots matches any omitted lines. ``; echo $?`` shows the exit code; ``> FILE`` saves
the output for later commands. The commands of a page run in order, in a directory with ``fixtures/``, and in
a terminal of 112 columns, or as set by ``<!-- columns: 80 -->``.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPT = "$ "
_LEFT_OUT = "..."
_EXIT_CODE = "; echo $?"
_COLUMNS = re.compile(r"^<!-- columns: ([0-9]+) -->$", re.MULTILINE)
_USUAL_COLUMNS = "112"


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as shown in a page, on one line or several, and the output shown below it."""

    command: str
    output: tuple[str, ...]


def texts_with_commands(root: Path) -> list[Path]:
    """Return the hand-written pages that contain commands."""
    texts = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return [path for path in texts if _BLOCK.search(path.read_text(encoding="utf-8"))]


def refreshed(text: str, root: Path) -> str:
    """Return the text with the current output of its commands.

    Output with omitted lines is kept even if it no longer matches: its author decides which lines to show.
    """
    with _workplace(root, _columns(text)):
        return _BLOCK.sub(lambda found: f"```console\n{_rerun(found[1])}```", text)


def outdated(text: str, root: Path) -> list[tuple[Shown, tuple[str, ...]]]:
    """Return the commands whose output differs from the text, with their current output."""
    with _workplace(root, _columns(text)):
        shown = [each for block in _BLOCK.findall(text) for each in _taken_apart(block)]
        return [(each, output) for each in shown if not _fits(each.output, output := _run(each.command))]


def printed(command: str, root: Path) -> str:
    """Run a command in a directory with ``fixtures/``; return its output."""
    with _workplace(root):
        return _answer(shlex.split(command)[1:])[1]


def _columns(text: str) -> str:
    found = _COLUMNS.search(text)
    return found[1] if found else _USUAL_COLUMNS


def _rerun(block: str) -> str:
    lines: list[str] = []
    for shown in _taken_apart(block):
        output = _run(shown.command)
        keep = _LEFT_OUT in shown.output or _fits(shown.output, output)
        lines += [f"{_PROMPT}{shown.command}", *(shown.output if keep else output)]
    return "".join(f"{line}\n" for line in lines)


def _taken_apart(block: str) -> Iterator[Shown]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = 1 + next(place for place, line in enumerate(lines) if not line.endswith("\\"))
        yield Shown("\n".join(lines[:length]), tuple(lines[length:]))


def _fits(shown: Sequence[str], output: Sequence[str]) -> bool:
    """Compare, ignoring trailing whitespace and trailing empty lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == _LEFT_OUT else re.escape(line.rstrip()) + "\n" for line in _trimmed(shown)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(output))) is not None


def _trimmed(lines: Sequence[str]) -> list[str]:
    return "\n".join(line.rstrip() for line in lines).rstrip().splitlines()


def _run(command: str) -> tuple[str, ...]:
    wants_code = command.endswith(_EXIT_CODE)
    words = shlex.split(command.removesuffix(_EXIT_CODE).replace("\\\n", " "))
    target = Path(words.pop()) if words[-2:-1] == [">"] else None
    if target is not None:
        words.pop()
    if words[0] != "cpuctl":
        raise ValueError(f"only cpuctl commands can be run, not {words[0]}")
    code, out, both = _answer(words[1:])
    if target is not None:
        target.write_text(out, encoding="utf-8")
        both = ""
    return tuple(line.rstrip() for line in [*both.splitlines(), *([str(code)] if wants_code else [])])


def _answer(words: Sequence[str]) -> tuple[int, str, str]:
    """Run cpuctl in this process; return its exit code, its stdout, and stdout and stderr combined."""
    from cpuctl.cli.app import run

    terminal, out = _Stream(), _Stream()
    out.copy = terminal
    with redirect_stdout(out), redirect_stderr(terminal):
        code = run(words)
    return code, out.text(), terminal.text()


class _Stream(io.TextIOWrapper):
    """A stream in memory that also writes to another one, like stdout and stderr of one terminal."""

    copy: _Stream | None = None

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def write(self, text: str) -> int:
        if self.copy is not None:
            self.copy.write(text)
        return super().write(text)

    def text(self) -> str:
        """Return everything that was written."""
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode()


@contextmanager
def _workplace(root: Path, columns: str = _USUAL_COLUMNS) -> Iterator[None]:
    environment = {"NO_COLOR": "1", "COLUMNS": columns}
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as name, chdir(name):
        Path("fixtures").symlink_to(root / "fixtures")
        os.environ.update(environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
