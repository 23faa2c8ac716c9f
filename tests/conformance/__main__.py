"""Run a directory of recorded answers: ``python -m tests.conformance DIR``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.corpus import corpus_files
from tests.conformance.runner import Tally, run_file

FAILURES_SHOWN = 5


def main(directory: Path) -> int:
    """Print the counts of every file, its first failures, and one closing line."""
    total = Tally()
    for corpus_file in corpus_files(directory):
        tally = run_file(corpus_file)
        total.add(tally)
        _say(f"{corpus_file.name}: {_counts(tally)}")
        for failure in tally.failures[:FAILURES_SHOWN]:
            _say(f"    {failure}")
    _say(_counts(total))
    return 1 if total.failed or not total.passed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _counts(tally: Tally) -> str:
    return f"{tally.passed} passed, {tally.failed} failed, {tally.not_covered} not covered"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m tests.conformance DIR   (DIR holds *.jsonl.gz files and machines.json)")
    sys.exit(main(Path(sys.argv[1])))
