"""A kubelet's view of a machine; the rules are those of cAdvisor's ``utils/sysinfo/sysinfo.go``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo, kubelet_view
from cpuctl.machine.model import CPU, Cache, Machine
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace


def threads(node: InfoNode) -> list[tuple[int, ...]]:
    return [core.threads for core in node.cores]


def uncore(info: MachineInfo) -> list[tuple[int, ...]]:
    return [core.uncore_cache_ids for node in info.nodes for core in node.cores]


def with_cpus(machine: Machine, change: Callable[[CPU], CPU]) -> Machine:
    return replace(machine, cpus=tuple(map(change, machine.cpus)))


def test_an_ordinary_machine() -> None:
    info = kubelet_view(parse_synthetic("2s2n2c2t,mem=1Gi,hugepages-2Mi=4"))
    assert info == MachineInfo(
        nodes=(
            InfoNode(
                id=0,
                cores=(
                    InfoCore(socket_id=0, core_id=0, threads=(0, 4)),
                    InfoCore(socket_id=0, core_id=1, threads=(1, 5)),
                ),
                memory_bytes=1 << 30,
                hugepages={2048: 4},
                distances=(10, 21),
            ),
            InfoNode(
                id=1,
                cores=(
                    InfoCore(socket_id=1, core_id=0, threads=(2, 6)),
                    InfoCore(socket_id=1, core_id=1, threads=(3, 7)),
                ),
                memory_bytes=1 << 30,
                hugepages={2048: 4},
                distances=(21, 10),
            ),
        ),
        num_cpus=8,
        num_sockets=2,
        memory_bytes=2 << 30,
    )


def test_cpus_are_visited_in_the_order_of_their_names() -> None:
    """``cpu10`` comes before ``cpu2``: the order of cores, and of the threads in a core."""
    info = kubelet_view(parse_synthetic("6c2t,near"))
    assert threads(info.nodes[0]) == [(0, 1), (10, 11), (2, 3), (4, 5), (6, 7), (8, 9)]
    info = kubelet_view(parse_synthetic("8c2t"))
    assert threads(info.nodes[0])[:4] == [(0, 8), (1, 9), (10, 2), (11, 3)]


def test_nodes_are_visited_in_the_order_of_their_names() -> None:
    info = kubelet_view(parse_synthetic("12n12c"))
    assert [node.id for node in info.nodes] == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_repeated_core_id_merges_cores() -> None:
    machine = with_cpus(parse_synthetic("4c"), lambda cpu: cpu._replace(core_id=cpu.number % 2))
    info = kubelet_view(machine)
    assert threads(info.nodes[0]) == [(0, 2), (1, 3)]
    assert info.num_cpus == 4


def test_books_and_drawers_keep_cores_apart() -> None:
    machine = with_cpus(parse_synthetic("4c"), lambda cpu: cpu._replace(core_id=0, book_id=cpu.number % 2))
    info = kubelet_view(machine)
    assert threads(info.nodes[0]) == [(0, 2), (1, 3)]
    assert threads(info.without_books.nodes[0]) == [(0, 1, 2, 3)]


def test_nothing_is_merged_without_books() -> None:
    """Cores of other machines stay as cAdvisor lists them, regardless of their ids."""
    info = kubelet_view(parse_synthetic("2s2n4c2t"))
    assert info.without_books is info


@pytest.mark.parametrize("missing", ["core_id", "package_id"])
def test_a_cpu_without_ids_is_left_out(missing: str) -> None:
    nothing: dict[str, Any] = {missing: None}
    machine = with_cpus(
        parse_synthetic("2c2t"), lambda cpu: cpu._replace(**nothing) if cpu.number == 3 else cpu
    )
    info = kubelet_view(machine)
    assert threads(info.nodes[0]) == [(0, 2), (1,)]
    assert info.num_cpus == 3


def test_package_minus_one_is_a_socket() -> None:
    machine = with_cpus(parse_synthetic("2c"), lambda cpu: cpu._replace(package_id=-1))
    info = kubelet_view(machine)
    assert [core.socket_id for core in info.nodes[0].cores] == [-1, -1]
    assert info.num_sockets == 1


def test_a_cache_of_the_whole_node_is_not_an_uncore_cache() -> None:
    assert uncore(kubelet_view(parse_synthetic("2s2n4c2t"))) == [()] * 8


def test_split_caches_are_uncore_caches() -> None:
    assert uncore(kubelet_view(parse_synthetic("4c2t,l3=2"))) == [(0,), (0,), (1,), (1,)]


def test_a_cache_of_several_nodes_is_an_uncore_cache() -> None:
    assert uncore(kubelet_view(parse_synthetic("1s2n4c2t,l3=1"))) == [(0,)] * 4


def test_an_offline_sibling_makes_a_node_cache_uncore() -> None:
    """7 CPUs share the cache; 4 cores times 2 threads are 8, times 1 thread 4."""
    assert uncore(kubelet_view(parse_synthetic("4c2t,offline=5"))) == [(0,)] * 4


def test_levels_above_two_count_in_order() -> None:
    base = parse_synthetic("4c,l3=2")
    above = Cache(level=4, kind="Unified", cpus=CPUSet.parse("0-1"), id=9, size_bytes=1)
    below = Cache(level=2, kind="Unified", cpus=CPUSet.parse("0-1"), id=5, size_bytes=1)
    info = kubelet_view(replace(base, caches=(below, *base.caches, above)))
    assert uncore(info) == [(0, 9), (0, 9), (1,), (1,)]


@pytest.mark.parametrize("missing", ["id", "size_bytes"])
def test_the_first_incomplete_cache_ends_a_nodes_caches(missing: str) -> None:
    base = parse_synthetic("2s2n4c,l3=4")
    second, third = base.caches[1], base.caches[2]
    nothing: dict[str, Any] = {missing: None}
    changed = tuple(c._replace(**nothing) if c == second else c for c in base.caches)
    assert uncore(kubelet_view(replace(base, caches=changed)))[:4] == [(0,), (0,), (), ()]
    assert uncore(kubelet_view(replace(base, caches=changed)))[4:] == [(third.id,)] * 2 + [(3,)] * 2


def test_a_core_without_caches_ends_a_nodes_caches() -> None:
    assert uncore(kubelet_view(parse_synthetic("4c,l3=0/2/3"))) == [(0,), (), (), ()]


def test_without_numa_nodes_packages_take_their_place() -> None:
    info = kubelet_view(parse_synthetic("2s0n2c,mem=3Gi"))
    assert [(node.id, threads(node)) for node in info.nodes] == [(0, [(0,), (1,)]), (1, [(2,), (3,)])]
    assert [(node.memory_bytes, node.distances) for node in info.nodes] == [(0, ()), (0, ())]
    assert info.memory_bytes == 3 << 30


def test_without_numa_nodes_offline_cpus_are_counted() -> None:
    """cAdvisor then counts CPU directories, regardless of the CPUs' state."""
    assert kubelet_view(parse_synthetic("0n4c,offline=3")).num_cpus == 4
    assert kubelet_view(parse_synthetic("1n4c,offline=3")).num_cpus == 3


def test_node_directories_take_precedence_over_node_lists() -> None:
    base = parse_synthetic("1n4c")
    node = replace(base.numa_nodes[0], directory_cpus=CPUSet.parse("1"))
    assert threads(kubelet_view(replace(base, numa_nodes=(node,))).nodes[0]) == [(1,)]


def test_a_node_without_cpus_is_listed() -> None:
    info = kubelet_view(parse_synthetic("2c,nodes=0-1/1:,mem=1Gi/2Gi"))
    assert (info.nodes[1].cores, info.nodes[1].memory_bytes) == ((), 2 << 30)


def test_sockets_are_counted_in_cpuinfo_first() -> None:
    base = parse_synthetic("2s1c")
    assert kubelet_view(replace(base, cpuinfo_sockets=5)).num_sockets == 5
    assert kubelet_view(base).num_sockets == 2
    unknown = with_cpus(base, lambda cpu: cpu._replace(package_id=None))
    assert kubelet_view(unknown).num_sockets == 1
