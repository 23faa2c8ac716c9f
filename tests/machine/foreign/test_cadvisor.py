from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.machine import model
from cpuctl.machine.foreign.cadvisor import decode_machine_info
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from tests.support.costs import seconds_below

L1 = {"id": 0, "size": 32768, "type": "Data", "level": 1}
L3 = {"id": 4, "size": 1 << 20, "type": "Unified", "level": 3}
CORES = [
    {"core_id": 0, "thread_ids": [0, 2], "socket_id": 1, "caches": [L1], "uncore_caches": [L3]},
    {"core_id": 7, "thread_ids": [1, 3], "socket_id": 1, "caches": None, "uncore_caches": [L3]},
]
NODE = {
    "node_id": 0,
    "memory": 1 << 30,
    "hugepages": [{"page_size": 2048, "num_pages": 5}],
    "cores": CORES,
    "caches": [{"id": 8, "size": 64 << 20, "type": "Unified", "level": 4}],
    "distances": [10, 21],
}
BARE = {"node_id": 252, "memory": 0, "hugepages": None, "cores": None}
GOOD = {"num_cores": 4, "num_sockets": 2, "memory_capacity": 3 << 30, "topology": [NODE, BARE]}


def info_of(document: object) -> MachineInfo:
    return decode_machine_info(Cursor.at_root(load_documents(json.dumps(document), "m.json")[0]))


def test_the_kubelets_view_is_taken_as_recorded() -> None:
    assert info_of(GOOD) == MachineInfo(
        nodes=(
            InfoNode(
                id=0,
                cores=(
                    InfoCore(socket_id=1, core_id=0, threads=(0, 2), uncore_cache_ids=(4,)),
                    InfoCore(socket_id=1, core_id=7, threads=(1, 3), uncore_cache_ids=(4,)),
                ),
                memory_bytes=1 << 30,
                hugepages={2048: 5},
                distances=(10, 21),
            ),
            InfoNode(id=252, cores=()),
        ),
        num_cpus=4,
        num_sockets=2,
        memory_bytes=3 << 30,
    )


def test_absent_values_are_those_of_go() -> None:
    """A kubelet rejects such information with its own error, so it must be decodable."""
    document = {"topology": [{"node_id": 0, "cores": [{"thread_ids": []}, {"thread_ids": [1, 1]}]}]}
    cores = (InfoCore(socket_id=0, threads=()), InfoCore(socket_id=0, threads=(1, 1)))
    node = InfoNode(id=0, cores=cores, memory_known=False)
    assert info_of(document) == MachineInfo(nodes=(node,), num_cpus=0, num_sockets=0, hugepages_known=False)


def test_the_kernels_view_is_rebuilt() -> None:
    machine, _, _ = read_printed(json.dumps(GOOD).encode(), "m.json")
    assert [str(core) for core in machine.cores] == ["0,2", "1,3"]
    assert {(machine.socket_of[cpu.number], cpu.numa_node) for cpu in machine.cpus} == {(1, 0)}
    assert [(c.level, str(c.cpus), c.id) for c in machine.caches] == [
        (1, "0,2", 0),
        (3, "0-3", 4),
        (4, "0-3", 8),
    ]
    assert [(node.id, node.memory_bytes) for node in machine.numa_nodes] == [(0, 1 << 30), (252, 0)]
    assert machine.memory_bytes == 3 << 30
    assert "which omits offline CPUs" in machine.findings[0].message


def test_a_package_with_an_unknown_number_is_not_a_numa_node() -> None:
    document = {
        "num_cores": 1,
        "topology": [{"node_id": -1, "cores": [{"thread_ids": [0], "socket_id": -1}]}],
    }
    machine, info, _ = read_printed(json.dumps(document).encode(), "m.json")
    assert machine.numa_nodes == ()
    assert info.nodes[0].id == -1


def test_large_cores_are_read_as_fast_as_small_ones() -> None:
    """Thousands of threads in one core, and caches that all of them share."""
    caches = [L3 | {"id": number % 8} for number in range(20_000)]
    core = {"thread_ids": list(range(8192)), "caches": caches}
    document = {"num_cores": 8192, "topology": [{"node_id": 0, "cores": [core], "caches": caches}]}
    text = json.dumps(document).encode()
    with seconds_below(10):
        machine, _, _ = read_printed(text, "m.json")
    assert len(machine.cores) == 1
    assert len(machine.caches) == 8


def test_caches_are_limited_by_the_cpus_that_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few megabytes of caches, each shared by thousands of CPUs, would fill the memory."""
    monkeypatch.setattr(model, "MAX_CACHE_USES", 40)
    document = GOOD | {"topology": [NODE | {"caches": [L3 | {"id": number} for number in range(11)]}]}
    with pytest.raises(InputError, match=r"^m.json: found too many caches: more than 40 uses"):
        read_printed(json.dumps(document).encode(), "m.json")


@dataclass(frozen=True)
class Refusal:
    name: str
    document: Any
    where: str
    want: str


def core(**changes: object) -> dict[str, object]:
    return {"topology": [{"node_id": 0, "cores": [{"thread_ids": [0]} | changes]}]}


REFUSALS = [
    Refusal("a list", [1], "m.json:1", "expected cAdvisor's machine information, found a list"),
    Refusal("a different object", {"cpu": {}}, "m.json:1", "expected cAdvisor's machine information, found"),
    Refusal("topology is text", {"topology": "x"}, "m.json:1: topology", "expected a list"),
    Refusal("no node id", {"topology": [{}]}, "m.json:1: topology[0]", "node_id is missing"),
    Refusal(
        "a CPU that is text",
        core(thread_ids=["0"]),
        "m.json:1: topology[0].cores[0].thread_ids[0]",
        "expected a whole number",
    ),
    Refusal(
        "a CPU beyond all kernels",
        core(thread_ids=[8192]),
        "m.json:1: topology[0].cores[0].thread_ids[0]",
        "a whole number of at most 8191",
    ),
    Refusal(
        "a CPU twice",
        core(thread_ids=[0, 0]),
        "m.json:1: topology[0].cores[0].thread_ids[1]",
        "CPU 0 is listed twice",
    ),
    Refusal(
        "a node twice",
        {"topology": [{"node_id": 0}, {"node_id": 0}]},
        "m.json",
        "NUMA nodes must be listed once",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_refusals_name_the_place(case: Refusal) -> None:
    with pytest.raises(InputError) as error:
        read_printed(json.dumps(case.document).encode(), "m.json")
    assert error.value.where == case.where
    assert case.want in error.value.message
