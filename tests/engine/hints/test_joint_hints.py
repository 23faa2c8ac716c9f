"""Several rules at once on machines with too many NUMA nodes to list their hints."""

from __future__ import annotations

import pytest

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.devices.allocation import DeviceHints
from cpuctl.engine.hints.hints import Fit, Hint, HintList
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import NODE_0, CPUMask, NodeMask
from tests.support.costs import seconds_below
from tests.support.topologies import regular

NODES = 64
EVERYTHING = (1 << NODES) - 1
BY_SOCKET = Fit(
    distances={
        one: [10 if one == other else 12 if one // 4 == other // 4 else 20 for other in range(NODES)]
        for one in range(NODES)
    }
)


def cpus(count: int) -> CPUHints:
    """Request CPUs on a machine of sixteen sockets with four nodes of eight CPUs each, all free."""
    machine = regular(sockets=16, nodes=4, cores=8)
    return CPUHints.generate(machine, machine.cpus, CPUMask(0), count, align_by_socket=False)


def gpus(count: int, *, free_from: int = 0) -> DeviceHints:
    """Request devices; every node has two, and those of the nodes before *free_from* are in use."""
    everywhere = {NODE_0 << node: 2 for node in range(NODES)}
    free = {NODE_0 << node: 2 for node in range(free_from, NODES)}
    return DeviceHints.generate(NodeMask(EVERYTHING), everywhere, free, {}, count)


def nics(count: int) -> DeviceHints:
    """Request devices that are next to all nodes of a socket; each socket has one."""
    sockets = {NodeMask(0b1111 << 4 * socket): 1 for socket in range(16)}
    return DeviceHints.generate(NodeMask(EVERYTHING), sockets, sockets, {}, count)


CASES = [
    ("one node", [cpus(8), gpus(2), nics(1)], Fit(), Hint(NodeMask(1), preferred=True)),
    ("five nodes", [cpus(40), gpus(10)], Fit(), Hint(NodeMask(0b11111), preferred=True)),
    ("half of all", [cpus(256), gpus(64)], Fit(), Hint((NodeMask((1 << 32) - 1)), preferred=True)),
    (
        "where devices are free",
        [cpus(8), gpus(2, free_from=62)],
        Fit(),
        Hint(NodeMask(1 << 62), preferred=True),
    ),
    (
        "close together",
        [cpus(32), gpus(8, free_from=3)],
        BY_SOCKET,
        Hint(NodeMask(0b1111 << 4), preferred=True),
    ),
    ("of different widths", [cpus(16), gpus(2)], Fit(), Hint(NodeMask(0b11), preferred=False)),
    (
        "a socket for each",
        [cpus(24), nics(3)],
        Fit(),
        Hint(NodeMask(1 << 0 | 1 << 4 | 1 << 8), preferred=True),
    ),
]


@pytest.mark.parametrize(
    ("rules", "fit", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_rules_merge_without_generating_all_sets(rules: list[HintList], fit: Fit, wanted: Hint) -> None:
    with seconds_below(30):
        assert merge(rules, NodeMask(EVERYTHING), fit) == wanted
