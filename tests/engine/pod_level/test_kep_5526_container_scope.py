"""KEP-5526, scope ``container``: every container separately, regardless of pod-level resources.

If the KEP's text and a kubelet of 1.36 differ, the test follows the kubelet and describes the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.engine.admission import Admission
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.pods.model import StoredPod
from tests.support.pod_level import (
    POLICIES,
    containers,
    cpus,
    divided,
    free_memory,
    made_of,
    memory,
    pool,
    started,
    undivided,
)

NODE_0, ANY = Hint(NodeMask(1), preferred=True), Hint(NodeMask(3), preferred=True)


def node_of(policy: str = "restricted", *, memory: bool = False, **config: Any) -> Node:
    """Start a node with scope container; the Memory Manager policy is None unless *memory* is set."""
    reported = {"topology_manager_scope": "container", "topology_manager_policy": policy, **config}
    return started(memory=memory, **reported)


def admitted(node: Node, pod: StoredPod) -> Admission:
    admission = node.admit(pod)
    assert admission.verdict == Admitted(), admission.verdict
    return admission


def merged(admission: Admission) -> list[Hint]:
    """Return the merged hint of each container."""
    found = []
    for requested in admission.hint_rounds:
        assert requested.container is not None
        assert isinstance(requested.merged, Merged)
        found.append(requested.merged.hint)
    return found


@dataclass(frozen=True)
class Row:
    """A row of the table of allocations: a pod, the hint and the CPUs of each container."""

    name: str
    pod: StoredPod
    hints: tuple[Hint, Hint, Hint]
    cpus: str
    left: str


ROWS = [
    Row("current behaviour", undivided("3 1 1"), (NODE_0, NODE_0, NODE_0), "1-3 4 5", "0,6-15"),
    Row("all Guaranteed", divided(5, "3 1 1"), (NODE_0, NODE_0, NODE_0), "1-3 4 5", "0,6-15"),
    Row("some Guaranteed", divided(5, "3 - -"), (NODE_0, ANY, ANY), "1-3 host host", "0,4-15"),
    Row("none Guaranteed", divided(5, "- - -"), (ANY, ANY, ANY), "host host host", "0-15"),
]


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_table_of_allocations(row: Row, policy: str) -> None:
    """No preference means all NUMA nodes; CPUs that are not exclusive are in the node's pool."""
    node = node_of(policy)
    admission = admitted(node, row.pod)
    assert merged(admission) == list(row.hints)
    assert (cpus(admission), pool(node)) == (row.cpus, row.left)
    assert (admission.pod_cpus, node.state.pod_entries) == (0, {})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_table_of_allocations_on_one_node(row: Row) -> None:
    """With single-numa-node, no preference is represented by no mask."""
    node = node_of("single-numa-node")
    admission = admitted(node, row.pod)
    no_mask = [Hint(None, preferred=True) if hint is ANY else hint for hint in row.hints]
    assert merged(admission) == no_mask
    assert (cpus(admission), pool(node)) == (row.cpus, row.left)


@pytest.mark.parametrize(
    ("pod", "alone"),
    [(undivided("2 1"), "1-2 3"), (divided(4, "- -"), "host host"), (divided(4, "2 -"), "1-2 host")],
    ids=["unset, set", "set, unset", "set, set"],
)
def test_table_of_combinations(pod: StoredPod, alone: str) -> None:
    assert cpus(admitted(node_of(), pod)) == alone


def test_example_1_mixed_allocation() -> None:
    node = node_of()
    admission = admitted(node, divided(4, "2 - -"))
    assert (cpus(admission), pool(node)) == ("1-2 host host", "0,3-15")
    shared = admission.placements[1:]
    assert {placement.cpus for placement in shared} == {node.state.default}


def test_example_2_pod_level_resources_only() -> None:
    node = node_of()
    assert cpus(admitted(node, divided(4, "- - -"))) == "host host host"
    assert (pool(node), node.state.assignments) == ("0-15", {})


