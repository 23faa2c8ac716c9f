"""Short scenarios for tests: pods that a kubelet admits one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.explanation import Explanation, deciding_rule, explain
from cpuctl.engine.explain.offers import round_of
from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, replay_scenario
from cpuctl.engine.explain.searches.searches import Search
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity
from tests.support.pods import app, manifest, resources, stored
from tests.support.topologies import CoreAt, machine_info

GIB = 1 << 30
RESTRICTED: dict[str, Any] = {"topology_manager_policy": "restricted"}
SINGLE: dict[str, Any] = {"topology_manager_policy": "single-numa-node"}
CORES: dict[str, Any] = {"cpu_manager_policy_options": {"full-pcpus-only": "true"}}
EIGHT = machine_info(CoreAt(cpus=(core, core + 4)) for core in range(4))  # siblings c and c+4
TWO_NODES = machine_info(  # 8 CPUs a node, two a core
    CoreAt(cpus=(core, core + 8), numa_node=core // 4, socket=core // 4) for core in range(8)
)
FOUR_NODES = machine_info(
    CoreAt(cpus=(core, core + 32), numa_node=core // 8, socket=core // 16) for core in range(32)
)


def with_memory(info: MachineInfo, *gib: int, pages: Mapping[int, int] | None = None) -> MachineInfo:
    """Give NUMA nodes memory, the same if there is only one amount, and huge pages by size in KiB."""
    nodes = tuple(
        InfoNode(id=node.id, cores=node.cores, memory_bytes=amount * GIB, hugepages=pages or {})
        for node, amount in zip(info.nodes, cycle(gib), strict=False)
    )
    return MachineInfo(
        nodes=nodes,
        num_cpus=info.num_cpus,
        num_sockets=info.num_sockets,
        memory_bytes=sum(node.memory_bytes for node in nodes),
    )


def memory_config(nodes: int = 2) -> dict[str, Any]:
    """Configure the Memory Manager's static policy with 1Gi reserved on every NUMA node."""
    kept = tuple(
        ReservedMemory(numa_node=node, limits={"memory": Quantity.parse("1Gi")}) for node in range(nodes)
    )
    return {
        "memory_manager_policy": "Static",
        "reserved_memory": kept,
        "kube_reserved": {"memory": f"{nodes}Gi"},
    }


def whole(cpus: int, name: str = "main", memory: str = "1Gi", more: str = "") -> Container:
    """Make a container whose requests equal its limits."""
    amounts = f"cpu={cpus} memory={memory} {more}"
    return app(amounts, amounts, name)


def named(name: str, *containers: Container, static: bool = False) -> StoredPod:
    """Make a pod whose UID is its name; amounts of a *static* one stay as they are written."""
    return stored(manifest(*containers, name=name)._replace(uid=name, static=static))


def divided(name: str, budget: str, *containers: Container) -> StoredPod:
    """Make a pod with pod-level resources, which the managers divide among its containers."""
    return named(name, *containers)._replace(resources=resources(budget, budget))


def cards(**groups: int) -> DeviceInventory:
    """Register ``example.com/card``: this many healthy and free ones next to NUMA nodes such as ``node0``."""
    found = tuple(
        DeviceGroup(
            numa_nodes=CPUSet.parse(node.removeprefix("node")), total=count, healthy=count, free=count
        )
        for node, count in groups.items()
    )
    return DeviceInventory(resources={"example.com/card": found})


def scenario(
    info: MachineInfo,
    *pods: StoredPod,
    fit: bool = False,
    devices: DeviceInventory | None = None,
    **config: Any,
) -> Scenario:
    """Let a kubelet with the static CPU policy admit pods; the last one is the one to explain."""
    reported = KubeletConfiguration(**{"cpu_manager_policy": "static", "reserved_system_cpus": "0", **config})
    return Scenario(
        start=partial(_start, info, fit=fit, devices=devices),
        kubelet=Kubelet(version=KubeletVersion(36), config=reported),
        pods=pods,
        position=len(pods) - 1,
    )


def _start(info: MachineInfo, kubelet: Kubelet, *, fit: bool, devices: DeviceInventory | None) -> Any:
    return start_node(info, kubelet, fit=fit, devices=devices)


def reported(one: Scenario) -> Replay:
    replay = replay_scenario(one, SearchBudget())
    assert isinstance(replay, Replay), replay
    return replay


def decided(replay: Replay) -> Decision:
    """Name the rule that decided, without looking for what would help."""
    node, pod = replay.before, replay.scenario.pod
    return deciding_rule(
        replay, [round_of(requested, pod, node) for requested in replay.admission.hint_rounds]
    )


def explained(info: MachineInfo, *pods: StoredPod, fit: bool = False, **config: Any) -> Explanation:
    return explain(reported(scenario(info, *pods, fit=fit, **config)))


def found(explanation: Explanation, kind: str) -> Search:
    (search,) = (search for search in explanation.searches if search.kind == kind)
    return search
