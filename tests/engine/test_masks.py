"""CPUs are no NUMA nodes: the type checker refuses every line below that says it is ignored, or it would
complain of an ignore that is unused."""

from __future__ import annotations

from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Fit, Hint
from cpuctl.engine.hints.merge import merge, reachable_sets
from cpuctl.engine.masks import CPU_0, NODE_0, CPUMask, NodeMask


def test_cpus_are_no_numa_nodes_to_the_type_checker() -> None:
    """To a running program both are numbers, so that nothing happens here but what is expected of these."""
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
