"""A node with state files for tests: 16 CPUs on two NUMA nodes, two pods with CPUs and memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
)
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace

MACHINE = "synthetic:2s2n4c2t,mem=16Gi"
"""CPUs 0-3,8-11 and 4-7,12-15 on two NUMA nodes; n and n+8 are one core. Each node has 16 GiB."""

KUBELET = (
    "--cpu-manager-policy=static --reserved-cpus=0,8 --memory-manager-policy=Static "
    "--kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
)
V36, PODS_36, V37, ALL_37 = (
    StateReader(minor=36),
    StateReader(minor=36, pod_level_managers=True),
    StateReader(minor=37),
    StateReader(minor=37, pod_level_managers=True, exclusive_resize=True),
)
DB, WEB, GONE = "11111111-db", "22222222-web", "33333333-gone"


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


CPU_STATE = CPUStateFile(
    policy_name="static",
    default_cpu_set=cpus("0,3-4,6-8,11-12,14-15"),
    entries={DB: {"server": cpus("1-2,9-10")}, WEB: {"app": cpus("5,13")}},
)
GIB = 1 << 30


def block(size: int, node: int = 0) -> MemoryBlock:
    return MemoryBlock(numa_affinity=(node,), type="memory", size=size)


def numa_node(number: int, total: int, kept: int, taken: int, assignments: int) -> MemoryNode:
    free = total - kept
    table = MemoryTable(
        total=total, system_reserved=kept, allocatable=free, reserved=taken, free=free - taken
    )
    return MemoryNode(number_of_assignments=assignments, memory_map={"memory": table}, cells=(number,))


MEMORY_STATE = MemoryStateFile(
    policy_name="Static",
    machine_state={
        0: numa_node(0, 16 * GIB, GIB, 4 * GIB, 1),
        1: numa_node(1, 16 * GIB, 0, 2 * GIB, 1),
    },
    entries={DB: {"server": (block(4 * GIB),)}, WEB: {"app": (block(2 * GIB, 1),)}},
)


def write_states(
    directory: Path,
    cpu: CPUStateFile | None = CPU_STATE,
    memory: MemoryStateFile | None = MEMORY_STATE,
    writer: StateReader = V36,
) -> Path:
    """Write files, both by default."""
    directory.mkdir(exist_ok=True)
    if cpu is not None:
        (directory / "cpu_manager_state").write_text(write_cpu_state(cpu, writer))
    if memory is not None:
        (directory / "memory_manager_state").write_text(write_memory_state(memory, writer))
    return directory


def drifted(memory: MemoryStateFile, *, node: int, more: int) -> MemoryStateFile:
    """Change a file so that a NUMA node had more memory."""
    before = memory.machine_state[node]
    table = before.memory_map["memory"]
    changed = replace(
        table, total=table.total + more, allocatable=table.allocatable + more, free=table.free + more
    )
    nodes = {**memory.machine_state, node: replace(before, memory_map={"memory": changed})}
    return replace(memory, machine_state=nodes)


def pod(uid: str, name: str, container: str, count: int, gib: int, container_id: str = "") -> dict[str, Any]:
    amounts = {"cpu": str(count), "memory": f"{gib}Gi"}
    status = {"name": container, "containerID": f"containerd://{container_id}", "state": {"running": {}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid},
        "spec": {
            "nodeName": "node7",
            "containers": [
                {"name": container, "resources": {"requests": amounts, "limits": amounts}},
            ],
        },
        "status": {"phase": "Running", "qosClass": "Guaranteed", "containerStatuses": [status]},
    }


RUNNING = (pod(DB, "db", "server", 4, 4, "aaaa"), pod(WEB, "web", "app", 2, 2, "bbbb"))


def write_pods(path: Path, *pods: Mapping[str, Any]) -> Path:
    """Write the output of ``kubectl get pods -o json``."""
    items = list(pods or RUNNING)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def write_states_with_a_removed_pod(directory: Path) -> Path:
    """Write two files that need a repair: a pod in them no longer exists."""
    entries = {**CPU_STATE.entries, GONE: {"c": cpus("3,11")}}
    cpu = replace(CPU_STATE, default_cpu_set=cpus("0,4,6-8,12,14-15"), entries=entries)
    nodes = {**MEMORY_STATE.machine_state}
    table = nodes[0].memory_map["memory"]
    taken = replace(table, reserved=table.reserved + (1 << 30), free=table.free - (1 << 30))
    nodes[0] = replace(nodes[0], number_of_assignments=2, memory_map={"memory": taken})
    blocks = {**MEMORY_STATE.entries, GONE: {"c": (block(1 << 30),)}}
    return write_states(directory, cpu, replace(MEMORY_STATE, machine_state=nodes, entries=blocks))
