"""Amounts of memory worth trying: what sets of NUMA nodes have free or in total, and just above that."""

from __future__ import annotations

from itertools import accumulate

from cpuctl.checkpoints.model import MemoryNode, MemoryTable
from cpuctl.engine.explain.offers import LISTED_NODES
from cpuctl.engine.explain.searches.requests import amounts_above, amounts_below
from cpuctl.quantity import Quantity

PAGES = "hugepages-2Mi"
MIB = 1 << 20


def amount(text: str) -> int:
    return Quantity.parse(text).value


def tables(*nodes: str, resource: str = "memory") -> dict[int, MemoryNode]:
    """Describe NUMA nodes by free and total memory: ``1Gi/4Gi``."""
    return {number: _node(node, resource) for number, node in enumerate(nodes)}


def _node(text: str, resource: str) -> MemoryNode:
    free, allocatable = map(amount, text.split("/"))
    table = MemoryTable(
        total=allocatable, system_reserved=0, allocatable=allocatable, reserved=allocatable - free, free=free
    )
    return MemoryNode(number_of_assignments=0, memory_map={resource: table}, cells=(0,))


def test_lower_amounts_are_what_sets_of_nodes_have_free_or_in_total() -> None:
    nodes = tables("200.5Mi/500Mi", "0/300Mi")
    assert amounts_below(nodes, "memory", amount("801Mi")) == [
        amount(each) for each in ("800Mi", "500Mi", "300Mi", "200Mi")
    ]


def test_lower_amounts_are_never_equal() -> None:
    assert amounts_below(tables("100Mi/500Mi"), "memory", amount("500Mi")) == [amount("100Mi")]


def test_higher_amounts_are_a_mi_above_totals_of_sets_if_that_much_is_free() -> None:
    nodes = tables("401Mi/500Mi", "100Mi/300.5Mi")
    assert amounts_above(nodes, "memory", 0) == [amount("301Mi"), amount("501Mi")]
    assert amounts_above(nodes, "memory", amount("301Mi")) == [amount("501Mi")]
    assert amounts_above(tables("400Mi/500Mi", "100Mi/300.5Mi"), "memory", 0) == [amount("301Mi")]


def test_nodes_without_pages_of_a_size_add_nothing() -> None:
    nodes = {**tables("8Mi/8Mi", "2Mi/4Mi", resource=PAGES), 2: tables("1Gi/1Gi")[0]}
    assert amounts_below(nodes, PAGES, amount("1Gi")) == [amount(f"{mi}Mi") for mi in (12, 10, 8, 4, 2)]
    assert amounts_above(nodes, PAGES, 0) == [amount(f"{mi}Mi") for mi in (5, 9)]


def test_of_many_nodes_only_single_ones_and_the_largest_together_are_tried() -> None:
    """Every node has twice as much as the one before, so no two sets have the same amount."""
    sizes = [1 << place for place in range(LISTED_NODES + 1)]
    texts = [f"{size}Mi/{size}Mi" for size in sizes]
    every = [size * MIB for size in range((1 << LISTED_NODES) - 1, 0, -1)]
    assert amounts_below(tables(*texts[:-1]), "memory", amount("1Ti")) == every
    few = {*sizes, *accumulate(reversed(sizes))}
    assert amounts_below(tables(*texts), "memory", amount("1Ti")) == [
        size * MIB for size in sorted(few, reverse=True)
    ]
