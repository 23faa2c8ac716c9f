"""Machines as the recorded cases write them, converted to the machine information of a kubelet."""

from __future__ import annotations

from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from tests.conformance.corpus import Json

_PAGE_KIB = {"2Mi": 2048, "1Gi": 1048576, "64Ki": 64, "32Mi": 32768, "16Gi": 16777216, "512Mi": 524288}


def machine_info(machine: Json) -> MachineInfo:
    """Read one machine object; the three totals default to the sums over the nodes."""
    nodes = tuple(_node(node) for node in machine["numaNodes"])
    cores = [core for node in nodes for core in node.cores]
    return MachineInfo(
        nodes=nodes,
        num_cpus=machine.get("numCPUs", sum(len(core.threads) for core in cores)),
        num_sockets=machine.get("numSockets", len({core.socket_id for core in cores})),
        memory_bytes=machine.get("memoryBytes", sum(node.memory_bytes for node in nodes)),
    )


def _node(node: Json) -> InfoNode:
    return InfoNode(
        id=node["id"],
        cores=tuple(_core(core) for core in node["cores"]),
        memory_bytes=node.get("memoryBytes", 0),
        hugepages={_PAGE_KIB[size]: count for size, count in node.get("hugepages", {}).items()},
        distances=tuple(node.get("distances", ())),
    )


def _core(core: Json) -> InfoCore:
    cache = core.get("uncoreCacheID")
    return InfoCore(
        socket_id=core["socketID"],
        core_id=core.get("coreID", 0),
        threads=tuple(core["cpus"]),
        uncore_cache_ids=() if cache is None else (cache,),
    )
