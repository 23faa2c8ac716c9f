"""Whole processes: how much longer a command takes than Python that does nothing, and than it should.

The budget is a hundred milliseconds for help and JSON where that Python takes ten; tables may take forty
more, and reading YAML twenty.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MACHINE = ("-m", str(ROOT / "fixtures" / "machines" / "2s-2numa-32cpu.tar.xz"))
STATIC = ("--kubelet-config", str(ROOT / "fixtures" / "kubelet" / "static.yaml"))
PODS = ("-f", str(ROOT / "fixtures" / "pods"))
POD = ("-T", "web=4/4,2Gi")
JSON = ("-q", "-o", "json")
NOTHING = ("-c", "pass")
_ROUNDS = 11


class Command(NamedTuple):
    """A command line, and how many times as long as ``python -c pass`` it may take."""

    words: Sequence[str]
    budget: int

    @property
    def name(self) -> str:
        """The command line with the last parts of its paths."""
        return " ".join(
            ["cpuctl", *(Path(word).name if "/fixtures/" in word else word for word in self.words)]
        )


COMMANDS = (
    Command(("--version",), 3),
    Command(("--help",), 10),
    Command(("plan", "--help"), 10),
    Command(("checkpoint", "versions", *JSON), 10),
    Command(("topology", *MACHINE, *JSON), 10),
    Command(("config", "show", *MACHINE, *JSON), 10),
    Command(("pods", "show", *PODS, *JSON), 12),
    Command(("plan", *MACHINE, *POD, *JSON), 10),
    Command(("plan", *MACHINE, *STATIC, *PODS, *JSON), 12),
    Command(("plan", *MACHINE, *STATIC, *PODS), 16),
    Command(("explain", *MACHINE, *STATIC, *POD, *JSON), 12),
)


def report() -> Iterator[str]:
    """Write a table of commands: milliseconds, and as a multiple of ``python -c pass``."""
    yield f"{'x pass':>10}{'min..max':>14}{'budget':>8}{'ms':>8}  process"
    for command in COMMANDS:
        yield _line(command)


def _line(command: Command) -> str:
    times, multiples = [], []
    _seconds(("-m", "cpuctl", *command.words))  # what is read from disk for the first time
    for _ in range(_ROUNDS):
        # Side by side: the speed of virtual machines changes by half from one second to the next.
        nothing = _seconds(NOTHING)
        times.append(_seconds(("-m", "cpuctl", *command.words)))
        multiples.append(2 * times[-1] / (nothing + _seconds(NOTHING)))
    spread = f"{min(multiples):.1f}..{max(multiples):.1f}"
    milliseconds = median(times) * 1000
    return f"{median(multiples):>10.1f}{spread:>14}{command.budget:>8}{milliseconds:>8.0f}  {command.name}"


def _seconds(words: Sequence[str]) -> float:
    start = perf_counter()
    subprocess.run(
        [sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return perf_counter() - start
