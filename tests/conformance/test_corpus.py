"""The kubelet's recorded answers, shipped in ``fixtures/conformance``: a part of them.

``make conformance`` runs all.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conformance.corpus import ONE_IN, CorpusFile, Recorded, corpus_files
from tests.conformance.coverage import Gap
from tests.conformance.runner import run_cases

CORPUS = Path(__file__).parents[2] / "fixtures" / "conformance"


@pytest.mark.parametrize("corpus_file", corpus_files(CORPUS), ids=lambda corpus_file: corpus_file.name)
def test_every_covered_answer_equals_the_kubelets(corpus_file: CorpusFile) -> None:
    tally = run_cases(corpus_file.part())
    assert not tally.failures
    assert tally.passed or not any("expect" in line for line in corpus_file.inputs())


def test_a_part_contains_every_setting_and_depends_only_on_the_answers(tmp_path: Path) -> None:
    """A setting that occurs once in a thousand answers is in the part, at any position in the file."""
    lines = [_line(f"case-{number}", "static") for number in range(1000)]
    parts = []
    for at in (0, 500, 1000):
        path = tmp_path / f"{at}.jsonl.gz"
        path.write_bytes(gzip.compress("".join([*lines[:at], _line("odd", "none"), *lines[at:]]).encode()))
        (corpus_file,) = (each for each in corpus_files(tmp_path) if each.path == path)
        parts.append([recorded.name for recorded in corpus_file.part()])
    assert parts[0] == parts[1] == parts[2]
    assert "odd" in parts[0]
    assert len(parts[0]) * ONE_IN == pytest.approx(1000, rel=0.2)


def _line(name: str, policy: str) -> str:
    return json.dumps({"case": {"op": "node", "name": name, "policy": policy}, "expect": {}}) + "\n"


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
    assert "depends on the iteration order of a map" in why
    assert (tally.failed, tally.undetermined.total()) == (1, 1)


def test_another_recorded_variant_is_also_correct() -> None:
    right = {"string": "0", "size": 1, "list": [0]}
    tally = run_cases([Recorded({"op": "cpuset", "cpuset": "0"}, {"error": "other"}, {"variants": [right]})])
    assert tally.passed == 1
