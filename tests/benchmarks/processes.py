"""Whole processes: the time of a command, compared with an empty Python program and one that imports typer.

Budgets are multiples of an empty Python program, the column ``x pass``: 3 for the version, 6 for help,
and 12 for a plan from files as JSON. Fewer inputs take less; a table takes more.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MACHINE = ("-m", str(ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz"))
STATIC = ("--kubelet-config", str(ROOT / "fixtures" / "kubelet" / "static.yaml"))
PODS = ("-f", str(ROOT / "fixtures" / "pods"))
NODE = ("-m", str(ROOT / "fixtures" / "nodes" / "v2-2-numa" / "node.tar.xz"))
TIMELINE = (str(ROOT / "fixtures" / "timelines" / "case-a.yaml"),)
POD = ("-T", "web=4/4,2Gi")
JSON = ("-q", "-o", "json")
NOTHING = ("-c", "pass")
TYPER = ("-c", "import typer")
_ROUNDS = 11
_ANSWERS = (0, 3)  # done, or done with the answer no


class Command(NamedTuple):
    """A command line, its time limit as a multiple of an empty Python program, and its number of modules.

    Times depend on the machine and its load: ``tests/startup`` checks the number of cpuctl's
    modules that a command loads, each of which takes about a third of a millisecond.
    """

    words: Sequence[str]
    budget: int
    modules: int

    @property
    def name(self) -> str:
        """The command line with the last parts of its paths."""
        return " ".join(
            ["cpuctl", *(Path(word).name if "/fixtures/" in word else word for word in self.words)]
        )


COMMANDS = (
    Command(("--version",), 3, 2),
    Command(("--help",), 6, 10),
    Command(("plan", "--help"), 8, 49),
    Command(("checkpoint", "versions", *JSON), 10, 44),
    Command(("topology", *MACHINE, *JSON), 10, 67),
    Command(("config", "show", *MACHINE, *JSON), 10, 124),
    Command(("pods", "show", *PODS, *JSON), 12, 139),
    Command(("plan", *MACHINE, *POD, *JSON), 10, 174),
    Command(("plan", *MACHINE, *STATIC, *PODS, *JSON), 12, 194),
    Command(("plan", *MACHINE, *STATIC, *PODS), 16, 209),
    Command(("explain", *MACHINE, *STATIC, *POD, *JSON), 12, 192),
    Command(("resize", *MACHINE, *POD, "--set", "web:cpu=6", *JSON), 12, 203),
    Command(("replay", *TIMELINE, *JSON), 12, 233),
    Command(("checkpoint", "dump", *NODE, *JSON), 10, 99),
    Command(("checkpoint", "new", *MACHINE, *POD, "--kubelet-version", "1.36", *JSON), 12, 201),
    Command(("cgroups", "show", *NODE, *JSON), 12, 185),
    Command(("audit", *NODE, *JSON), 12, 200),
)


def report() -> Iterator[str]:
    """Write a table of commands: milliseconds, multiples of both reference programs, and the budget."""
    compile_dir(ROOT / "cpuctl", quiet=1)  # as pip does: a run that compiles measures something else
    yield f"{'ms':>6}{'x pass':>8}{'budget':>8}{'x typer':>9}{'min..max':>12}  process"
    for command in COMMANDS:
        yield _line(command)


def _line(command: Command) -> str:
    times, idle, typer = [], [], []
    _seconds(("-m", "cpuctl", *command.words))  # fill the page cache first
    for _ in range(_ROUNDS):
        # Alternating: the speed of virtual machines changes by half from one second to the next.
        before = _seconds(TYPER)
        times.append(_seconds(("-m", "cpuctl", *command.words)))
        typer.append(2 * times[-1] / (before + _seconds(TYPER)))
        idle.append(times[-1] / _seconds(NOTHING))
    spread = f"{min(typer):.1f}..{max(typer):.1f}"
    return (
        f"{median(times) * 1000:>6.0f}{median(idle):>8.1f}{command.budget:>8}"
        f"{median(typer):>9.2f}{spread:>12}  {command.name}"
    )


def _seconds(words: Sequence[str]) -> float:
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    assert done.returncode in _ANSWERS, words
    return perf_counter() - start
