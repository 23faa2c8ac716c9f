"""Pickers and merges compared with naive twins, on machines of every shape: the fuzz target in brief."""

from __future__ import annotations

from itertools import accumulate
from random import Random

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules
from cpuctl.engine.masks import CPUMask
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.lockstep import Choices, plain, run_merges, run_pickers
from tests.support.naive_distributed import Request, pick_distributed
from tests.support.naive_packed import Machine
from tests.support.topologies import CoreAt, topology

MANY = 1500


@pytest.mark.parametrize("seed", range(2))
def test_pickers_agree_with_their_twins(seed: int) -> None:
    chance = Random(seed)  # noqa: S311  # the same machines every time
    for _ in range(MANY):
        run_pickers(Choices(chance.randbytes(120)))


@pytest.mark.parametrize("seed", range(2))
def test_merges_agree_with_the_full_walk(seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    for _ in range(MANY):
        run_merges(Choices(chance.randbytes(120)))


def test_a_slice_of_the_remainder_is_reused() -> None:
    """Machines this large are drawn too rarely: six nodes whose cores are spread over two sockets."""
    sizes = (2, 1, 3, 2, 1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 3, 2, 3, 2)
    sockets = (0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0)
    first = accumulate(sizes, initial=0)
    cores = [
        CoreAt(tuple(range(cpu, cpu + size)), index % 6, socket)
        for index, (cpu, size, socket) in enumerate(zip(first, sizes, sockets, strict=False))
    ]
    offered = CPUSet.parse("0-6,8-11,14,16-17,20-28,30-31")
    rules = picker_rules(behaviours(36), align_by_socket=False)
    found = take_distributed(topology(cores), CPUMask(offered.mask), 23, Dealing(1, Spread.OFF, rules, 0))
    request = Request(23, 1, Spread.OFF, rules, 0)
    assert plain(found) == pick_distributed(Machine(cores, 0), frozenset(offered), request)
