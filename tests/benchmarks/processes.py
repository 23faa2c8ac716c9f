"""Whole processes: how much longer a command takes than Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.benchmarks.timing import Run, Timing, measure

ROOT = Path(__file__).parents[2]
MACHINE = str(ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz")
CPUCTL = ("-m", "cpuctl")
COMMANDS: Sequence[tuple[str, Sequence[str]]] = (
    ("cpuctl --version", (*CPUCTL, "--version")),
    ("cpuctl --help", (*CPUCTL, "--help")),
    ("cpuctl plan --help", (*CPUCTL, "plan", "--help")),
    ("cpuctl checkpoint versions -o json", (*CPUCTL, "checkpoint", "versions", "-o", "json")),
    ("cpuctl topology -o json", (*CPUCTL, "topology", "-q", "-m", MACHINE, "-o", "json")),
    ("cpuctl plan -o json", (*CPUCTL, "plan", "-q", "-m", MACHINE, "-T", "web=4/4,2Gi", "-o", "json")),
    ("cpuctl plan", (*CPUCTL, "plan", "-q", "-m", MACHINE, "-T", "web=4/4,2Gi")),
)


def report() -> Iterator[str]:
    """Write a table of commands: milliseconds, and as a multiple of ``python -c pass``."""
    yield f"{'process':40}{'ms':>10}{'min..max':>20}{'x pass':>12}"
    nothing = _timed(("-c", "pass"))
    yield _line("python -c pass", nothing, nothing)
    for name, words in COMMANDS:
        yield _line(name, _timed(words), nothing)


def _timed(words: Sequence[str]) -> Timing:
    return measure(partial(_process, words), seconds=1)


def _process(words: Sequence[str]) -> Run:
    command = [sys.executable, *words]
    return partial(subprocess.run, command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def _line(name: str, timing: Timing, nothing: Timing) -> str:
    spread = f"{min(timing.runs) / 1000:.0f}..{max(timing.runs) / 1000:.0f}"
    multiple = timing.median / nothing.median
    return f"{name:40}{timing.median / 1000:>10.1f}{spread:>20}{multiple:>12.1f}"
