"""The recorded benchmark cases: ours beside the kubelet's own Go code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.operations import preparation
from tests.benchmarks.timing import Prepare, Timing, measure
from tests.conformance.corpus import Json, corpus_files

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
FIGURES: Json = json.loads(Path(__file__).with_name("kubelet_figures.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Row:
    """One case: our time and the kubelet's, in microseconds."""

    name: str
    ours: Timing
    kubelet: float

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.kubelet / self.ours.median


def report(calibration: float) -> Iterator[str]:
    """Write a table of all cases; *calibration* is this machine's time for the calibration program, in ms."""
    scale = calibration / FIGURES["calibration_ms"]
    prepared = [(bench, preparation(bench)) for bench in sorted(_benches(), key=_name)]
    yield f"{'case':40}{'ours us':>10}{'min..max':>20}{'kubelet us':>12}{'ratio':>10}{'scaled':>10}"
    rows = []
    for bench, prepare in prepared:
        rows.append(row := _timed(bench, prepare))
        yield _line(row, scale)
    yield _closing_line(rows, scale)


def _benches() -> Iterator[Json]:
    for corpus_file in corpus_files(CORPUS):
        if corpus_file.name.startswith("bench_"):
            yield from corpus_file.inputs()


def _name(bench: Json) -> str:
    return f"{bench['bench']} {bench['variant']}".strip()


def _timed(bench: Json, prepare: Prepare) -> Row:
    return Row(_name(bench), measure(prepare), FIGURES["microseconds"][_name(bench)])


def _line(row: Row, scale: float) -> str:
    spread = f"{min(row.ours.runs):.0f}..{max(row.ours.runs):.0f}"
    return (
        f"{row.name:40}{row.ours.median:>10.0f}{spread:>20}{row.kubelet:>12.0f}"
        f"{row.ratio:>10.1f}{row.ratio * scale:>10.1f}"
    )


def _closing_line(rows: list[Row], scale: float) -> str:
    middle, lowest = median(row.ratio for row in rows), min(rows, key=lambda row: row.ratio)
    return (
        f"median ratio {middle:.1f}, scaled {middle * scale:.1f}; "
        f"lowest {lowest.ratio:.1f}, scaled {lowest.ratio * scale:.1f} ({lowest.name}); {len(rows)} cases"
    )
