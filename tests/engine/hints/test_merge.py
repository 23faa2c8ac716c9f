"""Hint rules are merged like the lists that they represent, and as the kubelet merges lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import pytest

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.devices.allocation import DeviceHints
from cpuctl.engine.hints.hints import DONT_CARE, IMPOSSIBLE, Fit, Hint, HintList, HintRule
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import NODE_0, NodeMask
from tests.support.naive_merge import naive_merge
from tests.support.topologies import mask, uneven

ALL = 0b1111
MACHINE = uneven((0, 4), (0, 2), (1, 4), (1, 2))
FAR = Fit(distances={0: (10, 20, 12, 30), 1: (20, 10, 30, 12), 2: (12, 30, 10, 11), 3: (30, 12, 11, 10)})


def cpus(available: str, request: int, *, reusable: str = "", align: bool = False) -> CPUHints:
    return CPUHints.generate(MACHINE, mask(available), mask(reusable), request, align_by_socket=align)


def gpus(request: int, *free: int) -> DeviceHints:
    """Request devices; every node has two, of which *free* are available."""
    everywhere = {NODE_0 << node: 2 for node in range(4)}
    return DeviceHints.generate(
        NodeMask(ALL), everywhere, {NODE_0 << node: n for node, n in enumerate(free)}, {}, request
    )


def nics(request: int) -> DeviceHints:
    """Request some of three devices, two of which are next to all nodes of a socket."""
    everywhere = dict.fromkeys(map(NodeMask, (0b0011, 0b1100, 0b0100)), 1)
    return DeviceHints.generate(NodeMask(ALL), everywhere, everywhere, {}, request)


RULES: list[HintRule] = [
    cpus("0-11", 2),
    cpus("0-11", 5),
    cpus("0-2,4,6-7,10", 4),
    cpus("0-2,4,6-7,10", 6, align=True),
    cpus("3,5,8-11", 2, reusable="6", align=True),
    cpus("0-11", 12),
    gpus(1, 2, 2, 2, 2),
    gpus(2, 0, 0, 1, 2),
    gpus(3, 1, 1, 1, 0),
    gpus(5, 2, 2, 1, 1),
    nics(1),
    nics(2),
]
LISTS = [
    [
        Hint(NodeMask(0b0100), preferred=True),
        Hint(NodeMask(0b1000), preferred=True),
        Hint(NodeMask(0b1111), preferred=False),
    ],
    [Hint(NodeMask(0b0110), preferred=True), Hint(NodeMask(0b1100), preferred=True), DONT_CARE],
    [Hint(NodeMask(0b1000), preferred=False), Hint(NodeMask(0b0111), preferred=False)],
]


def closer(one: int, other: int) -> bool:
    return FAR.key(NodeMask(one)) < FAR.key(NodeMask(other))


def listed(hints: HintList) -> Sequence[Hint]:
    return list(hints) or [IMPOSSIBLE]


@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
def test_one_rule_merges_like_its_list(rule: HintRule) -> None:
    for others in ([], *([each] for each in LISTS), LISTS[:2]):
        assert merge([rule, *others], NodeMask(ALL), Fit()) == naive_merge([listed(rule), *others], ALL)
        assert merge([*others, rule], NodeMask(ALL), FAR) == naive_merge([*others, listed(rule)], ALL, closer)


@pytest.mark.parametrize("others", [[], [LISTS[1]], [LISTS[2]]], ids=["no list", "preferred", "not"])
def test_two_rules_merge_like_their_lists(others: list[list[Hint]]) -> None:
    for one, other in combinations_with_replacement(RULES, 2):
        assert merge([one, other, *others], NodeMask(ALL), Fit()) == naive_merge(
            [listed(one), listed(other), *others], ALL
        )


def test_the_closest_set_is_found_for_two_rules() -> None:
    for one, other in product(RULES[:6], RULES[6:]):
        assert merge([one, other], NodeMask(ALL), FAR) == naive_merge(
            [listed(one), listed(other)], ALL, closer
        )


def test_lists_with_dont_care_offer_their_preferred_hints() -> None:
    """``DONT_CARE`` means all nodes, but another hint in the list may be narrower."""
    narrow = Hint(NodeMask(0b0100), preferred=True)
    assert merge([[DONT_CARE, narrow]], NodeMask(ALL), Fit()) == narrow
    assert merge([[DONT_CARE], [DONT_CARE, narrow]], NodeMask(ALL), Fit()) == narrow


def test_a_machine_without_nodes_has_no_preferred_hint() -> None:
    assert merge([], NodeMask(0), Fit()) == Hint(NodeMask(0), preferred=False)
