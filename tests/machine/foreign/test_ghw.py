"""Text that ghw would not print is rejected with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.machine.foreign.reading import read_printed

CORE = {"id": 0, "logical_processors": [0, 1]}
CACHE = {"level": 3, "type": "unified", "size_bytes": 4096, "logical_processors": [0, 1]}
NODE = {"id": 0, "cores": [CORE], "caches": [CACHE], "distances": [10], "memory": None}


def report(**changes: object) -> dict[str, Any]:
    return {"topology": {"architecture": "smp", "nodes": [NODE | changes]}}


def test_the_topology_section_alone_is_read_too() -> None:
    machine = read_printed(json.dumps(report()["topology"]).encode(), "g").machine
    assert (str(machine.online), machine.hugepages_known, machine.memory_bytes) == ("0-1", False, None)


@pytest.mark.parametrize(
    ("document", "where", "message"),
    [
        (report(id=8192), "g:1: topology.nodes[0].id", "a whole number of at most 8191"),
        (report(cores=[CORE, CORE]), "cores[1].logical_processors[0]", "CPU 0 is listed twice"),
        (report(cores=[CORE | {"logical_processors": [-1]}]), "logical_processors[0]", "at least 0"),
        (report(caches=[CACHE | {"type": "odd"}]), "caches[0].type", "one of unified, instruction, data"),
        (report(memory={"huge_page_amounts_by_size": {"2M": {}}}), "by_size", "a page size in bytes"),
        (report(cores=[]), "g", "contains no online CPU"),
        ({"topology": {"nodes": {}}}, "topology.nodes", "expected a list"),
        ({"topology": {"nodes": [{"id": number} for number in range(1025)]}}, "topology", "at most 1024"),
    ],
)
def test_text_that_ghw_would_not_print_is_rejected_with_its_path(
    document: object, where: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_printed(json.dumps(document).encode(), "g")
    assert where in caught.value.where
    assert message in caught.value.message


REAL_CORES = (0, 10, 1, 2, 8, 9)
"""The core ids of the two nodes, in the order in which ghw printed them."""


def test_the_report_of_a_real_machine_of_two_nodes() -> None:
    """Facts of ``ghwc topology -f json`` in the tests of resource-topology-exporter: a Xeon of 2 x 6 cores.

    Neighbouring CPUs are on different nodes, threads of a core are not in order, caches are missing.
    """
    threads = {0: [0, 12], 10: [10, 22], 1: [14, 2], 2: [16, 4], 8: [18, 6], 9: [20, 8]}
    nodes = [
        {
            "id": node,
            "cores": [
                {
                    "id": core,
                    "index": index,
                    "total_threads": 2,
                    "logical_processors": [cpu + node for cpu in threads[core]],
                }
                for index, core in enumerate(REAL_CORES)
            ],
            "distances": [10, 20] if node == 0 else [20, 10],
        }
        for node in (0, 1)
    ]
    machine = read_printed(json.dumps({"nodes": nodes}).encode(), "ghw.json").machine
    assert [str(node.cpus) for node in machine.numa_nodes] == [
        "0,2,4,6,8,10,12,14,16,18,20,22",
        "1,3,5,7,9,11,13,15,17,19,21,23",
    ]
    assert [node.distances for node in machine.numa_nodes] == [(10, 20), (20, 10)]
    assert {str(core) for core in machine.cores} == {f"{cpu},{cpu + 12}" for cpu in range(12)}
    assert {cpu.number: cpu.core_id for cpu in machine.cpus if cpu.numa_node == 1} == {
        cpu + 1: core for core, cpus in threads.items() for cpu in cpus
    }
    assert (machine.caches_known, machine.memory_bytes, machine.sockets) == (False, None, {})


def test_the_whole_report_of_a_real_virtual_machine() -> None:
    """Facts of ``ghwc -f json`` in the tests of u-root's package health: a cloud node with one CPU.

    This release prints no amounts of huge pages, only their sizes, and no memory modules.
    """
    core = {"id": 0, "total_threads": 1, "logical_processors": [0]}
    memory = {
        "total_physical_bytes": 8589934592,
        "total_usable_bytes": 8056090624,
        "supported_page_sizes": [1073741824, 2097152],
        "modules": None,
    }
    sizes = ((1, "instruction", 32768), (1, "data", 32768), (2, "unified", 1048576), (3, "unified", 34603008))
    caches = [
        {"level": level, "type": kind, "size_bytes": size, "logical_processors": [0]}
        for level, kind, size in sizes
    ]
    processor = {
        "id": 0,
        "total_cores": 1,
        "total_threads": 1,
        "vendor": "GenuineIntel",
        "model": "Intel(R) Xeon(R) CPU @ 2.80GHz",
        "capabilities": ["fpu", "avx512_vnni"],
        "cores": [core],
    }
    node = {"id": 0, "cores": [core], "caches": caches, "distances": [10], "memory": memory}
    whole = {
        "memory": memory,
        "block": {"total_size_bytes": 53687091200, "disks": []},
        "cpu": {"total_cores": 1, "total_threads": 1, "processors": [processor]},
        "topology": {"architecture": "smp", "nodes": [node]},
        "gpu": {"cards": None},
        "pci": {"Devices": []},
    }
    machine = read_printed(json.dumps(whole).encode(), "ghw.json").machine
    assert (machine.memory_bytes, machine.numa_nodes[0].memory_bytes) == (8056090624, 8056090624)
    assert (machine.model_name, machine.hugepages_known) == ("Intel(R) Xeon(R) CPU @ 2.80GHz", False)
    assert {(cache.level, cache.size_bytes) for cache in machine.caches} == {
        (level, size) for level, _, size in sizes
    }
    assert {number: str(cpus) for number, cpus in machine.sockets.items()} == {0: "0"}
