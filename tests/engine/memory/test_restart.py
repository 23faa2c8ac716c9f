"""A Memory Manager that starts with a state file: what it restores, and what it rejects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryStateFile, UnreadableState
from cpuctl.engine.hints.hints import IMPOSSIBLE, Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.manager import StaticMemoryPolicy, allocate
from cpuctl.engine.memory.provider import MemoryProvider
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import FaultKind, KubeletFault, StartRefused, Undetermined
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.pods.model import ContainerKind
from cpuctl.records import replace
from tests.support.memory import memory_machine, small_pod, take

TWO = memory_machine([100, 100])
DIFFERENT = "[memorymanager] the expected machine state is different from the real one"
DRAIN = (
    "could not restore state from checkpoint: {}, please drain this node and delete the memory manager "
    'checkpoint file "/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
)
OF_C = "[memorymanager] (pod: p, container: c)"
Change = Callable[[MemoryStateFile], MemoryStateFile]


def provider(info: MachineInfo = TWO) -> MemoryProvider:
    return MemoryProvider(StaticMemoryPolicy(tables=fresh_tables(info, {})))


def busy() -> MemoryManagerState:
    """Return a state in which each node has one pod with memory."""
    state = MemoryManagerState(fresh_tables(TWO, {}))
    take(state, "one", 0b01, memory=30)
    take(state, "two", 0b10, memory=20)
    return state


def wide() -> MemoryManagerState:
    state = MemoryManagerState(fresh_tables(TWO, {}))
    take(state, "wide", 0b11, memory=120)
    return state


def test_a_state_is_restored_unchanged() -> None:
    manager, state = provider(), busy()
    assert manager.restore(state.as_file()) is None
    assert (manager.state.tables, manager.state.blocks) == (state.tables, state.blocks)


def test_a_group_may_divide_its_memory_differently() -> None:
    def moved(node: MemoryNode, by: int) -> MemoryNode:
        table = node.memory_map["memory"]
        table = replace(table, free=table.free + by, reserved=table.reserved - by)
        return replace(node, memory_map={"memory": table})

    file = wide().as_file()
    tables = {number: moved(node, 15 - 30 * number) for number, node in file.machine_state.items()}
    assert provider().restore(replace(file, machine_state=tables)) is None


def test_reusable_memory_of_a_pod_is_forgotten() -> None:
    state = MemoryManagerState(fresh_tables(TWO, {}))
    pod = small_pod("p", ContainerKind.INIT, ContainerKind.APP)
    allocate(state, pod, pod.all_containers[0], {"memory": 10}, Hint(NodeMask(1), preferred=True))
    manager = provider()
    assert manager.restore(state.as_file()) is None
    allocate(manager.state, pod, pod.all_containers[1], {"memory": 10}, Hint(NodeMask(1), preferred=True))
    assert manager.state.tables[0].memory_map["memory"].reserved == 20


def test_restored_memory_of_an_init_container_is_lent_again() -> None:
    state = MemoryManagerState(fresh_tables(TWO, {}))
    pod = small_pod("p", ContainerKind.INIT, ContainerKind.APP)
    allocate(state, pod, pod.all_containers[0], {"memory": 10}, Hint(NodeMask(1), preferred=True))
    manager = provider()
    assert manager.restore(state.as_file()) is None
    for container in pod.all_containers:
        allocate(manager.state, pod, container, {"memory": 10}, Hint(NodeMask(1), preferred=True))
    assert manager.state.tables[0].memory_map["memory"].reserved == 10


def test_init_containers_around_a_sidecar_lose_memory_when_they_are_admitted_again() -> None:
    """The sidecar reuses what the first one lends; the last one is charged and shrinks the first one's block.

    More is reserved then than the file accounts for, and the next start rejects the file.
    """
    kinds = (ContainerKind.INIT, ContainerKind.SIDECAR, ContainerKind.INIT, ContainerKind.APP)
    pod = small_pod("p", *kinds)
    state = MemoryManagerState(fresh_tables(TWO, {}))

    def admit(state: MemoryManagerState) -> None:
        for container in pod.all_containers:
            allocate(state, pod, container, {"memory": 10}, Hint(NodeMask(1), preferred=True))

    admit(state)
    state.start_container(pod, pod.containers[0].name)
    manager = provider()
    assert manager.restore(state.as_file()) is None
    admit(manager.state)
    assert manager.state.tables[0].memory_map["memory"].reserved == 40
    assert sum(each.size for (each,) in manager.state.blocks["p"].values()) == 30
    assert provider().restore(manager.state.as_file()) == StartRefused(
        stage="memoryManagerStart", error=DIFFERENT
    )


def test_an_empty_state_becomes_a_fresh_one() -> None:
    manager = provider()
    assert manager.restore(MemoryStateFile(policy_name="Static")) is None
    assert manager.state_file() == provider().state_file()


def held(**blocks: MemoryBlock) -> dict[str, dict[str, tuple[MemoryBlock, ...]]]:
    return {"p": {name: (block,) for name, block in blocks.items()}}


def block(*nodes: int, resource: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=resource, size=1)


@dataclass(frozen=True, slots=True)
class Refused:
    name: str
    change: Change
    error: str = DIFFERENT


def on_node_0(file: MemoryStateFile, **changes: object) -> MemoryStateFile:
    node = replace(file.machine_state[0], **changes)  # type: ignore[arg-type]
    return replace(file, machine_state={**file.machine_state, 0: node})


def in_table(file: MemoryStateFile, **changes: int) -> MemoryStateFile:
    table = replace(file.machine_state[0].memory_map["memory"], **changes)
    return on_node_0(file, memory_map={"memory": table})


REFUSED = [
    Refused(
        "entries but no tables",
        lambda file: replace(file, machine_state={}),
        "[memorymanager] machine state can not be empty when it has memory assignments",
    ),
    Refused(
        "a missing NUMA node",
        lambda file: replace(file, entries=held(c=block(7))),
        f"{OF_C} the memory assignment uses the NUMA that does not exist",
    ),
    Refused(
        "missing huge pages",
        lambda file: replace(file, entries=held(c=block(0, resource="hugepages-1Gi"))),
        f"{OF_C} the memory assignment uses memory resource that does not exist",
    ),
    Refused(
        "pod-level memory on a missing NUMA node",
        lambda file: replace(file, entries={"p": {"c": ()}}, pod_entries={"p": (block(7),)}),
        "[memorymanager] (pod: p, container: ) the memory assignment uses the NUMA that does not exist",
    ),
    Refused(
        "another number of nodes",
        lambda file: replace(file, machine_state={0: file.machine_state[0]}),
    ),
    Refused("another number of assignments", lambda file: on_node_0(file, number_of_assignments=2)),
    Refused("another group", lambda file: on_node_0(file, cells=(0, 1))),
    Refused("other huge pages", lambda file: on_node_0(file, memory_map={})),
    Refused("another total", lambda file: in_table(file, total=101)),
    Refused("another reservation", lambda file: in_table(file, system_reserved=1)),
    Refused("another share for pods", lambda file: in_table(file, allocatable=99)),
    Refused("more free", lambda file: in_table(file, free=71)),
    Refused("less reserved", lambda file: in_table(file, reserved=29)),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_a_kubelet_rejects(case: Refused) -> None:
    assert provider().restore(case.change(busy().as_file())) == StartRefused(
        stage="memoryManagerStart", error=case.error
    )


@pytest.mark.parametrize(
    ("saved", "error"),
    [
        (UnreadableState("checkpoint is corrupted"), "checkpoint is corrupted"),
        (
            MemoryStateFile(policy_name="None"),
            '[memorymanager] configured policy "Static" differs from state checkpoint policy "None"',
        ),
    ],
    ids=["corrupt", "other policy"],
)
def test_a_file_that_cannot_be_loaded_requires_a_drain(
    saved: MemoryStateFile | UnreadableState, error: str
) -> None:
    refused = provider().restore(saved)
    assert refused == StartRefused(stage="memoryManagerStart", error=DRAIN.format(error))


def test_the_policy_none_also_requires_its_own_file() -> None:
    error = '[memorymanager] configured policy "None" differs from state checkpoint policy "Static"'
    refused = MemoryProvider(None).restore(busy().as_file())
    assert refused == StartRefused(stage="memoryManagerStart", error=DRAIN.format(error))
    assert MemoryProvider(None).restore(MemoryStateFile(policy_name="None")) is None


def test_a_node_in_two_groups_makes_a_restart_undetermined() -> None:
    """Another manager's hint forced a pod onto one node of a group: the iteration order of a map decides."""
    state = wide()
    take(state, "forced", 0b10, memory=10)
    assert provider().restore(state.as_file()) == Undetermined(
        "in memory_manager_state a NUMA node belongs to several groups: whether the kubelet accepts "
        "it depends on the iteration order of a map",
        variants=(
            "it starts",
            "it does not: [memorymanager] the expected machine state is different from the real one",
        ),
    )


