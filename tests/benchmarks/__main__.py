"""Measure cpuctl against the kubelet's recorded figures: ``python -m tests.benchmarks [TABLE]...``.

Every run gets fresh objects, built outside the timed part. Ratios say how many times faster cpuctl is:
raw, and scaled by how much slower this machine was at that moment than the one on which the kubelet was
measured. A wide min..max range means that the run was disturbed; ratios below 1.3 are noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tests.benchmarks import fleets, growth, kubelet_cases, processes, recordings, sizes

TABLES = {
    "recordings": recordings.report,
    "processes": processes.report,
    "growth": growth.report,
    "sizes": sizes.report,
    "fleets": fleets.report,
    "kubelet": kubelet_cases.report,
}


def main(names: Sequence[str]) -> None:
    """Print tables, all if none is named; the last line of each contains the median ratios."""
    for number, name in enumerate(names or TABLES):
        if number:
            _say([""])
        _say(TABLES[name]())


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
