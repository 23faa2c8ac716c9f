"""Timing of single runs, and this machine's speed relative to the one on which the kubelet was measured."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns

Run = Callable[[], object]
Prepare = Callable[[], Run]
"""Builds the input of one run from scratch, so that no run finds another run's caches."""


@dataclass(frozen=True)
class Timing:
    """Microseconds of every run of one operation."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.runs)


def measure(prepare: Prepare, *, seconds: float = 0.25, at_most: int = 300) -> Timing:
    """Time runs, at least five, until their sum fills *seconds*; preparing them is not timed."""
    _time(prepare())  # import what is loaded on first use
    gc.collect()
    gc.freeze()  # garbage of earlier runs is not collected in the timed part
    runs: list[float] = []
    while len(runs) < 5 or (len(runs) < at_most and sum(runs) < seconds * 1e6):
        runs.append(_time(prepare()))
    return Timing(tuple(runs))


def calibrate(runs: int = 5) -> float:
    """Time the calibration program, as it was timed on the kubelet's machine: milliseconds, best run."""
    return min(_time(_bits_and_dictionary) for _ in range(runs)) / 1000


def _time(run: Run) -> float:
    start = perf_counter_ns()
    run()
    return (perf_counter_ns() - start) / 1000


def _bits_and_dictionary() -> int:
    m, d = 0, {}
    for i in range(200_000):
        m ^= (i * 2654435761) & 0xFFFFFFFF
        d[i & 255] = m.bit_count()
    return m
