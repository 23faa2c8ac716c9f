"""Run a directory of recorded answers: ``python -m tests.conformance DIR [--shuffle [SEED]]``.

Shuffled, the cases of all files run in one random order: no case may depend on what ran before it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from tests.conformance.corpus import CorpusFile, corpus_files
from tests.conformance.runner import Tally, run_cases, run_file
from tests.conformance.through_policies import run_through_policies

FAILURES_SHOWN = 5


def main(words: Iterable[str]) -> int:
    """Print the counts of every file, its first failures, all counts, and why answers were undetermined."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("directory", metavar="DIR", type=Path, help="of *.jsonl.gz files and machines.json")
    parser.add_argument(
        "--shuffle",
        metavar="SEED",
        nargs="?",
        type=int,
        const=time.time_ns(),
        help="mix the cases of all files",
    )
    requested = parser.parse_args(list(words))
    if not requested.directory.is_dir():
        parser.error(f"no such directory: {requested.directory}")
    files = corpus_files(requested.directory)
    total = Tally()
    for name, tally in in_order(files) if requested.shuffle is None else shuffled(files, requested.shuffle):
        total.add(tally)
        _say(f"{name}: {_counts(tally)}")
        for failure in tally.failures[:FAILURES_SHOWN]:
            _say(f"    {failure}")
    through = run_through_policies(files)
    if through.passed or through.failed:
        _say(f"picks of CPUs again, through the policy static: {_counts(through)}")
    for failure in through.failures[:FAILURES_SHOWN]:
        _say(f"    {failure}")
    _say(_counts(total))
    _say(f"{total.undetermined.total()} undetermined answers")
    for why, times in total.undetermined.most_common():
        _say(f"    {times} times: {why}")
    return 1 if total.failed or through.failed or not total.passed else 0


def in_order(files: Iterable[CorpusFile]) -> Iterator[tuple[str, Tally]]:
    """Run file by file."""
    for corpus_file in files:
        yield corpus_file.name, run_file(corpus_file)


def shuffled(files: Iterable[CorpusFile], seed: int) -> Iterator[tuple[str, Tally]]:
    """Run the cases of all files in an order that *seed* decides; count them by file."""
    _say(f"shuffled with seed {seed}")
    cases = [(corpus_file.name, recorded) for corpus_file in files for recorded in corpus_file.recorded()]
    tallies = {name: Tally() for name, _ in cases}
    Random(seed).shuffle(cases)  # noqa: S311  # an order, not a secret
    for name, recorded in cases:
        tallies[name].add(run_cases([recorded]))
    yield from tallies.items()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _counts(tally: Tally) -> str:
    return f"{tally.passed} passed, {tally.failed} failed, {tally.not_covered} not covered"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
