"""Rules for hints, one or several: the best that all prefer, the best that hints of all have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from cpuctl.engine.hints.cut_choice import CutChoice
from cpuctl.engine.hints.fit import Fit
from cpuctl.engine.hints.joint_choice import JointChoice
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.hints.reachable import reachable_sets
from cpuctl.engine.hints.rule import DirectRule, HintRule
from cpuctl.engine.hints.socket_rule import SocketRule


def best_preferred(rules: Sequence[HintRule], fit: Fit) -> set[int]:
    """Find the best of the sets that every rule has for a preferred hint, like ``best_sets``.

    Sets that are hints in spite of their rule are few: there may be worse ones of them beside it.
    """
    if len(rules) == 1 and isinstance(rules[0], DirectRule):
        return set(rules[0].best_preferred(fit))
    found = {
        nodes
        for rule in rules
        for nodes in rule.others
        if all(nodes in each and each.prefers(nodes) for each in rules)
    }
    return found.union(_best_covering(rules, fit))


def best_cuts(rules: Sequence[HintRule], inside: set[int], sizes: Sequence[int], fit: Fit) -> set[int]:
    """Find what hints of all rules can have in common in each of the sets *inside*, the best of each way.

    Sizes come in the order in which they are wanted.
    """
    found: set[int] = set()
    for listed in product(*((False, True) if rule.others else (False,) for rule in rules)):
        lists = [rule.others for rule, by_list in zip(rules, listed, strict=True) if by_list]
        left = [rule for rule, by_list in zip(rules, listed, strict=True) if not by_list]
        for nodes in inside:
            for reached in reachable_sets(lists, nodes):
                found.update(_best_cut(left, reached, sizes, fit) if left else [reached])
    return found


def _best_covering(rules: Sequence[HintRule], fit: Fit) -> list[int]:
    coverages = [coverage for rule in rules for coverage in rule.coverages]
    most = min(coverage.nodes.bit_count() for coverage in coverages)
    for size in range(1, most + 1):
        sockets = _socket_rules(rules, size)
        if sockets is not None and (found := best_sets(JointChoice.common(coverages, size, sockets), fit)):
            return found
    return []


def _best_cut(rules: Sequence[HintRule], nodes: int, sizes: Iterable[int], fit: Fit) -> list[int]:
    if len(rules) == 1 and isinstance(rules[0], DirectRule):
        return rules[0].best_cut(nodes, sizes, fit)
    for size in sizes:
        if found := best_sets(CutChoice.of((rule.coverages for rule in rules), nodes, size), fit):
            return found
    return []


def _socket_rules(rules: Iterable[HintRule], size: int) -> list[SocketRule] | None:
    """Tell what is asked of sockets for every rule to prefer hints of a size; None where one never does."""
    others = [rule for rule in rules if rule.width != size]
    asked = [rule.socket_rule for rule in others if rule.socket_rule is not None]
    return asked if len(asked) == len(others) else None
