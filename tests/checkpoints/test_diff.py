"""Which containers gained and lost CPUs and memory."""

from __future__ import annotations

from cpuctl.checkpoints.diff import Holder, HolderKind, TableChange, diff_cpu_states, diff_memory_states
from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryNode, MemoryStateFile, MemoryTable
from cpuctl.cpuset import CPUSet


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def test_cpus_that_changed_hands() -> None:
    before = CPUStateFile(
        policy_name="static",
        default_cpu_set=cpus("0-3"),
        entries={"gone": {"c": cpus("4-5")}, "p": {"grows": cpus("6"), "stays": cpus("7")}},
        baselines={"p": {"grows": cpus("6")}},
    )
    after = CPUStateFile(
        policy_name="static",
        default_cpu_set=cpus("0-2,5"),
        entries={"p": {"grows": cpus("3,6"), "stays": cpus("7")}, "q": {"new": cpus("4")}},
        pod_entries={"q": cpus("4")},
        baselines={"p": {"grows": cpus("6")}},
    )
    difference = diff_cpu_states(before, after)
    assert difference
    assert difference.policies is None
    assert [
        (tuple(each.holder), str(each.added), str(each.removed), each.before is None, each.after is None)
        for each in difference.changes
    ] == [
        (("sharedPool", "", ""), "5", "3", False, False),
        (("container", "gone", "c"), "", "4-5", False, True),
        (("container", "p", "grows"), "3", "", False, False),
        (("pod", "q", ""), "4", "", True, False),
        (("container", "q", "new"), "4", "", True, False),
    ]


def test_parts_of_a_file_have_names() -> None:
    assert [str(each) for each in HolderKind] == ["sharedPool", "container", "pod", "baseline"]


def test_another_policy_is_a_difference() -> None:
    none, static = (CPUStateFile(policy_name=name, default_cpu_set=CPUSet()) for name in ("none", "static"))
    assert diff_cpu_states(none, static).policies == ("none", "static")
    assert diff_cpu_states(none, static)
    assert not diff_cpu_states(none, none)


def node(free: int, assignments: int = 0, cells: tuple[int, ...] = (0,)) -> MemoryNode:
    table = MemoryTable(total=10, system_reserved=0, allocatable=10, reserved=10 - free, free=free)
    return MemoryNode(number_of_assignments=assignments, memory_map={"memory": table}, cells=cells)


def test_every_part_of_a_memory_state_can_differ() -> None:
    """Changed assignments are listed with their previous values."""
    states = [
        MemoryStateFile(policy_name="Static"),
        MemoryStateFile(policy_name="None"),
        MemoryStateFile(policy_name="Static", machine_state={0: node(10)}),
        MemoryStateFile(policy_name="Static", entries={"p": {"c": (block(3, 0),)}}),
        MemoryStateFile(policy_name="Static", entries={"p": {"c": (block(4, 0),)}}),
    ]
    for before in states:
        for after in states:
            assert bool(diff_memory_states(before, after)) == (before is not after)
    assert diff_memory_states(states[0], states[1]).policies == ("Static", "None")
    assert diff_memory_states(states[3], states[4]).changes[0].before == (block(3, 0),)


def block(size: int, *nodes: int) -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type="memory", size=size)


def test_blocks_are_listed_by_resource() -> None:
    pages = MemoryBlock(numa_affinity=(1,), type="hugepages-2Mi", size=2)
    held = MemoryStateFile(policy_name="Static", entries={"p": {"c": (block(3, 1), block(4, 0), pages)}})
    difference = diff_memory_states(held, MemoryStateFile(policy_name="Static"))
    assert difference.changes[0].before == (pages, block(4, 0), block(3, 1))


def test_memory_that_changed_hands() -> None:
    before = MemoryStateFile(policy_name="Static", machine_state={0: node(10), 1: node(10)})
    after = MemoryStateFile(
        policy_name="Static",
        machine_state={0: node(7, 1, (1, 0)), 2: node(10)},
        entries={"p": {"c": (block(3, 0),)}},
    )
    difference = diff_memory_states(before, after)
    assert [(each.holder, each.before, each.after) for each in difference.changes] == [
        (Holder(HolderKind.CONTAINER, "p", "c"), None, (block(3, 0),))
    ]
    assert set(difference.tables) >= {
        TableChange(0, "", "assignments", 0, 1),
        TableChange(0, "", "cells", (0,), (0, 1)),
        TableChange(0, "memory", "free", 10, 7),
        TableChange(1, "memory", "total", 10, None),
        TableChange(2, "memory", "total", None, 10),
    }
    assert [each for each in difference.tables if each.field == "allocatable" and each.node == 0] == []
