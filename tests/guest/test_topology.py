"""A live machine as cpuctl reads it, compared with lscpu and numactl in the guest, and the definition."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from tests.guest.conftest import LABELS, Observed

pytestmark = pytest.mark.guest


def partition(rows: Mapping[int, Mapping[str, object]], label: str) -> set[str]:
    groups: dict[object, list[int]] = defaultdict(list)
    for cpu, row in rows.items():
        groups[row[label]].append(cpu)
    return {str(CPUSet.of(cpus)) for cpus in groups.values()}


@pytest.fixture
def topology(observed: Observed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(observed.text("topology.json"))
    return document


@pytest.mark.parametrize("label", LABELS)
def test_cpus_are_grouped_as_in_lscpu(observed: Observed, topology: dict[str, Any], label: str) -> None:
    running = {row["cpu"]: row for row in topology["cpus"] if row["online"]}
    assert partition(running, label) == partition(observed.lscpu(), label)


def test_the_machine_is_the_one_that_was_booted(observed: Observed, topology: dict[str, Any]) -> None:
    case, machine = observed.case, observed.case.machine
    stopped = CPUSet.parse(case.offline)
    summary = topology["summary"]
    assert summary["present"] == f"0-{machine.cpus - 1}"
    assert (summary["offline"], summary["isolated"]) == (case.offline, case.isolated)
    assert summary["sockets"] == machine.sockets
    assert summary["l3Caches"] == machine.sockets * machine.dies
    assert [CPUSet.parse(node["cpus"]) for node in topology["numaNodes"]] == [
        CPUSet.parse(node.cpus) - stopped for node in machine.nodes
    ]
    assert tuple(tuple(node["distances"]) for node in topology["numaNodes"]) == machine.distances


def test_distances_are_those_of_numactl(observed: Observed) -> None:
    """Spaces at line ends differ, and free memory changes from one moment to the next."""
    ours, theirs = (
        [line.split() for line in observed.text(name).splitlines() if " free:" not in line]
        for name in ("distances.txt", "numactl.txt")
    )
    assert ours == theirs
