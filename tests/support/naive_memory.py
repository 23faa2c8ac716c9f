"""Memory hints as the kubelet makes them: every set of NUMA nodes checked, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from cpuctl.checkpoints.model import MemoryNode
from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask

Tables = Mapping[int, MemoryNode]
Reusable = Mapping[tuple[NodeMask, str], int]


def naive_hints(tables: Tables, request: Mapping[str, int], reusable: Reusable) -> list[Hint]:
    """Try all sets, by size, then in lexicographic order."""
    smallest = len(tables)
    found = []
    for size in range(1, len(tables) + 1):
        for members in combinations(sorted(tables), size):
            if not _holds(tables, members, request, "allocatable", {}):
                continue
            smallest = min(smallest, size)
            if _free_to_join(tables, members) and _holds(tables, members, request, "free", reusable):
                found.append(CPUSet.of(members).mask)
    return [Hint(NodeMask(nodes), preferred=nodes.bit_count() == smallest) for nodes in found]


def naive_best(hints: Sequence[Hint]) -> Hint | None:
    """Search for the best hint: preferred ones first, then narrow ones, then low ids."""
    best: Hint | None = None
    for hint in hints:
        if best is None or _better(hint, best):
            best = hint
    return best


def _holds(
    tables: Tables, members: Sequence[int], request: Mapping[str, int], column: str, extra: Reusable
) -> bool:
    nodes = NodeMask(CPUSet.of(members).mask)
    sums = {
        name: sum(getattr(tables[node].memory_map[name], column) for node in members)
        + extra.get((nodes, name), 0)
        for name in request
    }
    return all(sums[name] % (1 << 64) >= amount for name, amount in request.items())


def _free_to_join(tables: Tables, members: Sequence[int]) -> bool:
    if len(members) == 1:
        return len(tables[members[0]].cells) == 1
    for number in members:
        node = tables[number]
        if node.number_of_assignments and (len(node.cells) == 1 or set(node.cells) != set(members)):
            return False
    return True


def _better(one: Hint, other: Hint) -> bool:
    if one.preferred != other.preferred:
        return one.preferred
    assert one.nodes is not None
    assert other.nodes is not None
    return (one.nodes.bit_count(), one.nodes) < (other.nodes.bit_count(), other.nodes)
