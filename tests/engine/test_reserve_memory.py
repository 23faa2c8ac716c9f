"""Splitting a memory reservation across NUMA nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.reserve import Spread, split_memory

MIB = 1 << 20
GIB = 1 << 30


@pytest.mark.parametrize(
    ("spread", "space", "total", "parts"),
    [
        (Spread.EVEN, {0: GIB, 1: GIB}, 1100 * MIB, {0: 550 * MIB, 1: 550 * MIB}),
        (Spread.EVEN, {0: GIB, 1: GIB}, 3 * MIB, {0: 2 * MIB, 1: MIB}),
        (Spread.EVEN, {0: 10 * MIB, 1: GIB}, 100 * MIB, {0: 10 * MIB, 1: 90 * MIB}),
        (Spread.EVEN, {0: GIB, 1: 0}, 100 * MIB, {0: 100 * MIB}),
        (Spread.PROPORTIONAL, {0: 3 * GIB, 1: GIB}, 400 * MIB, {0: 300 * MIB, 1: 100 * MIB}),
        (Spread.ONE_NODE, {0: MIB, 1: GIB}, 100 * MIB, {1: 100 * MIB}),
        (Spread.EVEN, {0: GIB, 1: GIB}, 2 * MIB + 5, {0: MIB + 5, 1: MIB}),
        (Spread.EVEN, {0: GIB, 1: 10 * MIB, 2: GIB}, 100 * MIB, {0: 45 * MIB, 1: 10 * MIB, 2: 45 * MIB}),
        (Spread.EVEN, {0: 2 * MIB, 1: 3 * MIB}, 3 * MIB, {0: MIB, 1: 2 * MIB}),
        (Spread.EVEN, {0: GIB}, 0, {}),
        (Spread.PROPORTIONAL, {0: 0}, 0, {}),
        (Spread.PROPORTIONAL, {0: MIB + 3, 1: MIB + 5}, 2 * MIB + 8, {0: MIB + 3, 1: MIB + 5}),
        (Spread.ONE_NODE, {1: GIB, 0: GIB}, MIB, {0: MIB}),
        (Spread.ONE_NODE, {0: MIB, 1: MIB}, MIB, {0: MIB}),
    ],
)
def test_parts(spread: Spread, space: dict[int, int], total: int, parts: dict[int, int]) -> None:
    assert split_memory(space, total, spread) == parts


def test_spreads_have_the_names_of_the_command_line() -> None:
    assert list(map(str, Spread)) == ["even", "proportional", "one-node"]


def test_a_node_can_be_named() -> None:
    assert split_memory({0: GIB, 1: GIB}, MIB, Spread.ONE_NODE, node=1) == {1: MIB}


@pytest.mark.parametrize(
    ("space", "node", "message"),
    [
        (
            {0: MIB, 1: MIB},
            None,
            "no single NUMA node has 2097152 bytes to reserve; the largest has 1048576",
        ),
        (
            {0: MIB, 1: GIB},
            0,
            "NUMA node 0 does not have 2097152 bytes to reserve; the largest has 1073741824",
        ),
        ({0: GIB}, 5, "there is no NUMA node 5"),
        ({0: MIB}, None, "2097152 bytes should be reserved, but all NUMA nodes together have 1048576"),
    ],
)
def test_amounts_that_do_not_fit_are_rejected(space: dict[int, int], node: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        split_memory(space, 2 * MIB, Spread.ONE_NODE, node)


def test_without_nodes_nothing_fits() -> None:
    with pytest.raises(ValueError, match=r"^no single NUMA node has 0 bytes to reserve; the largest has 0$"):
        split_memory({}, 0, Spread.ONE_NODE)


ROOM = st.dictionaries(st.integers(0, 63), st.integers(0, 1 << 40), min_size=1, max_size=16)


@given(st.data(), ROOM, st.sampled_from([Spread.EVEN, Spread.PROPORTIONAL]))
def test_parts_add_up_and_fit(data: st.DataObject, space: dict[int, int], spread: Spread) -> None:
    total = data.draw(st.integers(0, sum(space.values())))
    parts = split_memory(space, total, spread)
    assert sum(parts.values()) == total
    assert all(0 < part <= space[node] for node, part in parts.items())
