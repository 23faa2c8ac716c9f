"""How the cost of hints and their merge grows with NUMA nodes: a kubelet makes 2^nodes sets of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cpuctl.engine.cpu_hints import CPUHints
from cpuctl.engine.topology import CPUTopology
from cpuctl.engine.topology_manager import TopologyManager
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from tests.benchmarks.timing import Run, measure

CPUS = 8
NODES_PER_SOCKET = 4
OPTIONS = {
    "no option": {"align": False, "closest": False},
    "align-by-socket": {"align": True, "closest": False},
    "prefer-closest": {"align": False, "closest": True},
}


def report() -> Iterator[str]:
    """Write a table: median microseconds for half the CPUs of a machine that is partly used."""
    yield f"{'hints and merge, us':40}" + "".join(f"{name:>20}" for name in OPTIONS)
    for nodes in (2, 4, 8, 16, 32, 64):
        times = [measure(partial(_merging, nodes, **options), seconds=0.2) for options in OPTIONS.values()]
        yield f"{f'{nodes} NUMA nodes':40}" + "".join(f"{time.median:>20.0f}" for time in times)


def _merging(nodes: int, *, align: bool, closest: bool) -> Run:
    info = _machine(nodes)
    topology = CPUTopology.discover(info)
    manager = TopologyManager.of(info, "best-effort", "container", closest=closest)
    return partial(_merge, manager, topology, _partly_used(nodes), align=align)


def _merge(manager: TopologyManager, topology: CPUTopology, free: int, *, align: bool) -> None:
    request = free.bit_count() // 2
    manager.merge([{"cpu": CPUHints.generate(topology, free, 0, request, align_by_socket=align)}])


def _machine(nodes: int) -> MachineInfo:
    return MachineInfo(
        nodes=tuple(
            InfoNode(id=node, cores=_cores(node), distances=_distances(node, nodes)) for node in range(nodes)
        ),
        num_cpus=nodes * CPUS,
        num_sockets=-(-nodes // NODES_PER_SOCKET),
    )


def _cores(node: int) -> tuple[InfoCore, ...]:
    socket = node // NODES_PER_SOCKET
    return tuple(InfoCore(socket_id=socket, threads=(node * CPUS + cpu,)) for cpu in range(CPUS))


def _distances(node: int, nodes: int) -> tuple[int, ...]:
    socket = node // NODES_PER_SOCKET
    return tuple(
        10 if other == node else 12 if other // NODES_PER_SOCKET == socket else 32 for other in range(nodes)
    )


def _partly_used(nodes: int) -> int:
    """Leave 3 to 8 CPUs free in a node, in no order that the sockets have."""
    return sum((1 << 3 + node * 5 % 6) - 1 << node * CPUS for node in range(nodes))