@pytest.mark.parametrize("total", ["cpu=9 memory=9Gi", "cpu=4500m memory=9Gi"])
def test_pod_level_amounts_do_not_matter(total: str) -> None:
    """9 CPUs do not fit on one NUMA node, and 4.5 is not a whole number: the containers' 3 and 1 count."""
    admission = admitted(node_of("single-numa-node"), made_of(*containers("3 1"), total=total))
    assert cpus(admission) == "1-3 4"


def test_the_budget_may_be_used_up_by_exclusive_containers() -> None:
    """Scope ``pod`` rejects this pod; here the shared container has the node's pool."""
    assert cpus(admitted(node_of(), divided(5, "3 2 -"))) == "1-3 4-5 host"


def test_containers_of_one_pod_can_be_on_different_numa_nodes() -> None:
    """Story 2: an infrastructure container is aligned separately."""
    admission = admitted(node_of("single-numa-node"), divided(11, "5 6 -"))
    assert cpus(admission) == "1-5 8-13 host"


def test_a_container_that_cannot_be_aligned_is_rejected_with_its_own_error() -> None:
    """The kubelet's message has the words "Pod Scope" in both scopes."""
    verdict = node_of("single-numa-node").admit(divided(12, "2 9 -")).verdict
    assert verdict == Rejected(
        reason="TopologyAffinityError",
        message=(
            "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
        ),
        container="2",
    )


def test_init_containers_lend_their_cpus_and_sidecars_keep_theirs() -> None:
    admission = admitted(node_of(), divided(6, "i3 s1 2 -"))
    assert cpus(admission) == "1-3 1 2-3 host"


@pytest.mark.parametrize("policy", POLICIES)
def test_all_guaranteed_containers_have_their_own_memory(policy: str) -> None:
    node = node_of(policy, memory=True)
    admission = admitted(node, divided(5, "3 1 1"))
    assert memory(admission) == "3Gi@0 1Gi@0 1Gi@0"
    assert (free_memory(node), node.memory.state.pod_blocks) == ({0: 10, 1: 16}, {})


NO_DEFAULT = (
    "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with "
    "enough memory is available, which is unexpected"
)
VIOLATES = (
    "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation, which is unexpected"
)


@pytest.mark.parametrize(
    ("policy", "message"),
    [("single-numa-node", NO_DEFAULT), ("best-effort", VIOLATES), ("restricted", VIOLATES)],
)
def test_a_shared_container_is_rejected_by_the_memory_manager(policy: str, message: str) -> None:
    """The text lets it run in the node's pool; a kubelet requests no memory for it, and fails.

    ``best-effort`` and ``restricted`` find all NUMA nodes, one of which the previous container already uses.
    """
    verdict = node_of(policy, memory=True).admit(divided(5, "3 - -")).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.reason, verdict.message, verdict.container) == (
        "UnexpectedAdmissionError",
        message,
        "2",
    )


@pytest.mark.parametrize("policy", ["best-effort", "restricted"])
def test_a_pod_of_shared_containers_is_admitted_until_another_pod_has_memory(policy: str) -> None:
    """In the text, all run in the node's pool. A kubelet admits them only while no NUMA node is in use."""
    node = node_of(policy, memory=True)
    assert memory(admitted(node, divided(4, "- -", "first"))) == "- -"
    admitted(node, divided(2, "2", "second"))
    verdict = node.admit(divided(4, "- -", "third")).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.message == VIOLATES


def test_single_numa_node_never_admits_a_pod_of_shared_containers() -> None:
    verdict = node_of("single-numa-node", memory=True).admit(divided(4, "- -")).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.message == NO_DEFAULT


def test_without_a_topology_policy_scope_pod_has_no_effect() -> None:
    """According to the text, policy ``none`` is not affected: containers are placed one by one."""
    node = started(memory=False, topology_manager_policy="none", topology_manager_scope="pod")
    admission = admitted(node, divided(5, "3 -"))
    assert (admission.hint_rounds, cpus(admission), node.state.pod_entries) == ((), "1-3 host", {})
