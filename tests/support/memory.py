"""Small machines with memory, and nodes on which some of it is allocated."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.manager import allocate
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.pods.model import Container, ContainerKind, Pod, StoredPod
from tests.support.pods import stored

HUGE = "hugepages-2Mi"
PAGE = 2 << 20


def memory_machine(sizes: Sequence[int], pages: Sequence[int] = ()) -> MachineInfo:
    """Describe NUMA nodes by their memory in bytes, and their 2 MiB pages, if any."""
    return MachineInfo(
        nodes=tuple(
            InfoNode(
                id=number,
                cores=(),
                memory_bytes=size,
                hugepages={2048: pages[number]} if pages else {},
            )
            for number, size in enumerate(sizes)
        ),
        num_cpus=1,
        num_sockets=1,
        memory_bytes=sum(sizes),
    )


def fresh_state(info: MachineInfo) -> MemoryManagerState:
    return MemoryManagerState(fresh_tables(info, {}))


def small_pod(uid: str, *kinds: ContainerKind) -> StoredPod:
    """Make a pod of containers ``c0``, ``c1``...; their requests are passed to the policy directly."""
    containers = [Container(name=f"c{index}", kind=kind) for index, kind in enumerate(kinds)]
    return stored(
        Pod(
            name=uid,
            uid=uid,
            containers=tuple(each for each in containers if each.kind is ContainerKind.APP),
            init_containers=tuple(each for each in containers if each.kind is not ContainerKind.APP),
        )
    )


def take(state: MemoryManagerState, uid: str, nodes: int, **request: int) -> None:
    """Allocate memory (and ``pages`` of 2 MiB) on given nodes to a pod of one container."""
    names = {"memory": "memory", "pages": HUGE}
    amounts = {names[name]: amount * (PAGE if name == "pages" else 1) for name, amount in request.items()}
    pod = small_pod(uid, ContainerKind.APP)
    given = allocate(state, pod, pod.containers[0], amounts, Hint(NodeMask(nodes), preferred=True))
    assert isinstance(given, tuple), given
