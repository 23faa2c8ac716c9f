"""One machine in many formats: each gives the same model, except for what the table says it omits."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.foreign import form as told_of
from cpuctl.machine.foreign.form import MachineFact, MachineFormat
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.recognition import HEAD_BYTES, recognised
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import read_machine
from tests.support.machine_facts import FACTS, differences

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"
RECORDINGS = ["2s-2numa-32cpu.tar.xz", "2s-8numa-64cpu.tar.xz"]


def tool_output(recording: str, name: str) -> bytes:
    with tarfile.open(MACHINES / recording) as tar:
        member = tar.extractfile(f"tools/{name}")
        assert member is not None
        return member.read()


def test_the_table_names_every_fact() -> None:
    forms = [each for each in vars(told_of).values() if isinstance(each, MachineFormat)]
    assert set(FACTS) == set(MachineFact)
    assert all(form.recorded < set(MachineFact) for form in forms)
    assert len({form.name for form in forms}) == len(forms) > 5


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        (
            "lscpu.txt",
            {
                MachineFact.OFFLINE,
                MachineFact.NUMA,
                MachineFact.SOCKETS,
                MachineFact.CORES,
                MachineFact.CACHES,
            },
        ),
        (
            "numactl.txt",
            {MachineFact.NUMA, MachineFact.BARE_NODES, MachineFact.DISTANCES, MachineFact.NODE_MEMORY},
        ),
    ],
)
def test_the_guests_own_tools_print_the_same_machine(
    recording: str, name: str, facts: set[MachineFact]
) -> None:
    kernels = read_machine(str(MACHINES / recording))
    printed = read_printed(tool_output(recording, name), name)
    assert printed.content.facts == facts
    assert differences(kernels.machine, printed.machine, printed.content) == {}
    assert printed.machine.online == kernels.machine.online


@pytest.mark.parametrize("recording", RECORDINGS)
def test_lscpu_gives_the_same_kubelets_view(recording: str) -> None:
    """Sockets, cores and uncore caches are the same as from the kernel's own files."""
    kernels = read_machine(str(MACHINES / recording)).info
    printed = read_printed(tool_output(recording, "lscpu.txt"), "lscpu.txt").info
    assert [[core.threads for core in node.cores] for node in printed.nodes] == [
        [core.threads for core in node.cores] for node in kernels.nodes
    ]
    assert [[core.uncore_cache_ids for core in node.cores] for node in printed.nodes] == [
        [core.uncore_cache_ids for core in node.cores] for node in kernels.nodes
    ]
    assert (printed.num_cpus, printed.num_sockets) == (kernels.num_cpus, kernels.num_sockets)


def ghw_report(machine: Machine) -> dict[str, Any]:
    """Write what ghw prints of a machine: it groups by NUMA nodes, and splits caches among them."""
    nodes = []
    for node in machine.numa_nodes:
        cores = [core for core in machine.cores if core <= node.cpus]
        caches = [cache for cache in machine.caches if cache.cpus & node.cpus]
        amounts = {
            str(size << 10): {
                "total": count,
                "free": node.free_hugepages.get(size, 0),
                "surplus": 0,
                "reserved": 0,
            }
            for size, count in node.hugepages.items()
        }
        nodes.append(
            {
                "id": node.id,
                "cores": [
                    {"id": number, "total_hardware_threads": len(core), "logical_processors": list(core)}
                    for number, core in enumerate(cores)
                ],
                "caches": [
                    {
                        "level": cache.level,
                        "type": cache.kind.lower(),
                        "size_bytes": cache.size_bytes,
                        "logical_processors": list(cache.cpus & node.cpus),
                    }
                    for cache in caches
                ],
                "distances": list(node.distances),
                "memory": {
                    "total_physical_bytes": (node.memory_bytes or 0) + (64 << 20),
                    "total_usable_bytes": node.memory_bytes,
                    "supported_page_sizes": [size << 10 for size in node.hugepages],
                    "huge_page_amounts_by_size": amounts,
                },
            }
        )
    return {"topology": {"architecture": "numa", "nodes": nodes}}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_ghw_prints_sockets_only_with_its_list_of_processors(recording: str) -> None:
    kernels = read_machine(str(MACHINES / recording)).machine
    report = ghw_report(kernels)
    topology = read_printed(json.dumps(report).encode(), "ghw.json")
    assert differences(kernels, topology.machine, topology.content) == {}
    assert MachineFact.SOCKETS not in topology.content.facts
    assert topology.machine.sockets == {}
    assert (
        topology.content.assumed[0] == "sockets are not reported: every NUMA node is assumed to be a socket"
    )
    report["cpu"] = {
        "processors": [
            {
                "id": number,
                "model": kernels.model_name,
                "cores": [{"id": 0, "logical_processors": list(cpus)}],
            }
            for number, cpus in kernels.sockets.items()
        ]
    }
    report["memory"] = {"total_usable_bytes": kernels.memory_bytes}
    whole = read_printed(json.dumps(report).encode(), "ghw.json")
    assert whole.content.facts >= {
        MachineFact.SOCKETS,
        MachineFact.MODEL,
        MachineFact.MEMORY,
        MachineFact.HUGE_PAGES,
    }
    assert differences(kernels, whole.machine, whole.content) == {}


def test_missing_facts_are_unknown_and_not_absent() -> None:
    printed = read_printed(b"available: 1 nodes (0)\nnode 0 cpus: 0 1\n", "numactl.txt")
    machine = printed.machine
    assert (machine.cores_known, machine.caches_known, machine.hugepages_known) == (False, False, False)
    assert (machine.memory_bytes, machine.numa_nodes[0].memory_bytes, machine.present) == (None, None, None)
    assert machine.sockets == {}
    assert [finding.code for finding in machine.findings] == [
        "not-described",
        "left-out",
        "assumed",
        "assumed",
    ]
    assert (
        "does not include offline CPUs, sockets, cores, caches, total memory" in machine.findings[0].message
    )
    assert machine.findings[1].message.endswith("can: distances, NUMA node memory")
    assert [core.threads for core in printed.info.nodes[0].cores] == [(0,), (1,)]
    assert printed.info.nodes[0].memory_known is False


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"# a note\n0,1\n",
        b"hello CPU world\n",
        b"sys/devices\0\0",
        b"\x1f\x8b\x08",
        b"\xfd7zXZ\0",
        b"1,2\n",
    ],
)
def test_other_files_are_left_to_the_archive_reader(text: bytes) -> None:
    assert recognised(text[:HEAD_BYTES]) is None


def test_the_format_is_recognized_independent_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "node.tar.gz"
    path.write_bytes(b"\xef\xbb\xbf\n# CPU,Core\n0,0\n1,0\n")
    source = read_machine(str(path))
    assert source.machine.cores == (CPUSet.parse("0-1"),)
    assert source.content is not None
    assert source.content.form.name == "lscpu -p"
