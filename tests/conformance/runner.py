"""Running recorded cases against the engine and counting the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.all_operations import OPERATIONS
from tests.conformance.corpus import CorpusFile, Json, Recorded
from tests.conformance.coverage import GAPS, Gap

LONGEST_SHOWN = 200


@dataclass(slots=True)
class Tally:
    """Counts of one file, a line for every failure, and the undetermined answers by reason."""

    passed: int = 0
    failed: int = 0
    not_covered: int = 0
    failures: list[str] = field(default_factory=list)
    undetermined: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add other counts and failures to this one."""
        self.passed += other.passed
        self.failed += other.failed
        self.not_covered += other.not_covered
        self.failures += other.failures
        self.undetermined += other.undetermined

    def fail(self, recorded: Recorded, why: str) -> None:
        """Count a failure and keep its message."""
        self.failed += 1
        self.failures.append(f"{recorded.operation} {recorded.name}: {why}")


def run_file(corpus_file: CorpusFile) -> Tally:
    """Run every recorded case of one file."""
    return run_cases(corpus_file.recorded())


def run_cases(
    cases: Iterable[Recorded],
    gaps: Sequence[Gap] = GAPS,
    operations: Mapping[str, Callable[[Json], Json]] = OPERATIONS,
) -> Tally:
    """Run recorded cases; a case inside a declared gap must not pass."""
    tally = Tally()
    for recorded in cases:
        gap = next((gap for gap in gaps if gap.applies(recorded)), None)
        answer = _answer(recorded, operations)
        tally.undetermined.update(_undetermined(answer))
        differences = list(_differences(answer, recorded))
        if gap is not None and differences:
            tally.not_covered += 1
        elif gap is not None:
            tally.fail(recorded, f"passes although listed as not covered ({gap.why})")
        elif differences:
            tally.fail(recorded, "; ".join(differences[:3]))
        else:
            tally.passed += 1
    return tally


def _answer(recorded: Recorded, operations: Mapping[str, Callable[[Json], Json]]) -> Json | None:
    operation = operations.get(recorded.operation)
    return None if operation is None else operation(recorded.case)


def _undetermined(answer: Any) -> Iterator[str]:
    """Yield the reason of every undetermined answer, including those of a scenario's steps."""
    if isinstance(answer, dict):
        if "undetermined" in answer:
            yield answer["undetermined"]
        answer = list(answer.values())
    if isinstance(answer, list):
        for each in answer:
            yield from _undetermined(each)


def _differences(answered: Json | None, recorded: Recorded) -> Iterator[str]:
    if answered is None:
        yield f"no operation {recorded.operation!r}"
        return
    answer = _comparable(_requested_parts(answered, recorded.expect))
    right = [_comparable(each) for each in _right_answers(recorded)]
    if answer not in right and not left_to_chance(answer, right):
        yield from _compare(answer, right[0], "")


def left_to_chance(answer: Json, right: Sequence[Json]) -> bool:
    """Return whether an answer correctly says that a kubelet's restart depends on chance.

    The recorded runs have to differ in exactly that start and to agree with the answer before it.
    """
    steps = answer.get("steps", [])
    for index, step in enumerate(steps):
        if "undetermined" in step.get("start", {}):
            runs = [each["steps"] for each in right]
            before = all(run[:index] == steps[:index] for run in runs)
            return before and {run[index]["start"]["ok"] for run in runs} == {True, False}
    return False


def _right_answers(recorded: Recorded) -> Iterator[Json]:
    yield _without_notes(recorded.expect)
    yield from recorded.markers.get("variants", ())


def _requested_parts(answer: Json, expect: Json) -> Json:
    """Leave out state files if the recordings do."""
    return {name: value for name, value in answer.items() if name != "final" or name in expect}


def _without_notes(expect: Json) -> Json:
    """Leave out the notes that the recordings add to the steps of a reference implementation."""
    if "steps" not in expect:
        return expect
    steps = [{name: value for name, value in step.items() if name not in _NOTES} for step in expect["steps"]]
    return expect | {"steps": steps}


_NOTES = frozenset({"defects", "forkDefect", "kepExample"})


def _comparable(answer: Any) -> Any:
    """Parse memory state files if the order of a container's blocks depends on chance."""
    if isinstance(answer, dict):
        return {name: _in_order(name, _comparable(value)) for name, value in answer.items()}
    return [_comparable(each) for each in answer] if isinstance(answer, list) else answer


def _in_order(name: str, value: Any) -> Any:
    if name == "errors":
        # An API server reports each once, in some places in the order of a map.
        return sorted(set(value))
    if name != "memoryManagerState":
        return value
    file = json.loads(value)
    lists = [blocks for containers in file.get("entries", {}).values() for blocks in containers.values()]
    lists += [pod["memoryBlocks"] for pod in file.get("podEntries", {}).values()]
    if all(len(blocks) < 2 for blocks in lists):
        return value
    # The checksum depends on the order.
    del file["checksum"]
    for blocks in lists:
        blocks.sort(key=lambda block: block["type"])
    return file


def _compare(answer: Any, expect: Any, path: str) -> Iterator[str]:
    if isinstance(answer, dict) and isinstance(expect, dict):
        for key in sorted(answer.keys() | expect.keys()):
            yield from _compare(answer.get(key, "(absent)"), expect.get(key, "(absent)"), f"{path}.{key}")
    elif isinstance(answer, list) and isinstance(expect, list) and len(answer) == len(expect):
        for index, (got, wanted) in enumerate(zip(answer, expect, strict=True)):
            yield from _compare(got, wanted, f"{path}[{index}]")
    elif answer != expect:
        yield f"{path or 'answer'}: got {_short(answer)}, expected {_short(expect)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
