"""The hints of each provider in one round of the Topology Manager, as far as a plan contains them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import HintList, HintRule
from cpuctl.engine.hints.topology_manager import HintRound
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask

if TYPE_CHECKING:
    from cpuctl.answers import decisions as answers

LISTED_NODES = 8
"""The kubelet's default maximum of NUMA nodes: beyond it, there are too many preferred sets to list."""


def offers_answer(hint_round: HintRound) -> list[answers.Offer]:
    """Describe the hints by provider and resource; leave out those without any preference."""
    return [
        {"provider": provider, "resource": resource, **_hints(hints)}
        for provider, answer in hint_round.answers.items()
        for resource, hints in (answer or {}).items()
    ]


def _hints(hints: HintList | None) -> answers.OfferedHints:
    """Return the preferred sets of NUMA nodes: empty if no set is possible, None if none are reported."""
    if hints is None:
        return {"status": "no preference", "preferred": None}
    if not hints:
        return {"status": "impossible", "preferred": []}
    return {"status": "hints", "preferred": _preferred(hints)}


def _preferred(hints: HintList) -> list[str] | None:
    if isinstance(hints, Sequence):
        sets: set[NodeMask] = {hint.nodes for hint in hints if hint.preferred and hint.nodes is not None}
    else:
        nodes = NO_NODES
        for coverage in hints.coverages:
            nodes |= coverage.nodes
        if nodes.bit_count() > LISTED_NODES:
            return None
        sets = {each for each in (*_candidates(hints, nodes), *hints.others) if hints.prefers(each)}
    return [str(CPUSet(each)) for each in sorted(sets, key=lambda each: (each.bit_count(), each))]


def _candidates(rule: HintRule, nodes: NodeMask) -> Iterator[NodeMask]:
    bits = [NODE_0 << node for node in CPUSet(nodes)]
    for size in (rule.width,) if rule.socket_rule is None else range(1, len(bits) + 1):
        sets = (sum(chosen, NO_NODES) for chosen in combinations(bits, size))
        yield from (nodes for nodes in sets if nodes in rule)
