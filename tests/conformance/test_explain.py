"""Recorded rejections are explained, and suggestions work when the scenario is played with them."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from cpuctl.engine.explain.decision import Rule
from tests.conformance.corpus import ONE_IN, corpus_files
from tests.conformance.explained import all_refusals, explained, problems

FILES = {each.name: each for each in corpus_files(Path(__file__).parents[2] / "fixtures" / "conformance")}
SAMPLES = {"admission": 90, "hints": 8, "1.38/admission": 8, "memory": 24, "podlevel": 20, "config": 2}
"""There are many rejections: ``make recordings`` runs one in this many, the default tests a part of these.

``python -m tests.conformance.explained DIR`` runs all.
"""


@pytest.mark.parametrize("name", SAMPLES)
def test_rejections_are_explained_and_suggestions_work(name: str) -> None:
    refusals = sorted(all_refusals(FILES[name]), key=lambda each: zlib.crc32(str(each).encode()))
    sample = refusals[: len(refusals) // (SAMPLES[name] * ONE_IN) + 1]
    assert sample
    assert [problem for refusal in sample for problem in problems(refusal)] == []


def test_recordings_have_rejections_by_every_kind_of_rule() -> None:
    """The sample would be of little use if it contained only one rule."""
    wanted = {Rule.NOT_ENOUGH, Rule.LARGER_THAN_A_NODE, Rule.MASK_INEQUALITY, Rule.WHOLE_CORES}
    for refusal in list(all_refusals(FILES["hints"]))[::3]:
        wanted.discard(explained(refusal).decision.rule)
        if not wanted:
            break
    assert wanted == set()
