"""Recorded starts on state files: the verdict before the start is what the kubelet did, and repairs help.

The default tests check a part of them, ``make recordings`` all that are sampled here.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cpuctl.engine.state_moves import NotRepaired
from tests.conformance.corpus import ONE_IN, Recorded, corpus_files
from tests.conformance.verified import (
    Asked,
    RepairedFiles,
    disagreement,
    found,
    repaired,
    starts_on_files,
    verdict_on_own_files,
)

FILES = {each.name: each for each in corpus_files(Path(__file__).parents[2] / "fixtures" / "conformance")}
SAMPLES = {
    "checkpoint": 1,
    "1.37/podrestart": 3,
    "1.37/upgrade": 4,
    "1.38/podrestart": 3,
    "memory": 6,
    "podlevel": 12,
    "config": 4,
    "admission": 40,
    "resize": 60,
}
"""There are many restarts: one in this many is checked, except for those about state files."""


def on_files(recorded: Recorded) -> bool:
    case = recorded.case
    restarts = any(step["op"] == "restart" for step in case.get("steps", ()))
    return recorded.operation == "node" and (restarts or "cpuManagerState" in case)


@cache
def requested(name: str) -> tuple[Asked, ...]:
    return tuple(start for recorded in _sample(name) for start in starts_on_files(recorded))


def _sample(name: str) -> Iterator[Recorded]:
    restarts = [each for each in FILES[name].recorded() if on_files(each)]
    restarts.sort(key=lambda each: zlib.crc32(each.name.encode()))
    one_in = SAMPLES[name] * (1 if name == "checkpoint" else ONE_IN)
    yield from restarts[: len(restarts) // one_in + 1]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_verdict_is_what_the_kubelet_did(name: str) -> None:
    starts = requested(name)
    assert starts
    assert [f"{start.name}: {wrong}" for start in starts if (wrong := disagreement(start))] == []


@pytest.mark.parametrize("name", ["admission", "podlevel", "1.31/fresh"])
def test_what_a_kubelet_has_assigned_is_not_called_misaligned(name: str) -> None:
    own = [
        (each.name, verdict)
        for each in FILES[name].part()
        if (verdict := verdict_on_own_files(each)) is not None
    ]
    assert own
    misaligned = {"split-core", "spans-nodes"}
    assert [scenario for scenario, each in own if misaligned & {found.code for found in each.findings}] == []


def read(texts: tuple[str | None, str | None], start: Asked) -> list[object]:
    files = found(texts, start.reader)
    return [file and file.read for file in (files.cpu, files.memory)]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_kubelet_starts_on_repaired_files(name: str) -> None:
    for start in requested(name):
        after = repaired(start)
        if isinstance(after, RepairedFiles):
            assert after.verdict.starts, start.name
            if start.verdict.starts and not after.actions:
                assert read(after.texts, start) == read(start.texts, start)


def test_recordings_fail_for_many_reasons_and_most_files_can_be_repaired() -> None:
    """The sample would be of little use if every kubelet in it started."""
    refused = [start for start in requested("checkpoint") if not start.verdict.starts]
    codes = {finding.code for start in refused for finding in start.verdict.findings}
    assert codes >= {
        *("held-and-shared", "memory-changed", "memory-drift", "no-such-cpus", "pool-empty"),
        *("reserved-in-pool", "reserved-not-in-pool", "policy-differs", "unaccounted-cpus", "unreadable"),
    }
    ends = Counter(type(repaired(start)).__name__ for start in refused)
    assert ends["RepairedFiles"] > 5 * ends[NotRepaired.__name__] > 0
