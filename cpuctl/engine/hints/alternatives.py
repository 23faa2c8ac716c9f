"""Sets of NUMA nodes that a Topology Manager could equally have chosen, for policies that choose instead.

A kubelet does not consider them: among equal sets it keeps the lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint, HintList
from cpuctl.engine.hints.topology_manager import HintRound, Merged, ProviderName, TopologyManager
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask

MOST_TRIED = 20_000
"""With more sets of one size than this, only the chosen one is considered."""


def equally_good(hint_round: HintRound, manager: TopologyManager) -> tuple[NodeMask, ...]:
    """List the sets that all managers prefer, as small and as close as the chosen one, lowest first.

    Only the chosen set if not all managers prefer it; empty if any NUMA nodes will do.
    """
    merged = hint_round.merged
    if not isinstance(merged, Merged) or merged.hint.nodes is None:
        return ()
    chosen = merged.hint.nodes
    if not merged.hint.preferred:
        return (chosen,)
    lists = [hints for answer in hint_round.answers.values() for hints in (answer or {}).values() if hints]
    rank = manager.fit.key(chosen)[:2]
    return tuple(
        nodes
        for nodes in _sets(manager.everything, chosen)
        if manager.fit.key(nodes)[:2] == rank and all(_preferred(hints, nodes) for hints in lists)
    )


def preferred_by_cpus(hint_round: HintRound, manager: TopologyManager) -> tuple[NodeMask, ...]:
    """List the smallest sets that the CPU Manager prefers, best first, if no set is preferred by all.

    If the Memory Manager prefers some of them, only those are listed.
    """
    merged, cpus = hint_round.merged, _first(hint_round, "cpu")
    if not isinstance(merged, Merged) or merged.hint.preferred or not cpus:
        return ()
    memory = _first(hint_round, "memory")
    lowest = NO_NODES
    for node in _nodes(manager.everything):
        lowest |= node
        found = [nodes for nodes in _sets(manager.everything, lowest) if _preferred(cpus, nodes)]
        if found:
            both = [nodes for nodes in found if memory and _preferred(memory, nodes)]
            return tuple(sorted(both or found, key=manager.fit.key))
    return ()


def _first(hint_round: HintRound, provider: ProviderName) -> HintList | None:
    answer = hint_round.answers.get(provider)
    return next(iter(answer.values())) if answer else None


def _sets(everything: NodeMask, like: NodeMask) -> list[NodeMask]:
    """List all sets of NUMA nodes as large as *like*, lowest first; only *like* if there are too many."""
    nodes, size = _nodes(everything), like.bit_count()
    if comb(len(nodes), size) > MOST_TRIED:
        return [like]
    return sorted(sum(chosen, NO_NODES) for chosen in combinations(nodes, size))


def _nodes(everything: NodeMask) -> list[NodeMask]:
    """List all NUMA nodes, each as its own set."""
    return [NODE_0 << node for node in CPUSet(everything)]


def _preferred(hints: HintList, nodes: NodeMask) -> bool:
    if isinstance(hints, Sequence):
        return any(hint in hints for hint in (Hint(nodes, preferred=True), Hint(None, preferred=True)))
    return nodes in hints and hints.prefers(nodes)
