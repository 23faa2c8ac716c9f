"""The intersections of sets that serve one request each, by enumerating all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.masks import NodeMask


def naive_cuts(requested: Iterable[Sequence[Coverage]], inside: int) -> set[int]:
    """Intersect *inside* with a set of every request, in all ways; nodes are below 6."""
    reached = {inside}
    for request in requested:
        serving = [
            nodes
            for nodes in range(64)
            if all(not nodes & ~each.nodes and NodeMask(nodes) in each for each in request)
        ]
        reached = {one & other for one in reached for other in serving}
    return reached
