"""How sets of NUMA nodes of equal rank compare."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.masks import NodeMask

FAR = Fit(distances={0: (10, 21, 30), 1: (21, 10, 11), 2: (30, 12, 10)})
SHORT = Fit(distances={0: (10, 21), 1: (21, 10), 8: (21, 11)})


def test_fewer_nodes_come_first_then_closer_ones_then_lower_ids() -> None:
    sets = [NodeMask(nodes) for nodes in range(1, 8)]
    assert sorted(sets, key=FAR.key) == [
        0b001,
        0b010,
        0b100,
        0b110,
        0b011,
        0b101,
        0b111,
    ]
    assert sorted(sets, key=Fit().key) == [
        0b001,
        0b010,
        0b100,
        0b011,
        0b101,
        0b110,
        0b111,
    ]


def test_a_distance_is_looked_up_by_id_in_the_row_of_the_first_node() -> None:
    assert (FAR.distance(1, 2), FAR.distance(2, 1)) == (11, 12)
    assert SHORT.distance(8, 1) == 11
    assert SHORT.distance(1, 8) < 0


@pytest.mark.parametrize(
    ("nodes", "unknown"), [(0b11, None), (1 << 8, (8, 8)), (1 << 8 | 1 << 1, (1, 8)), (1 << 8 | 0b11, (0, 8))]
)
def test_the_first_distance_that_no_row_has_is_reported(nodes: int, unknown: tuple[int, int] | None) -> None:
    assert SHORT.unknown(NodeMask(nodes)) == unknown
    assert Fit().unknown(NodeMask(nodes)) is None


def test_a_distance_of_zero_is_valid() -> None:
    """Some virtual machines report no other distances."""
    assert Fit(distances={0: (0, 0), 1: (0, 0)}).unknown(NodeMask(0b11)) is None


def test_sets_without_a_distance_precede_all_others_of_their_size() -> None:
    """The greatest distance that a kubelet reads has 64 bits, and 64 nodes have 64 squared distances."""
    largest = Fit(distances={node: [(1 << 64) - 1] * 64 for node in range(63)} | {63: []})
    many = (1 << 62) - 1
    assert largest.key(NodeMask(many << 2)) < largest.key(NodeMask(many))
    assert largest.key(NodeMask(0b1)) < largest.key(NodeMask(0b11))
