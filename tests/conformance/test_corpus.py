"""The kubelet's recorded answers, shipped in ``fixtures/conformance``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.corpus import CorpusFile, Recorded, corpus_files
from tests.conformance.coverage import Gap
from tests.conformance.runner import run_cases, run_file

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"


@pytest.mark.parametrize("corpus_file", corpus_files(CORPUS), ids=lambda corpus_file: corpus_file.name)
def test_every_covered_answer_equals_the_kubelets(corpus_file: CorpusFile) -> None:
    tally = run_file(corpus_file)
    assert not tally.failures


def test_a_wrong_answer_is_counted_as_failed() -> None:
    wrong = Recorded({"op": "cpuset", "cpuset": "0-1"}, {"string": "0", "size": 1, "list": [0]})
    tally = run_cases([wrong])
    assert (tally.passed, tally.failed) == (0, 1)
    assert "got '0-1', expected '0'" in tally.failures[0]


def test_a_case_that_passes_must_not_be_listed_as_a_gap() -> None:
    right = {"string": "0", "size": 1, "list": [0]}
    gaps = (Gap("nothing at all", lambda recorded: recorded.operation == "cpuset"),)
    tally = run_cases([Recorded({"op": "cpuset", "cpuset": "0"}, right)], gaps)
    assert tally.failed == 1
    assert "listed as not covered" in tally.failures[0]


def test_undetermined_answers_are_counted_by_their_reason() -> None:
    short = {"id": 0, "distances": [10]}, {"id": 1, "distances": [10]}
    one, other = [{"numa": [0], "preferred": True}], [{"numa": [1], "preferred": True}]
    case = {
        "op": "mergeHints",
        "numaNodes": list(short),
        "policy": "best-effort",
        "policyOptions": {"prefer-closest-numa-nodes": "true"},
        "providers": [{"a": one + other + one, "b": [{"numa": None, "preferred": False}, *one]}],
    }
    tally = run_cases([Recorded(case, {})])
    (why,) = tally.undetermined
    assert "depends on the order in which it walks a map" in why
    assert (tally.failed, tally.undetermined.total()) == (1, 1)


def test_another_recorded_variant_is_as_right() -> None:
    right = {"string": "0", "size": 1, "list": [0]}
    tally = run_cases([Recorded({"op": "cpuset", "cpuset": "0"}, {"error": "other"}, {"variants": [right]})])
    assert tally.passed == 1
