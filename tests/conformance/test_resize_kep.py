"""The preview's default reading: as recorded if no defect is noted, otherwise as its code requires.

A part of the resizes, all of them in ``make recordings``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.outcome import Admitted
from tests.conformance.corpus import ONE_IN, corpus_files
from tests.conformance.kep_reading import EITHER, FORBIDDEN, LEFT_ALONE, POSSIBLE, Asked, answers_of_the_kep

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"


@pytest.fixture(scope="module")
def requested() -> list[tuple[str, Asked]]:
    (corpus_file,) = (each for each in corpus_files(CORPUS) if each.name == "resize")
    return [(each.name, one) for each in corpus_file.part() for one in answers_of_the_kep(each)]


def test_no_answer_contradicts_its_code(requested: list[tuple[str, Asked]]) -> None:
    assert [f"{name}: {problem}" for name, one in requested for problem in one.problems()] == []


def test_every_code_occurs(requested: list[tuple[str, Asked]]) -> None:
    met = Counter(code for _, one in requested for code in one.codes)
    assert met.keys() == POSSIBLE | EITHER | FORBIDDEN | {LEFT_ALONE, "partialApply"}
    assert sum(not one.codes for _, one in requested) > 3000 / ONE_IN


def test_departures_from_the_kep_are_named(requested: list[tuple[str, Asked]]) -> None:
    """A departure is named for every code; without one there is none."""
    silent = [name for name, one in requested if one.codes - EITHER and not one.resized.departures]
    named = [name for name, one in requested if not one.codes and one.resized.departures]
    assert (silent, named) == ([], [])


def test_a_wrong_answer_would_be_noticed(requested: list[tuple[str, Asked]]) -> None:
    refused = next(one for _, one in requested if not one.codes and not one.admitted)
    assert list(replace(refused, resized=Resized(verdict=Admitted())).problems())
    granted = next(
        one for _, one in requested if not one.codes and one.admitted and one.before.state != one.after.state
    )
    assert list(replace(granted, after=granted.before).problems())
