"""The shipped recordings against what lscpu and numactl printed inside the same guests."""

from __future__ import annotations

import tarfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.sources import MachineSource, read_machine

MACHINES = Path(__file__).parents[2] / "fixtures" / "machines"
RECORDINGS = ["2s-2numa-32cpu.tar.xz", "2s-8numa-64cpu.tar.xz"]


def tool_output(recording: str, name: str) -> list[str]:
    with tarfile.open(MACHINES / recording) as tar:
        member = tar.extractfile(f"tools/{name}")
        assert member is not None
        return member.read().decode().splitlines()


def lscpu_rows(recording: str) -> dict[int, list[str]]:
    """Return the columns NODE, SOCKET, CORE and caches of ``lscpu -e`` by CPU."""
    rows = [line.split() for line in tool_output(recording, "lscpu.txt")[1:]]
    return {int(row[0]): row[1:5] for row in rows}


def partition(labels: Iterable[tuple[str, int]]) -> set[CPUSet]:
    groups: dict[str, list[int]] = defaultdict(list)
    for label, cpu in labels:
        groups[label].append(cpu)
    return {CPUSet.of(cpus) for cpus in groups.values()}


@pytest.fixture(params=RECORDINGS)
def recording(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(recording: str) -> MachineSource:
    return read_machine(str(MACHINES / recording))


def test_lscpu_sees_the_same_topology(recording: str, source: MachineSource) -> None:
    rows, machine = lscpu_rows(recording), source.machine
    assert set(rows) == set(machine.online)
    assert {cpu.number: str(cpu.numa_node) for cpu in machine.cpus} == {
        cpu: row[0] for cpu, row in rows.items()
    }
    assert set(machine.sockets.values()) == partition((row[1], cpu) for cpu, row in rows.items())
    assert set(machine.cores) == partition((row[2], cpu) for cpu, row in rows.items())


@pytest.mark.parametrize(
    ("column", "level", "kind"), [(0, 1, "Data"), (1, 1, "Instruction"), (2, 2, "Unified"), (3, 3, "Unified")]
)
def test_lscpu_sees_the_same_caches(
    recording: str, source: MachineSource, column: int, level: int, kind: str
) -> None:
    rows = lscpu_rows(recording)
    caches = {cache.cpus for cache in source.machine.caches if (cache.level, cache.kind) == (level, kind)}
    assert caches == partition((row[3].split(":")[column], cpu) for cpu, row in rows.items())


def test_numactl_sees_the_same_nodes(recording: str, source: MachineSource) -> None:
    """``numactl -H``: per node ``cpus`` and ``size``, then a matrix of distances."""
    lines = tool_output(recording, "numactl.txt")
    nodes = source.machine.numa_nodes
    for node in nodes:
        assert f"node {node.id} cpus: {' '.join(map(str, node.cpus))}" in lines
        assert f"node {node.id} size: {(node.memory_bytes or 0) >> 20} MB" in lines
    matrix = [line.split() for line in lines[lines.index("node distances:") + 2 :]]
    assert [[f"{node.id}:", *map(str, node.distances)] for node in nodes] == matrix


def test_the_recordings_have_no_findings(source: MachineSource) -> None:
    assert source.machine.findings == ()
    assert source.machine.model_name == "QEMU TCG CPU version 2.5+"
    assert source.info.num_cpus == len(source.machine.online)
    assert source.info.num_sockets == 2
    assert all(not core.uncore_cache_ids for node in source.info.nodes for core in node.cores)


def test_the_recordings_match_their_readme(recording: str) -> None:
    with tarfile.open(MACHINES / recording) as tar:
        members = tar.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names)
    assert {(member.mtime, member.mode, member.uid, member.gid) for member in members} == {(0, 0o644, 0, 0)}
    assert {name.split("/")[0] for name in names} == {"proc", "sys", "tools"}
