"""Scenarios that each of the rules decides, and the explanation of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cpuctl.engine.explain.decision import Rule
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    FOUR_NODES,
    RESTRICTED,
    SINGLE,
    TWO_NODES,
    divided,
    memory_config,
    named,
    whole,
    with_memory,
)
from tests.support.pods import app, init

BEST_EFFORT: dict[str, Any] = {"topology_manager_policy": "best-effort"}
DIVIDING: dict[str, Any] = {
    "topology_manager_scope": "pod",
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
ENDLESS = {
    "cpu_manager_policy_options": {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
    "reserved_system_cpus": "0,8,16,24",
}
WITH_MEMORY = with_memory(TWO_NODES, 10)
WITH_PAGES = with_memory(TWO_NODES, 10, pages={1 << 20: 2})


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    rule: Rule
    why: str
    info: MachineInfo
    pods: tuple[StoredPod, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    container: str = "main"
    provider: str = "cpu"
    fit: bool = False


CASES = [
    Case(
        "too few CPUs, no topology policy",
        Rule.NOT_ENOUGH,
        "it requests 6 exclusive CPUs, but 5 are free for exclusive use on the node",
        EIGHT,
        (named("a", whole(2)), named("b", whole(6))),
    ),
    Case(
        "too few CPUs, hints are impossible",
        Rule.NOT_ENOUGH,
        "it requests 16 exclusive CPUs, but 15 are free for exclusive use on the node",
        TWO_NODES,
        (named("a", whole(16)),),
        RESTRICTED,
    ),
    Case(
        "one node would be enough if it were empty",
        Rule.WIDTH_FROM_CAPACITY,
        "6 CPUs fit into 1 NUMA node when empty, so only sets of "
        "that size are preferred; now 2 NUMA nodes are needed, and restricted rejects what is not preferred",
        TWO_NODES,
        (named("a", whole(4)), named("b", whole(4)), named("c", whole(6))),
        RESTRICTED,
    ),
    Case(
        "an init container ties its pod to a node",
        Rule.REUSE_BINDS,
        "2 CPUs that its other containers hold are on NUMA node 0: every hint must include these nodes, and "
        "no preferred hint with them has 6 CPUs",
        TWO_NODES,
        (named("a", whole(4)), named("b", init("cpu=2 memory=1Gi", "cpu=2 memory=1Gi"), whole(6))),
        SINGLE,
    ),
    Case(
        "larger than a node",
        Rule.LARGER_THAN_A_NODE,
        "single-numa-node accepts only hints of one NUMA node, but "
        "the request (9 CPUs) needs at least 2, even if they are empty",
        TWO_NODES,
        (named("a", whole(9)),),
        SINGLE,
    ),
    Case(
        "not free on any single node",
        Rule.NO_SINGLE_NODE,
        "single-numa-node accepts only hints of one NUMA node; 7 CPUs are free, but "
        "no node has 6 CPUs free: at most 4, on NUMA node 1",
        TWO_NODES,
        (named("a", whole(4)), named("b", whole(4)), named("c", whole(6))),
        SINGLE,
    ),
    Case(
        "CPUs need one node and memory two",
        Rule.MASK_INEQUALITY,
        "every provider has hints that the policy accepts, but these have no set of NUMA nodes in "
        "common: cpu NUMA node 0 or NUMA node 1; memory NUMA nodes 0-1",
        WITH_MEMORY,
        (named("a", whole(2, memory="12Gi")),),
        RESTRICTED | memory_config(),
        provider="",
    ),
    Case(
        "whole cores are required",
        Rule.WHOLE_CORES,
        "full-pcpus-only allocates whole cores; 3 CPUs are not a multiple of 2",
        EIGHT,
        (named("a", whole(3)),),
        CORES,
    ),
    Case(
        "too few whole cores",
        Rule.FREE_CORES,
        "with full-pcpus-only, CPUs on cores with reserved CPUs do not count: 4 CPUs are free, 6 are "
        "requested",
        EIGHT,
        (named("a", whole(2)), named("b", whole(6))),
        CORES,
    ),
    Case(
        "no node has the memory",
        Rule.NO_SINGLE_NODE,
        "single-numa-node accepts only hints of one NUMA node, but none has 5Gi of memory free: 3Gi of "
        "memory on node 0, 1Gi of memory on node 1, 3Gi of memory on node 2, 3Gi of memory on node 3",
        with_memory(FOUR_NODES, 4, 10, 4, 4),
        (named("a", whole(1, memory="8Gi")), named("b", whole(1, memory="5Gi"))),
        SINGLE | memory_config(4),
        provider="memory",
    ),
    Case(
        "memory of two nodes that cannot be combined",
        Rule.GROUP_RULE,
        "10Gi of memory are requested, and all NUMA nodes together have 10Gi free, but they cannot be "
        "combined, as nodes in use stay in their groups: node 0 alone",
        WITH_MEMORY,
        (*(named(name, whole(1, memory="4Gi")) for name in "ab"), named("c", whole(1, memory="10Gi"))),
        memory_config(),
        provider="memory",
    ),
    Case(
        "more memory than there is",
        Rule.NOT_ENOUGH,
        "19Gi of memory are requested, but all NUMA nodes together have 18Gi free",
        WITH_MEMORY,
        (named("a", whole(1, memory="19Gi")),),
        memory_config(),
        provider="memory",
    ),
    Case(
        "a group of nodes is used as a whole or not at all",
        Rule.GROUP_RULE,
        "2Gi of memory fit into 1 NUMA node when empty, so only sets of that size are preferred; enough "
        "is free, but on nodes that are used individually or in other groups: nodes 0-1 together",
        WITH_MEMORY,
        (named("a", whole(9, memory="12Gi")), named("b", whole(1, memory="2Gi"))),
        RESTRICTED | memory_config(),
        provider="memory",
    ),
    Case(
        "a quantity that is not a whole number",
        Rule.QUANTITY_FORM,
        "a request of memory or huge pages is not written as a whole number of bytes, Ki, Mi or Gi",
        WITH_MEMORY,
        (named("a", whole(1, memory="1.5Gi"), static=True),),
        memory_config(),
        provider="memory",
    ),
    Case(
        "a pod's own CPUs leave none for its pool",
        Rule.EMPTY_POOL,
        "the containers with their own cpu requests use all cpu of the pod: nothing is left for the others",
        TWO_NODES,
        (divided("a", "cpu=2 memory=2Gi", whole(2), app("cpu=1 memory=1Gi", name="shared")),),
        RESTRICTED | DIVIDING,
        container="",
    ),
    Case(
        "a pod's own CPUs leave none for its pool, found out late",
        Rule.EMPTY_POOL,
        "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus "
        "for shared containers",
        TWO_NODES,
        (divided("a", "cpu=2 memory=2Gi", whole(2), app("cpu=1 memory=1Gi", name="shared")),),
        BEST_EFFORT | DIVIDING,
        container="",
    ),
    Case(
        "containers request more than their pod has",
        Rule.OVER_BUDGET,
        "the pod's 4 CPUs are not enough for its containers' own requests",
        TWO_NODES,
        (divided("a", "cpu=4 memory=8Gi", whole(2, "one"), whole(3, "two")),),
        RESTRICTED | DIVIDING,
        container="two",
    ),
    Case(
        "a divided pod's container without its own resources",
        Rule.NO_OWN_RESOURCES,
        "with scope container, the managers consider each container separately; container log has no cpu and "
        "memory requests equal to its limits, and the Static policy fails when there is no memory to "
        "allocate; KEP-5526 says such a container runs in the node's shared pool (workaround: "
        "topologyManagerScope "
        "pod, or give it its own requests equal to limits)",
        WITH_MEMORY,
        (divided("a", "cpu=4 memory=4Gi", whole(2, memory="1Gi"), app(name="log")),),
        RESTRICTED | DIVIDING | {"topology_manager_scope": "container"} | memory_config(),
        container="log",
        provider="memory",
    ),
    Case(
        "the same without a Topology Manager policy",
        Rule.NO_OWN_RESOURCES,
        "without a Topology Manager policy, the managers consider each container separately; container log "
        "has no cpu and memory requests equal to its limits, and the Static policy fails when there is "
        "no memory to allocate; KEP-5526 says such a container runs in the node's shared pool (workaround: "
        "a Topology "
        "Manager policy with scope pod, or give it its own requests equal to limits)",
        WITH_MEMORY,
        (divided("a", "cpu=4 memory=4Gi", whole(2, memory="1Gi"), app(name="log")),),
        DIVIDING | memory_config(),
        container="log",
        provider="memory",
    ),
    Case(
        "too few CPUs for a divided pod",
        Rule.NOT_ENOUGH,
        "it requests 16 exclusive CPUs, but 15 are free for exclusive use on the node",
        TWO_NODES,
        (divided("a", "cpu=16 memory=8Gi", whole(2)),),
        BEST_EFFORT | DIVIDING,
        container="",
    ),
    Case(
        "the node is too small",
        Rule.NODE_FIT,
        "the pod requests 4 CPUs, but only 3 of 7 CPUs are free",
        EIGHT,
        (named("a", app("cpu=4")), named("b", app("cpu=4"))),
        container="",
        provider="",
        fit=True,
    ),
    Case(
        "the kubelet hangs",
        Rule.KUBELET_FAULT,
        "endless loop in CPU Manager, distributing CPUs across NUMA nodes: a set of nodes has enough "
        "free CPUs for the remainder, but too few whole groups",
        FOUR_NODES,
        (named("a", whole(54)),),
        ENDLESS,
        container="",
        provider="",
    ),
    Case(
        "the kubelet has failed before",
        Rule.FAILED_BEFORE,
        "the kubelet has crashed on default/a (endless loop in CPU Manager, distributing CPUs across "
        "NUMA nodes)",
        FOUR_NODES,
        (named("a", whole(54)), named("b", whole(2))),
        ENDLESS,
        container="",
        provider="",
    ),
    Case(
        "unknown devices",
        Rule.INPUT_LACKS,
        "requests example.com/gpu, which is not described (use --devices)",
        EIGHT,
        (named("a", whole(2, more="example.com/gpu=1")),),
        container="",
        provider="",
    ),
    Case(
        "admitted",
        Rule.ADMITTED,
        "all checks of the kubelet pass",
        EIGHT,
        (named("a", whole(2)),),
        container="",
        provider="",
    ),
]
