"""The kubelet's recorded answers in slices, each of which fails at its first wrong answer.

Collected only by mutation testing: the default tests check all of a file before they fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.corpus import Recorded, corpus_files
from tests.conformance.runner import run_cases

_CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"
_ELSEWHERE = {"cpuset", "qos", "quantity", "cgroupvalues"}
"""Files about what the engine and the checkpoints are made of."""
_SLICE = 40


def slices() -> Iterator[tuple[str, list[Recorded]]]:
    for corpus_file in corpus_files(_CORPUS):
        recorded = [] if corpus_file.name in _ELSEWHERE else list(corpus_file.recorded())
        for start in range(0, len(recorded), _SLICE):
            yield f"{corpus_file.name}-{start}", recorded[start : start + _SLICE]


SLICES = dict(slices())


@pytest.mark.parametrize("name", SLICES)
def test_recorded(name: str) -> None:
    for recorded in SLICES[name]:
        assert not run_cases([recorded]).failed
