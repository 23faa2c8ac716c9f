"""Construction of each benchmarked operation; a new one is a function here and a line in ``OPERATIONS``.

A function gets a line of the recorded benchmark input, ``{"bench": ..., "variant": ..., "case": ...}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import take_packed
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Answer, TopologyManager
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.node import Node
from cpuctl.kubelet.version import DEFAULT_VERSION
from cpuctl.pods.model import StoredPod
from tests.benchmarks.timing import Prepare, Run
from tests.conformance.corpus import Json
from tests.conformance.machines import machine_info
from tests.conformance.node_scenario import read_pod
from tests.conformance.node_start import start_kubelet


def preparation(bench: Json) -> Prepare:
    """Return a function that builds the operation of a line again."""
    return partial(OPERATIONS[bench["case"]["op"]], bench["case"])


def take_by_topology(case: Json) -> Run:
    """Pick CPUs on a newly discovered machine."""
    topology = CPUTopology.discover(machine_info(case["machine"]))
    offered, count = CPUMask(CPUSet.parse(case["available"]).mask), case["numCPUs"]
    if case["mode"] == "packed":
        return partial(take_packed, topology, offered, count, prefer_uncore=case.get("preferUncore", False))
    return partial(take_distributed, topology, offered, count, Dealing(group_size=case["groupSize"]))


def cpu_hints(case: Json) -> Run:
    """List every hint for a request: the engine itself uses the rule and never lists them."""
    topology = CPUTopology.discover(machine_info(case["machine"]))
    available, count = CPUSet.parse(case["available"]).mask, case["numCPUs"]
    return lambda: list(
        CPUHints.generate(topology, CPUMask(available), CPUMask(0), count, align_by_socket=False)
    )


def merge_hints(case: Json) -> Run:
    """Merge explicit lists of hints."""
    info = machine_info({"numaNodes": [{"cores": [], **node} for node in case["numaNodes"]]})
    manager = TopologyManager.of(info, case["policy"], "container", closest=False)
    return partial(manager.merge, [_answer(provider) for provider in case["providers"]])


def admit_pods(case: Json) -> Run:
    """Admit pods on a node that has just started; the kubelet's figure includes writing its state files."""
    node = start_kubelet(case["machine"], case["kubelet"], DEFAULT_VERSION)
    assert isinstance(node, Node), node
    return partial(_admit_all, node, [read_pod(step) for step in case["steps"]])


def _answer(provider: Mapping[str, list[Json]]) -> Answer:
    return {name: [_hint(hint) for hint in hints] for name, hints in provider.items()}


def _hint(hint: Json) -> Hint:
    return Hint(NodeMask(CPUSet.of(hint["numa"]).mask), hint["preferred"])


def _admit_all(node: Node, pods: list[StoredPod]) -> None:
    for pod in pods:
        node.admit(pod)


OPERATIONS: Mapping[str, Callable[[Json], Run]] = {
    "cpuHints": cpu_hints,
    "mergeHints": merge_hints,
    "node": admit_pods,
    "takeByTopology": take_by_topology,
}
