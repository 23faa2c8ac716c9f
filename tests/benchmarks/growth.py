"""How the cost of hints and their merge grows with NUMA nodes: a kubelet makes 2^nodes sets of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.topology_manager import Answer, TopologyManager
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.tables import Tables, charge, fresh_tables
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from tests.benchmarks.timing import Run, measure

CPUS = 8
NODES_PER_SOCKET = 4
GI = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Other parameters of a request: options, and memory or huge pages by resource, in GiB per node."""

    align: bool = False
    closest: bool = False
    memory: Mapping[str, int] = field(default_factory=dict)


SETTINGS = {
    "no option": Setting(),
    "align-by-socket": Setting(align=True),
    "prefer-closest": Setting(closest=True),
    "with memory": Setting(memory={"memory": 15}),
    "and huge pages": Setting(memory={"memory": 15, "hugepages-2Mi": 1}),
}


def report() -> Iterator[str]:
    """Write a table: median microseconds for a request of half of everything on a partly used machine."""
    yield f"{'hints and merge, us':24}" + "".join(f"{name:>17}" for name in SETTINGS)
    for nodes in (2, 4, 8, 16, 32, 64):
        times = [measure(partial(_merging, nodes, setting), seconds=0.2) for setting in SETTINGS.values()]
        yield f"{f'{nodes} NUMA nodes':24}" + "".join(f"{time.median:>17.0f}" for time in times)


def _merging(nodes: int, setting: Setting) -> Run:
    info = _machine(nodes)
    topology = CPUTopology.discover(info)
    manager = TopologyManager.of(info, "best-effort", "container", closest=setting.closest)
    free = _partly_used(nodes)
    request = {name: nodes // 2 * amount * GI for name, amount in setting.memory.items()}
    tables = _tables(info)

    def merge() -> None:
        count = free.bit_count() // 2
        cpus = CPUHints.generate(topology, CPUMask(free), CPUMask(0), count, align_by_socket=setting.align)
        memory: Answer = None
        if request:
            memory = dict.fromkeys(request, MemoryHints.generate(tables, request, {}))
        manager.merge([{"cpu": cpus}, memory])

    return merge


def _machine(nodes: int) -> MachineInfo:
    """Describe a machine with different memory on every node, as firmware and kernel take some of it."""
    return MachineInfo(
        nodes=tuple(
            InfoNode(
                id=node,
                cores=_cores(node),
                distances=_distances(node, nodes),
                memory_bytes=18 * GI - node * 4096,
                hugepages={2048: 512 * (1 + node % 2)},
            )
            for node in range(nodes)
        ),
        num_cpus=nodes * CPUS,
        num_sockets=-(-nodes // NODES_PER_SOCKET),
    )


def _tables(info: MachineInfo) -> Tables:
    """Make tables in which one node of eight is already in use."""
    tables = fresh_tables(info, {0: {"memory": GI}})
    for node in range(5, len(tables), 8):
        charge(tables, (node,), "memory", 4 * GI)
    return tables


def _cores(node: int) -> tuple[InfoCore, ...]:
    socket = node // NODES_PER_SOCKET
    return tuple(InfoCore(socket_id=socket, threads=(node * CPUS + cpu,)) for cpu in range(CPUS))


def _distances(node: int, nodes: int) -> tuple[int, ...]:
    socket = node // NODES_PER_SOCKET
    return tuple(
        10 if other == node else 12 if other // NODES_PER_SOCKET == socket else 32 for other in range(nodes)
    )


def _partly_used(nodes: int) -> int:
    """Leave 3 to 8 CPUs free in each node, in an order unrelated to the sockets."""
    return sum((1 << 3 + node * 5 % 6) - 1 << node * CPUS for node in range(nodes))
