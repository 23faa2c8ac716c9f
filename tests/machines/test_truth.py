"""Recorded real machines against the output of other tools: run only if the recordings are available.

They come from public test suites under several licences and are not shipped with cpuctl.
"""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.archive import read_archive
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.machine.synthetic import describe_synthetic, parse_synthetic

MACHINES = Path(__file__).parents[2].parent / "shared" / "machines"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in MACHINES.glob("*.tar.gz"))
FIELDS = ("numa", "socket", "core", "l3")

pytestmark = pytest.mark.skipif(
    not NAMES and "CI" not in os.environ, reason=f"there are no recorded machines in {MACHINES}"
)


def test_the_recordings_are_there() -> None:
    """If CI is set, their absence is a failure, not a skip."""
    assert len(NAMES) > 90
    assert set(truths()) <= set(NAMES)
    assert sum(bool(truth_of(name, field)) for name in NAMES for field in FIELDS) > 250


@cache
def truths() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(gzip.decompress((MACHINES / "truths.json.gz").read_bytes()))
    return result


@cache
def source(name: str) -> MachineSource:
    return read_machine(str(MACHINES / f"{name}.tar.gz"))


def partition(labels: Mapping[int, object], cpus: CPUSet) -> set[CPUSet]:
    groups: dict[object, list[int]] = defaultdict(list)
    for cpu in cpus:
        groups[labels.get(cpu)].append(cpu)
    return {CPUSet.of(members) for members in groups.values()}


def labels_of(machine: Machine, field: str) -> Mapping[int, object]:
    if field == "numa":
        return {cpu.number: cpu.numa_node for cpu in machine.cpus}
    if field == "socket":
        return machine.socket_of
    groups = machine.l3_groups if field == "l3" else machine.cores
    return {cpu: group for group in groups for cpu in group}


def truth_of(name: str, field: str) -> dict[int, int]:
    """Return the true online CPUs; None if the field is disputed."""
    truth = truths().get(name, {"cpus": {}, "disputed": []})
    if field in truth["disputed"]:
        return {}
    reported = {int(cpu): labels[field] for cpu, labels in truth["cpus"].items() if field in labels}
    return {cpu: label for cpu, label in reported.items() if cpu in source(name).machine.online}


def records_l3(name: str) -> bool:
    """Return whether the recording has an L3 cache and its CPUs; some truths use other sources.

    Where a kernel's map is empty, lstopo takes the CPUs of the core.
    """
    tree = read_archive(MACHINES / f"{name}.tar.gz")
    cpu = "sys/devices/system/cpu"
    return any(
        (tree.read(f"{cpu}/{directory}/cache/{index}/level") or "").strip() == "3"
        and (tree.read(f"{cpu}/{directory}/cache/{index}/shared_cpu_map") or "1").strip("0,\n")
        for directory in tree.names(cpu)
        for index in tree.names(f"{cpu}/{directory}/cache")
    )


@pytest.mark.parametrize("name", NAMES)
def test_undisputed_partitions_are_read_right(name: str) -> None:
    machine = source(name).machine
    for field in FIELDS:
        reported = truth_of(name, field)
        if field == "l3" and reported and not records_l3(name):
            assert machine.l3_groups == ()
            continue
        cpus = CPUSet.of(reported)
        assert partition(labels_of(machine, field), cpus) == partition(reported, cpus), field


@pytest.mark.parametrize("name", NAMES)
def test_node_numbers_are_those_of_the_kernel(name: str) -> None:
    """Two conventions of lstopo differ: it counts a machine without nodes as one node, and names the memory
    nearest to CPUs rather than the node that lists them."""
    machine = source(name).machine
    with_cpus = {node.id for node in machine.numa_nodes if node.cpus}
    reported = {cpu: node for cpu, node in truth_of(name, "numa").items() if node in with_cpus}
    assert {cpu: machine.cpu_by_number[cpu].numa_node for cpu in reported} == reported


@pytest.mark.parametrize("name", [name for name in NAMES if truths().get(name, {}).get("disputed")])
def test_disputed_machines_have_findings(name: str) -> None:
    assert source(name).machine.findings


@pytest.mark.parametrize("name", NAMES)
def test_a_kubelet_never_sees_a_cpu_twice_or_one_that_is_not_online(name: str) -> None:
    machine, info = source(name).machine, source(name).info
    seen = [cpu for node in info.nodes for core in node.cores for cpu in core.threads]
    assert len(seen) == len(set(seen))
    assert set(seen) <= set(machine.online)


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_has_a_synthetic_form_or_a_reason(name: str) -> None:
    machine = source(name).machine
    try:
        again = parse_synthetic(describe_synthetic(machine))
    except ValueError as reason:
        missing = (machine.numa_known, "NUMA nodes"), (machine.cores_known, "cores")
        unknown = next((f"{what} are not recorded" for known, what in missing if not known), "")
        known = unknown or "share more than one level-3 cache"
        assert known in str(reason)  # noqa: PT017 - the other outcome is tested too
        return
    assert again.online == machine.online
    assert again.sockets == machine.sockets
    assert set(again.cores) == set(machine.cores)
    assert set(again.l3_groups) == set(machine.l3_groups)
    assert [
        (node.id, node.cpus, node.memory_bytes, node.hugepages, node.distances) for node in again.numa_nodes
    ] == [
        (node.id, node.cpus, node.memory_bytes, node.hugepages, node.distances) for node in machine.numa_nodes
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("qemu-")])
def test_lscpu_in_the_guest_saw_the_same(name: str) -> None:
    """``lscpu -p`` prints CPU, core, socket, node, nothing, L1d, L1i, L2, L3; an offline CPU has no core."""
    machine = source(name).machine
    with tarfile.open(MACHINES / f"{name}.tar.gz") as tar:
        member = tar.extractfile("tools/lscpu-p.txt")
        assert member is not None
        lines = member.read().decode().splitlines()
    table = [line.split(",") for line in lines if line[0] != "#"]
    rows = {int(row[0]): row for row in table if row[1]}
    assert set(rows) == set(machine.online)
    for field, column in {"core": 1, "socket": 2, "numa": 3, "l3": 8}.items():
        reported = {cpu: row[column] for cpu, row in rows.items()}
        assert partition(labels_of(machine, field), machine.online) == partition(reported, machine.online), (
            field
        )


def test_a_cadvisor_recording_of_the_same_machine_agrees() -> None:
    """One machine was recorded twice: as files, and as the output of cAdvisor."""
    ours = source("kni-debug-tools--xeon-multinuma-00").info
    theirs = read_machine(str(MACHINES / "cadvisor/kni-xeon-multinuma-00_machineinfo.json")).info
    assert [(node.id, node.cores) for node in ours.nodes] == [(node.id, node.cores) for node in theirs.nodes]
    assert ours.num_cpus == theirs.num_cpus
