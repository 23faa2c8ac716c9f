"""CPUs are not NUMA nodes: the type checker rejects every line below that has an ignore comment.

Otherwise it would report an unused ignore.
"""

from __future__ import annotations

from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Fit, Hint
from cpuctl.engine.hints.merge import merge, reachable_sets
from cpuctl.engine.masks import CPU_0, NODE_0, CPUMask, NodeMask


def test_cpus_are_not_numa_nodes_for_the_type_checker() -> None:
    """At run time both are numbers, so these lines behave as with numbers."""
    fit = Fit()
    assert fit.key(NODE_0) == fit.key(CPU_0)  # type: ignore[arg-type]
    hint = Hint(CPU_0, preferred=True)  # type: ignore[arg-type]
    coverage = Coverage(nodes=NODE_0, amounts={CPU_0: 1}, wanted=1)  # type: ignore[dict-item]
    assert CPU_0 in coverage  # type: ignore[operator]
    assert merge([[hint]], CPU_0, fit) == hint  # type: ignore[arg-type]
    assert reachable_sets([], CPU_0) == {NODE_0}  # type: ignore[arg-type]
    assert NODE_0 & CPU_0  # type: ignore[operator]
    cpus: CPUMask = NODE_0 << 1  # type: ignore[assignment]
    nodes: NodeMask = CPU_0 << 1  # type: ignore[assignment]
    assert {int(cpus), int(nodes)} == {0b10}