def test_groups_with_a_node_without_a_page_size_crash_the_next_start() -> None:
    nodes = (
        InfoNode(id=0, cores=(), memory_bytes=100 + (4 << 21), hugepages={2048: 4}),
        InfoNode(id=1, cores=(), memory_bytes=100),
    )
    info = MachineInfo(nodes=nodes, num_cpus=1, num_sockets=1)
    state = MemoryManagerState(fresh_tables(info, {}))
    pod = small_pod("p", ContainerKind.APP)
    allocate(state, pod, pod.containers[0], {"memory": 150}, IMPOSSIBLE)
    fault = provider(info).restore(state.as_file())
    assert isinstance(fault, KubeletFault)
    assert fault.kind is FaultKind.CRASH
    assert fault.why == "runtime error: invalid memory address or nil pointer dereference"
    assert fault.where == "Memory Manager, adding up hugepages-2Mi of a group of which NUMA node 1 has none"


@pytest.mark.parametrize("compares_groups", [True, False])
def test_a_restart_is_undetermined_if_the_order_of_overlapping_groups_matters(
    *, compares_groups: bool
) -> None:
    """In forward and reverse order the last block is on both nodes; in other orders it is on node 0."""
    state = MemoryManagerState(fresh_tables(TWO, {}))
    for uid, nodes in (("a", 0b11), ("b", 0b01), ("c", 0b01), ("d", 0b11)):
        pod, hint = small_pod(uid, ContainerKind.APP), Hint(NodeMask(nodes), preferred=True)
        given = allocate(state, pod, pod.containers[0], {"memory": 10}, hint, rejects_overlaps=False)
        assert isinstance(given, tuple)
    policy = StaticMemoryPolicy(tables=fresh_tables(TWO, {}), compares_groups=compares_groups)
    assert isinstance(MemoryProvider(policy).restore(state.as_file()), Undetermined)
