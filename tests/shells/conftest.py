"""Shells with cpuctl's completion loaded, in their own directory."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.shells.terminal import KILL_LINE, LINE_END, LINE_START, TAB, Terminal

ROOT = Path(__file__).parents[2]
SHELLS = ("bash", "zsh", "fish")
_READY = "ready>"
_THINKING = 10.0  # seconds
_START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--private", "--no-config", "-i"],
}
_SETUP = {
    "bash": "PS1='rea''dy>'; HISTFILE=; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; "
    "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; "
    "bind 'set completion-query-items 0'; source {completions}/cpuctl.bash",
    "zsh": "PS1='rea''dy>'; PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste; LISTMAX=500; "
    "cp {completions}/cpuctl.zsh ~/_cpuctl; fpath=(~ $fpath); autoload -U compinit; compinit -D -u",
    "fish": "function fish_prompt; echo -n 'rea''dy>'; end; set -g fish_autosuggestion_enabled 0; "
    "source {completions}/cpuctl.fish",
}


class Typist:
    """A user at a shell: the completions of a line, and the offered candidates."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def completed(self, line: str, expected: str = "") -> list[str]:
        """Type a line and TAB; return the words that the shell would then run.

        *expected* is only waited for, and does not affect the returned words.
        """
        before = self._terminal.mark()
        self._terminal.send(KILL_LINE + line.encode() + TAB)
        self._await(expected, before)
        before = self._terminal.mark()
        self._terminal.send(LINE_START + b"printf '<%s>\\n' " + LINE_END + b" end\r")
        shown = self._terminal.wait_for("<end>\n", before)
        words = [row[1:-1] for row in shown.splitlines() if row.startswith("<") and row.endswith(">")]
        self._terminal.settle(0.1)
        return words[:-1]

    def offered(self, line: str, *expected: str) -> str:
        """Type a line and TAB twice; return the terminal's output since then, and discard the line."""
        before = self._terminal.mark()
        self._terminal.send(KILL_LINE + line.encode() + TAB)
        self._terminal.settle()
        self._terminal.send(TAB)
        for word in expected or ("",):
            self._await(word, before)
        shown = self._terminal.shown(before)
        self._terminal.send(KILL_LINE)
        self._terminal.settle(0.4)
        return shown

    def _await(self, expected: str, before: int) -> None:
        """Wait long enough for a busy machine: a shell without output may still be working."""
        self._terminal.comes(expected, before, _THINKING)
        self._terminal.settle()


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory with pods and a machine, to which hostile names can be added."""
    for name in (
        "pods/database.yaml",
        "pods/web.yaml",
        "resize/running.json",
        "machines/2s-2numa-32cpu.tar.xz",
    ):
        shutil.copy(ROOT / "fixtures" / name, tmp_path)
    return tmp_path


Seat = Callable[[str], Typist]


@pytest.fixture
def seat(workplace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seat]:
    """Return a function that starts a shell in the workplace."""
    home = tmp_path_factory.mktemp("home")
    _write_program(home / "cpuctl")
    environment = {
        "PATH": f"{home}:/usr/bin:/bin",
        "HOME": str(home),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "200",
        "LINES": "200",
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
    }
    open_ones: list[Terminal] = []

    def start(shell: str) -> Typist:
        terminal = Terminal(_START[shell], workplace, environment)
        open_ones.append(terminal)
        setup = _SETUP[shell].format(completions=ROOT / "completions")
        terminal.settle(1.5)
        terminal.send(setup.encode() + b"\r")
        terminal.wait_for(_READY)
        terminal.settle(0.3)
        return Typist(terminal)

    yield start
    for terminal in open_ones:
        terminal.__exit__()


def _write_program(path: Path) -> None:
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m cpuctl "$@"\n')
    path.chmod(0o700)
