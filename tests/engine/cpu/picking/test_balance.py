"""The search for NUMA nodes to distribute CPUs over, from counts of free CPUs only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cpuctl.engine.cpu.picking.balance import Search, Split, effective_combination
from cpuctl.engine.cpu.picking.packed import picker_rules
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.kubelet.releases.behaviours import behaviours


@dataclass(frozen=True)
class Case:
    """Free CPUs of NUMA nodes and the sockets that the nodes are in, and the chosen nodes."""

    name: str
    free: tuple[int, ...]
    need: int
    want: tuple[int, ...]
    extra: tuple[int, ...] = ()
    fewest: int = 1
    group: int = 1
    sockets: tuple[int, ...] = ()
    minor: int = 36


def searched(case: Case) -> Split | KubeletFault | None:
    """Search, with ``align-by-socket`` if the case has sockets."""
    return Search(
        free=case.free,
        sockets=tuple(frozenset({socket}) for socket in case.sockets),
        need=case.need,
        group=case.group,
        rules=picker_rules(behaviours(case.minor), align_by_socket=bool(case.sockets)),
    ).run(case.fewest, min(case.need // case.group, len(case.free)))


def found(case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    split = searched(case)
    assert isinstance(split, Split)
    return split.positions, split.extra


@pytest.mark.parametrize(
    "case",
    [
        Case("by too little to show", (5000, 5001, 1), 2, want=(0,)),
        Case("by enough to show", (500, 501, 1), 2, want=(1,)),
        Case("a remainder by too little to show", (5001, 5002, 1), 3, want=(0, 1), extra=(0, 1), fewest=2),
        Case("a remainder by enough to show", (501, 502, 1), 3, want=(0, 1), extra=(1,), fewest=2),
        Case("only just rounded together", (851, 852, 14), 1, want=(0,)),
        Case("rounded apart", (823, 824, 17), 1, want=(1,)),
        Case("four nodes", (504, 505, 132, 15), 1, want=(1,)),
        Case("the last of many", (1, 3, 5), 3, want=(1, 2), extra=(2,), fewest=2),
        Case("one of many", (1, 3, 4, 905, 906), 6, want=(0, 2, 3, 4), extra=(3, 4), fewest=4),
    ],
    ids=lambda case: case.name,
)
def test_balances_are_compared_to_a_thousandth(case: Case) -> None:
    """Taking more from a later node is better, by less or more than rounding hides."""
    assert found(case) == (case.want, case.extra)


FOUR_OF_SIX = Case("", (), 28, want=(), fewest=4)


@pytest.mark.parametrize(
    ("free", "want"),
    [
        ((9, 9, 9, 9, 2, 2), (0, 1, 2, 4)),
        ((2, 9, 9, 9, 9, 2), (1, 2, 3, 5)),
        ((9, 9, 9, 2, 2, 9), (0, 1, 2, 5)),
        ((9, 9, 9, 9, 2, 1), (0, 1, 2, 5)),
    ],
)
def test_the_search_stops_at_a_perfect_balance(free: tuple[int, ...], want: tuple[int, ...]) -> None:
    """Four nodes of 9 give 7 CPUs each and leave 2 on every node, except in the last case.

    The stored combination shows where the search stopped.
    """
    case = replace(FOUR_OF_SIX, free=free)
    assert found(case)[0] == want
    assert found(replace(case, sockets=(0,) * 6, minor=37))[0] == want


@pytest.mark.parametrize(
    "case",
    [
        Case("a worse balance", (5, 3, 3), 3, want=(1, 2), extra=(1, 2), fewest=2, sockets=(0, 1, 1)),
        Case("equal nodes", (3, 3, 3), 2, want=(1, 2), fewest=2, sockets=(0, 1, 1)),
        Case("the fullest apart", (3, 1, 5, 2), 6, want=(2, 3), extra=(2,), fewest=2, sockets=(0, 0, 1, 1)),
        Case("shares of whole groups", (8, 3), 8, want=(0, 1), extra=(0,), fewest=2, group=2, sockets=(0, 0)),
    ],
    ids=lambda case: case.name,
)
def test_align_by_socket_prefers_nodes_of_one_socket_from_1_37(case: Case) -> None:
    assert found(replace(case, minor=37)) == (case.want, case.extra)


def test_there_are_never_more_nodes_than_groups() -> None:
    """Two groups are for two or more nodes, but all free groups are in one node."""
    assert searched(Case("", (4, 1, 1), 4, want=(), fewest=2, group=2)) is None


@pytest.mark.parametrize(
    "case",
    [
        Case("small groups", (8, 8, 8, 8, 7, 7), 22, want=(), fewest=4, group=2),
        Case("fewer groups than one has CPUs", (400, 400, 160, 160, 100, 100), 280, (), fewest=4, group=40),
    ],
    ids=lambda case: case.name,
)
def test_the_kubelet_hangs_in_a_combination_that_could_not_win(case: Case) -> None:
    """Nodes 0 to 3 have the best balance; the last two have CPUs for the remainder, but not whole groups."""
    fault = searched(case)
    assert isinstance(fault, KubeletFault)
    assert fault.kind is FaultKind.ENDLESS_LOOP


def test_a_resized_container_stays_where_a_better_balance_is_elsewhere() -> None:
    rules = picker_rules(behaviours(36))
    search = Search(free=(4, 1, 4, 6), sockets=(), need=3, group=1, rules=rules, held=(0, 1, 0, 0))
    assert search.run(2, 2) == Split(positions=(1, 3), share=1, remainder=1, extra=(3,))


ENTRIES_KEPT = {1: 1, 2: 2, 3: 3, 4: 3, 5: 5, 6: 5, 7: 5, 8: 5, 9: 9, 10: 9, 16: 9, 17: 17, 18: 17, 33: 33}


@pytest.mark.parametrize(("size", "own"), ENTRIES_KEPT.items())
def test_entries_that_a_combination_keeps(size: int, own: int) -> None:
    """Go's append doubles a full array: entries in the spare capacity are shared with later combinations."""
    total = 100
    want = (*range(own), *range(total - size + own, total))
    assert effective_combination(tuple(range(size)), total) == want


@dataclass(frozen=True)
class Stopped:
    """A combination of 0..7 at which enumeration stops, and the combination that is stored in the end."""

    name: str
    combination: tuple[int, ...]
    want: tuple[int, ...]


@pytest.mark.parametrize(
    "case",
    [
        Stopped("the next one shares the kept entries", (0, 1, 2, 3), (0, 1, 2, 4)),
        Stopped("the next one has its own kept entry", (0, 1, 2, 7), (0, 1, 2, 7)),
        Stopped("nothing is overwritten in a kept size", (0, 1, 2), (0, 1, 2)),
        Stopped("two entries move", (0, 1, 2, 3, 4, 5, 7), (0, 1, 2, 3, 4, 6, 7)),
        Stopped("the last one has no next", (4, 5, 6, 7), (4, 5, 6, 7)),
    ],
    ids=lambda case: case.name,
)
def test_a_perfect_balance_stops_the_overwriting(case: Stopped) -> None:
    assert effective_combination(case.combination, 8, stopped=True) == case.want
