"""Run command lines in this process, from the project's root."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpuctl.cli.app import run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command line printed and how it ended."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


Cpuctl = Callable[..., Result]


@pytest.fixture
def cpuctl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cpuctl:
    """Return a function that runs cpuctl with the given arguments."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words: str, stdin: bytes = b"", columns: int = 120, cwd: Path = ROOT) -> Result:
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(words)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
