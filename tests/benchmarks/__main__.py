"""Measure cpuctl against the kubelet's recorded figures: ``python -m tests.benchmarks``.

Every run gets fresh objects, built outside the timed part. Ratios say how many times faster cpuctl is:
raw, and scaled by how much slower this machine was at that moment than the one on which the kubelet was
measured. What is far apart in min..max was disturbed; ratios below 1.3 are noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tests.benchmarks import fleets, growth, kubelet_cases, processes, recordings, sizes


def main() -> None:
    """Print the tables, each line as soon as it is measured; the closing line holds the median ratios."""
    _say(recordings.report())
    _say([""])
    _say(processes.report())
    _say([""])
    _say(growth.report())
    _say([""])
    _say(sizes.report())
    _say([""])
    _say(fleets.report())
    _say([""])
    _say(kubelet_cases.report())


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
