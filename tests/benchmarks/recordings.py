"""Reading recorded machines: unpacking, the sysfs reader and the kubelet's view of the result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cpuctl.machine.sources import read_machine
from tests.benchmarks.timing import Run, Timing, measure

MACHINES = Path(__file__).parents[2] / "fixtures" / "machines"


def report() -> Iterator[str]:
    """Write a table of the shipped recordings: milliseconds to read each."""
    yield f"{'recording':40}{'ms':>10}{'min..max':>20}"
    for path in sorted(MACHINES.glob("*.tar.*")):
        yield _line(path.name, measure(partial(_reading, path), seconds=1))


def _reading(path: Path) -> Run:
    return partial(read_machine, str(path))


def _line(name: str, timing: Timing) -> str:
    spread = f"{min(timing.runs) / 1000:.1f}..{max(timing.runs) / 1000:.1f}"
    return f"{name:40}{timing.median / 1000:>10.1f}{spread:>20}"
