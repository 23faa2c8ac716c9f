"""Memory and CPUs on many NUMA nodes, for which the kubelet would try every pair of sets forever."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.hints.hints import Fit, Hint
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.tables import Tables, charge, fresh_tables
from tests.support.costs import seconds_below
from tests.support.memory import HUGE, memory_machine
from tests.support.topologies import regular

GI = 1 << 30
NODES = 64
EVERYTHING = (1 << NODES) - 1


def tables(used: Mapping[tuple[int, ...], int] | None = None, *, even: bool = False) -> Tables:
    """Return about 16 GiB for each node, all different; unless *even*, every second node has more pages."""
    sizes = [16 * GI - node * 4096 for node in range(NODES)]
    pages = [512 if even else 512 * (1 + node % 2) for node in range(NODES)]
    made = fresh_tables(memory_machine(sizes, pages), {})
    for nodes, amount in (used or {}).items():
        charge(made, nodes, "memory", amount * GI)
    return made


def merged(on: Tables, cpus: int, request: Mapping[str, int]) -> object:
    machine = regular(sockets=16, nodes=4, cores=8)
    memory = MemoryHints.generate(on, request, {})
    rule = CPUHints.generate(machine, machine.cpus, CPUMask(0), cpus, align_by_socket=False)
    return merge([rule, *(memory for _ in request)], NodeMask(EVERYTHING), Fit())


ALL_USED = {(node,): 10 for node in range(NODES)}
CASES = [
    ("one node", tables(), 8, {"memory": GI}, Hint(NodeMask(1), preferred=True)),
    (
        "half of all",
        tables(even=True),
        256,
        {"memory": 31 * 15 * GI + GI},
        Hint((NodeMask((1 << 32) - 1)), preferred=True),
    ),
    (
        "next to a used node",
        tables({(0,): 1}),
        16,
        {"memory": 20 * GI},
        Hint(NodeMask(0b110), preferred=True),
    ),
    ("in its group", tables({(4, 5): 1}), 16, {"memory": 20 * GI}, Hint(NodeMask(0b11), preferred=True)),
    (
        "huge pages where there are more",
        tables(),
        8,
        {"memory": GI, HUGE: 2 * GI},
        Hint(NodeMask(0b10), preferred=True),
    ),
    ("of different widths", tables(), 16, {"memory": GI}, Hint(NodeMask(0b11), preferred=False)),
    (
        "no node is free",
        tables({(node,): 15 for node in range(NODES)}),
        8,
        {"memory": 0},
        Hint(NodeMask(1), preferred=True),
    ),
]


@pytest.mark.parametrize(
    ("on", "cpus", "request_", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_hints_merge_without_generating_all_sets(
    on: Tables, cpus: int, request_: Mapping[str, int], wanted: Hint
) -> None:
    with seconds_below(30):
        assert merged(on, cpus, request_) == wanted
