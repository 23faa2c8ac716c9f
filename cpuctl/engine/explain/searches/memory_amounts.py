"""Amounts of memory, in bytes, at which the Memory Manager's answer can change: what sets of NUMA nodes have.

A set of nodes is a hint for a request as long as it has as much, free and in all. So the largest request that
is admitted is what some set has; what is more than some set has in all makes wider hints the preferred ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, combinations

from cpuctl.checkpoints.model import MemoryNode, MemoryTable
from cpuctl.engine.explain.offers import LISTED_NODES

_MEBI = 20


def amounts_below(tables: Mapping[int, MemoryNode], resource: str, most: int) -> list[int]:
    """List what sets of nodes have, free and in all, below *most*; the largest first, in whole Mi."""
    amounts = {
        amount >> _MEBI << _MEBI
        for count in (_free, _allocatable)
        for amount in _sums(tables, resource, count)
    }
    return sorted((amount for amount in amounts if 0 < amount < most), reverse=True)


def amounts_above(tables: Mapping[int, MemoryNode], resource: str, least: int) -> list[int]:
    """List what is just more than sets of nodes have in all, above *least*; the smallest first.

    What is more than all nodes have free is left out.
    """
    amounts = {(amount >> _MEBI) + 1 << _MEBI for amount in _sums(tables, resource, _allocatable)}
    free = sum(_free(node.memory_map[resource]) for node in tables.values() if resource in node.memory_map)
    return sorted(amount for amount in amounts if least < amount <= free)


def _free(table: MemoryTable) -> int:
    return table.free


def _allocatable(table: MemoryTable) -> int:
    return table.allocatable


def _sums(
    tables: Mapping[int, MemoryNode], resource: str, amount: Callable[[MemoryTable], int]
) -> Iterator[int]:
    """Add up every set of nodes; of many nodes only each one, and the largest together."""
    maps = (node.memory_map for node in tables.values())
    each = sorted((amount(entry[resource]) for entry in maps if resource in entry), reverse=True)
    if len(each) > LISTED_NODES:
        yield from each
        yield from accumulate(each)
        return
    for size in range(1, len(each) + 1):
        yield from map(sum, combinations(each, size))
