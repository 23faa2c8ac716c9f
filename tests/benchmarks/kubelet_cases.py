"""The recorded benchmark cases: cpuctl compared with the kubelet's own Go code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.operations import preparation
from tests.benchmarks.timing import Prepare, Timing, calibrate, measure
from tests.conformance.corpus import Json, corpus_files

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
FIGURES: Json = json.loads(Path(__file__).with_name("kubelet_figures.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Row:
    """One case: cpuctl's time and the kubelet's, in microseconds.

    ``calibration`` is the calibration program's time in ms, the mean of the best runs before and after:
    virtual machines change their speed from one second to the next.
    """

    name: str
    ours: Timing
    kubelet: float
    calibration: float

    @property
    def ratio(self) -> float:
        """How many times faster cpuctl is."""
        return self.kubelet / self.ours.median

    @property
    def scaled(self) -> float:
        """How many times faster cpuctl would be on the machine on which the kubelet was measured."""
        there: float = FIGURES["calibration_ms"]
        return self.ratio * self.calibration / there


def report() -> Iterator[str]:
    """Write a table of all cases."""
    prepared = [(bench, preparation(bench)) for bench in sorted(_benches(), key=_name)]
    yield f"calibration program: {FIGURES['calibration_ms']} ms on the kubelet's machine"
    yield (
        f"{'case':40}{'cpuctl us':>10}{'min..max':>20}{'kubelet us':>12}{'ratio':>10}"
        f"{'calibr. ms':>12}{'scaled':>10}"
    )
    rows = []
    for bench, prepare in prepared:
        rows.append(row := _timed(bench, prepare))
        yield _line(row)
    yield _closing_line(rows)


def _benches() -> Iterator[Json]:
    for corpus_file in corpus_files(CORPUS):
        if corpus_file.name.startswith("bench_"):
            yield from corpus_file.inputs()


def _name(bench: Json) -> str:
    return f"{bench['bench']} {bench['variant']}".strip()


def _timed(bench: Json, prepare: Prepare) -> Row:
    before, ours, after = calibrate(), measure(prepare), calibrate()
    return Row(_name(bench), ours, FIGURES["microseconds"][_name(bench)], (before + after) / 2)


def _line(row: Row) -> str:
    spread = f"{min(row.ours.runs):.0f}..{max(row.ours.runs):.0f}"
    return (
        f"{row.name:40}{row.ours.median:>10.0f}{spread:>20}{row.kubelet:>12.0f}"
        f"{row.ratio:>10.1f}{row.calibration:>12.1f}{row.scaled:>10.1f}"
    )


def _closing_line(rows: list[Row]) -> str:
    lowest = min(rows, key=lambda row: row.scaled)
    return (
        f"median ratio {median(row.ratio for row in rows):.1f}, "
        f"scaled {median(row.scaled for row in rows):.1f}; "
        f"lowest {lowest.ratio:.1f}, scaled {lowest.scaled:.1f} ({lowest.name}); {len(rows)} cases"
    )
