"""Differences between a kubelet's view of a machine and its kernel's, described for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import differing_views
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.records import replace
from tests.support.topologies import CoreAt, topology

HALVES = [CPUSet.parse("0-3"), CPUSet.parse("4-7")]
# Two halves, each a socket, a NUMA node and a cache of two cores with two CPUs, and a memory-only node.
MACHINE = Machine(
    cpus=tuple(
        CPU(number=cpu, siblings=CPUSet.of((cpu & ~1, cpu | 1)), package_id=cpu // 4) for cpu in range(8)
    ),
    numa_nodes=(
        *(NumaNode(id=node, cpus=half) for node, half in enumerate(HALVES)),
        NumaNode(id=2, cpus=CPUSet()),
    ),
    caches=tuple(Cache(level=3, kind="Unified", cpus=half) for half in HALVES),
)
AGREED = [
    CoreAt(cpus=(cpu, cpu + 1), numa_node=cpu // 4, socket=cpu // 4, cache=cpu // 4) for cpu in (0, 2, 4, 6)
]


def reported(cores: Iterable[CoreAt], machine: Machine = MACHINE) -> list[str]:
    return list(differing_views(machine, topology(cores)))


@pytest.mark.parametrize(
    ("cores", "what", "kernel", "kubelet"),
    [
        (
            [dataclasses.replace(core, numa_node=0) for core in AGREED],
            "NUMA nodes: kernel 2, kubelet 1",
            "0-3",
            "0-7",
        ),
        (
            [dataclasses.replace(core, socket=core.cpus[0] // 2) for core in AGREED],
            "sockets: kernel 2, kubelet 4",
            "0-3",
            "0-1",
        ),
        (
            [
                dataclasses.replace(core, cpus=tuple(cpu ^ 2 * (cpu & 1) for cpu in core.cpus))
                for core in AGREED
            ],
            "cores: kernel 4, kubelet 4",
            "0-1",
            "0,3",
        ),
        (
            [*AGREED[:2], dataclasses.replace(AGREED[2], cache=2), AGREED[3]],
            "L3 caches: kernel 2, kubelet 3",
            "4-7",
            "4-5",
        ),
    ],
    ids=["NUMA nodes", "sockets", "cores", "caches"],
)
def test_every_kind_of_group_is_compared(cores: list[CoreAt], what: str, kernel: str, kubelet: str) -> None:
    """Each difference has the counts, and the first CPUs that only one side groups."""
    (text,) = reported(cores)
    one = {"NUMA nodes": "a NUMA node", "sockets": "a socket", "cores": "a core", "L3 caches": "an L3 cache"}
    which = one[what.partition(":")[0]]
    assert text == (
        f"{what}; CPUs {kernel} share {which} only in the kernel's view; "
        f"CPUs {kubelet} share {which} only in the kubelet's view"
    )


def test_views_with_the_same_groups_do_not_differ() -> None:
    """The ids of the groups do not matter."""
    assert reported(AGREED) == []
    assert reported(dataclasses.replace(core, numa_node=3 - core.numa_node) for core in AGREED) == []


def test_cpus_that_the_kubelet_does_not_know_are_reported_once() -> None:
    """They do not count as a different grouping: without them, the kernel's groups are the kubelet's."""
    assert reported(AGREED[:3]) == ["the kubelet does not know CPUs 6-7, which are online"]
    assert (
        reported([*AGREED[:3], CoreAt((6,), 2, 2, 2)])[0]
        == "the kubelet does not know CPU 7, which is online"
    )


def test_a_single_cpu_is_reported_as_separated() -> None:
    (text,) = reported(
        [*AGREED[:3], dataclasses.replace(AGREED[3], cpus=(6,)), dataclasses.replace(AGREED[3], cpus=(7,))]
    )
    assert text == (
        "cores: kernel 4, kubelet 5; CPUs 6-7 share a core only in the kernel's view; "
        "CPU 6 is alone in a core only in the kubelet's view"
    )


def test_cpus_that_the_kernel_does_not_know_come_first() -> None:
    first, *rest = reported([*AGREED, CoreAt((8, 9), 2, 2, 2)])
    assert first == "the kubelet knows CPUs 8-9, which are not online"
    assert [text.partition(":")[0] for text in rest] == ["NUMA nodes", "sockets", "cores", "L3 caches"]


def test_groups_that_one_side_does_not_have_are_reported_for_the_other_only() -> None:
    """Without a cache the kubelet uses the socket as one."""
    uncached = [dataclasses.replace(core, cache=None) for core in AGREED]
    assert reported(uncached, replace(MACHINE, caches=())) == [
        "L3 caches: kernel 0, kubelet 2; CPUs 0-3 share an L3 cache only in the kubelet's view"
    ]
    outer = Cache(level=3, kind="Unified", cpus=CPUSet.parse("0-1"))
    assert reported(AGREED, replace(MACHINE, caches=(*MACHINE.caches, outer))) == [
        "L3 caches: kernel 3, kubelet 2; CPUs 0-1 share an L3 cache only in the kernel's view"
    ]
