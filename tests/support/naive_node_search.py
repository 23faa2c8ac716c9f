"""All sets of NUMA nodes that a choice leaves, one by one."""

from __future__ import annotations

from itertools import combinations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.node_search import SetsWithCPUs
from cpuctl.engine.masks import NodeMask


def all_sets(choice: SetsWithCPUs) -> list[NodeMask]:
    return [
        nodes
        for others in (combinations(choice.free, choice.more) if choice.more >= 0 else ())
        if sum(choice.free[node] for node in others) >= choice.missing
        for nodes in [choice.taken | NodeMask(CPUSet.of(others).mask)]
        if choice.rule is None or choice.rule.allows(nodes)
    ]
