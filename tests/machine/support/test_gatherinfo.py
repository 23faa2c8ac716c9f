"""The report of the DRA driver for CPUs gives its machine, as far as the report covers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import read_machine
from tests.machine.support.archives import gatherinfo_report

RECORDED = sorted((Path(__file__).parents[3] / "fixtures" / "machines").glob("*.tar.xz"))


def read(text: str, tmp_path: Path) -> Machine:
    path = tmp_path / "node7"
    path.write_text(text)
    return read_machine(str(path)).machine


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_it_is_the_recorded_machine(recorded: Path, tmp_path: Path) -> None:
    """Facts that the report omits are in the note: memory, distances, huge pages, lower-level caches."""
    whole = read_machine(str(recorded)).machine
    machine = read(gatherinfo_report(whole), tmp_path)
    assert machine.cores == whole.cores
    assert machine.sockets == whole.sockets
    assert machine.l3_groups == whole.l3_groups
    assert [(node.id, node.cpus) for node in machine.numa_nodes] == [
        (node.id, node.cpus) for node in whole.numa_nodes
    ]
    (finding,) = (each for each in machine.findings if each.code == "not-collected")
    assert finding.message.startswith(
        "a report of dracpu gatherinfo without NUMA distances, NUMA node memory"
    )


def test_kinds_of_cores_are_read(tmp_path: Path) -> None:
    whole = read_machine("synthetic:1s1n4c1t").machine
    report = gatherinfo_report(whole).replace("standard", "p-core", 2).replace("standard", "e-core")
    machine = read(report.replace("uncoreCacheID: 0", "uncoreCacheID: -1"), tmp_path)
    assert str(machine.core_kinds.performance) == "0-1"
    assert str(machine.core_kinds.efficiency) == "2-3"
    assert machine.l3_groups == ()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("layoutVersion: v1", "layoutVersion: v2", 'layoutVersion: expected v1, found the string "v2"'),
        ("cpuID: 1\n", "cpuID: one\n", 'cpus[1].cpuID: expected a whole number, found the string "one"'),
        ("cpuID: 1\n", "cpuID: 0\n", "cpuDetails.cpus: expected CPUs, each listed once"),
        (
            "Version: v1\n",
            "Version: v1\n---\ncpuDetails: {}\n",
            "contains the reports of 2 nodes, expected one",
        ),
    ],
)
def test_an_error_names_its_place(old: str, new: str, problem: str, tmp_path: Path) -> None:
    report = gatherinfo_report(read_machine("synthetic:1s1n2c1t").machine)
    assert old in report
    with pytest.raises(InputError) as error:
        read(report.replace(old, new, 1), tmp_path)
    assert str(error.value).endswith(problem)
    assert str(error.value).startswith(str(tmp_path / "node7"))
