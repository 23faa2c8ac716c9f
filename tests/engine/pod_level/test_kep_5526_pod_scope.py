"""KEP-5526, scope ``pod``: its tables, examples and special configurations for CPUs and memory.

If the KEP's text and a kubelet of 1.36 differ, the test follows the kubelet and describes the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.admission import Admission
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.masks import NodeMask
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
from tests.support.pods import app

NODE_0 = Hint(NodeMask(1), preferred=True)
TOO_LITTLE = (
    "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared "
    "containers"
)
NOT_ALIGNED = "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"


def admitted(pod: StoredPod, policy: str = "restricted") -> Admission:
    admission = started(topology_manager_policy=policy).admit(pod)
    assert admission.verdict == Admitted()
    return admission


def rejection(pod: StoredPod, policy: str = "best-effort") -> tuple[str, str]:
    """Return reason and message of the rejection, and check that nothing is allocated."""
    node = started(topology_manager_policy=policy)
    verdict = node.admit(pod).verdict
    assert isinstance(verdict, Rejected), verdict
    assert (pool(node), node.state.pod_entries, node.memory.state.pod_blocks) == ("0-15", {}, {})
    return str(verdict.reason), verdict.message


@dataclass(frozen=True)
class Row:
    """A row of the table of allocations: a pod and what its containers get."""

    name: str
    pod: StoredPod
    cpus: str
    memory: str


ROWS = [
    Row("current behaviour", undivided("3 1 1"), "1-3 4 5", "3Gi@0 1Gi@0 1Gi@0"),
    Row("all Guaranteed", divided(5, "3 1 1"), "1-3 4 5", "3Gi@0 1Gi@0 1Gi@0"),
    Row("some Guaranteed", divided(5, "3 - -"), "1-3 4-5 4-5", "3Gi@0 2Gi@0 2Gi@0"),
    Row("none Guaranteed", divided(5, "- - -"), "1-5 1-5 1-5", "5Gi@0 5Gi@0 5Gi@0"),
]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_table_of_allocations(row: Row, policy: str) -> None:
    """There is one hint for the whole pod, NUMA node 0, and the CPUs are those of the table."""
    admission = admitted(row.pod, policy)
    (requested,) = admission.hint_rounds
    assert (requested.container, requested.merged) == (None, Merged(NODE_0, admit=True))
    assert (cpus(admission), memory(admission)) == (row.cpus, row.memory)


@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        ("best-effort", "EmptyPodSharedPoolError", TOO_LITTLE),
        ("restricted", "TopologyAffinityError", NOT_ALIGNED),
        ("single-numa-node", "TopologyAffinityError", NOT_ALIGNED),
    ],
)
def test_table_of_allocations_admission_failure(policy: str, reason: str, message: str) -> None:
    """The text promises one clear error; the kubelet's error depends on the policy.

    Hints are generated first, and such a pod has none: only best-effort gets as far as the error.
    """
    assert rejection(divided(5, "3 2 -"), policy) == (reason, message)


@pytest.mark.parametrize(
    ("pod", "alone", "whole"),
    [
        (undivided("2 1"), "1-2 3", 0),
        (divided(4, "- -"), "1-4 1-4", 0b11110),
        (divided(4, "2 -"), "1-2 3-4", 0b11110),
    ],
    ids=["unset, set", "set, unset", "set, set"],
)
def test_table_of_combinations(pod: StoredPod, alone: str, whole: int) -> None:
    """Pod-level and container resources lead to an aggregate, one shared pool, or slices and a pool."""
    admission = admitted(pod)
    assert (cpus(admission), admission.pod_cpus) == (alone, whole)


@pytest.mark.parametrize(
    ("given", "cpu", "own_memory"),
    [
        (app("cpu=2 memory=2Gi", "cpu=2 memory=2Gi", "1"), "1-2", "2Gi@0"),
        (app("cpu=1 memory=2Gi", "cpu=2 memory=2Gi", "1"), "1-4", "4Gi@0"),
        (app("cpu=2 memory=1Gi", "cpu=2 memory=2Gi", "1"), "1-4", "4Gi@0"),
        (app("cpu=2", "cpu=2", "1"), "1-4", "4Gi@0"),
        (app("memory=2Gi", "memory=2Gi", "1"), "1-4", "4Gi@0"),
        (app("cpu=1500m memory=2Gi", "cpu=1500m memory=2Gi", "1"), "1-4", "2Gi@0"),
        (app("cpu=0 memory=0", "cpu=0 memory=0", "1"), "1-4", "4Gi@0"),
    ],
)
def test_which_containers_qualify_for_a_slice(given: object, cpu: str, own_memory: str) -> None:
    """Requests must equal limits for both resources, and CPUs must be whole numbers.

    Not in the text: with equal fractions of a CPU, a container has its own memory and shares CPUs.
    """
    assert isinstance(given, type(app()))
    admission = admitted(made_of(given, total="cpu=4 memory=4Gi"))
    assert (cpus(admission), memory(admission)) == (cpu, own_memory)


def test_example_1_shared_pool_only() -> None:
    admission = admitted(divided(4, "- - -"))
    assert (cpus(admission), memory(admission)) == ("1-4 1-4 1-4", "4Gi@0 4Gi@0 4Gi@0")
    assert all(placement.in_pod_pool for placement in admission.placements)


def test_example_2_mixed_allocation() -> None:
    admission = admitted(divided(4, "2 - -"))
    assert (cpus(admission), memory(admission)) == ("1-2 3-4 3-4", "2Gi@0 2Gi@0 2Gi@0")
    assert [placement.exclusive for placement in admission.placements] == [True, False, False]


def test_example_3_admission_failure() -> None:
    assert rejection(divided(5, "3 2 -")) == ("EmptyPodSharedPoolError", TOO_LITTLE)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_sum_equal_to_the_budget_is_accepted_without_shared_containers(policy: str) -> None:
    assert cpus(admitted(divided(5, "3 2"), policy)) == "1-3 4-5"


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (divided(5, "3 3 -"), TOO_LITTLE),
        (divided(5, "s3 2 -"), TOO_LITTLE),
        (divided(5, "s3 2 s-"), TOO_LITTLE),
        (
            divided(5, "s5 i-"),
            "pod rejected, pod has shared init containers but no cpus available for them",
        ),
    ],
)
def test_which_sums_leave_the_pool_empty(pod: StoredPod, message: str) -> None:
    """The text describes a sum that exactly equals the budget; a kubelet also rejects a larger one."""
    assert rejection(pod) == ("EmptyPodSharedPoolError", message)


def test_the_pool_of_each_resource_is_checked_separately() -> None:
    """Not in the text: CPUs are left for the shared container, but no memory."""
    greedy = app("cpu=1 memory=4Gi", "cpu=1 memory=4Gi", "1")
    pod = made_of(greedy, *containers("-"), total="cpu=4 memory=4Gi")
    node = started(topology_manager_policy="best-effort")
    verdict = node.admit(pod).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "EmptyPodSharedPoolError"
    assert (
        "sum of exclusive container memory requests equals pod budget, leaving no memory" in verdict.message
    )
    # The CPU Manager comes first, and has already assigned the pod's CPUs.
    assert pool(node) == "0,5-15"
    node.clean_up()
    assert (pool(node), free_memory(node)) == ("0-15", {0: 15, 1: 16})


@pytest.mark.parametrize("policy", POLICIES)
def test_the_unused_part_of_the_budget_stays_with_the_pod(policy: str) -> None:
    """Underutilization: 5 are aligned and reserved, 3 are used, and no other pod gets the rest."""
    node = started(topology_manager_policy=policy)
    admission = node.admit(divided(5, "2 1"))
    assert (cpus(admission), pool(node)) == ("1-2 3", "0,6-15")
    assert free_memory(node) == {0: 10, 1: 16}
    assert cpus(node.admit(divided(2, "-", "next"))) == "6-7"


def test_init_containers_and_sidecars() -> None:
    """The pool of ordinary init containers shrinks with every sidecar that has a slice.

    Exclusive init containers lend theirs to all later containers; shared sidecars get the final rest.
    Not in the text: an exclusive init container's slice is cut again from all that is left.
    """
    admission = admitted(divided(6, "i- s1 i3 i- s- 2 -"))
    assert cpus(admission) == "1-6 1 2-4 2-6 4-6 2-3 4-6"
    assert memory(admission) == "6Gi@0 1Gi@0 3Gi@0 5Gi@0 3Gi@0 2Gi@0 3Gi@0"


def test_the_budget_decides_even_if_containers_request_less() -> None:
    """8 CPUs do not fit on a NUMA node with 7 free CPUs, although the containers' 2 would."""
    whole = divided(8, "2 -")
    assert cpus(admitted(whole)) == "8-9 10-15"
    small = started(topology_manager_policy="single-numa-node")
    small.admit(divided(1, "-", "first"))
    small.admit(divided(8, "-", "second"))
    verdict = small.admit(divided(7, "2 -", "third")).verdict
    assert isinstance(verdict, Rejected)
    assert (verdict.reason, verdict.message) == ("TopologyAffinityError", NOT_ALIGNED)


def test_a_budget_larger_than_a_numa_node_is_spread_if_the_policy_permits() -> None:
    """Best-effort and restricted use several NUMA nodes; single-numa-node rejects the pod."""
    large = made_of(*containers("- 4"), total="cpu=12 memory=20Gi")
    for policy in ("best-effort", "restricted"):
        admission = admitted(large, policy)
        assert admission.hint_rounds[0].merged == Merged(Hint(NodeMask(3), preferred=True), admit=True)
        assert admission.pod_cpus.bit_count() == 12
        assert memory(admission) == "16Gi@0-1 4Gi@0-1"
    verdict = started(topology_manager_policy="single-numa-node").admit(large).verdict
    assert isinstance(verdict, Rejected)


def test_a_total_with_a_fraction_gives_no_exclusive_cpus() -> None:
    """The text does not cover such a pod; a kubelet divides its memory and leaves its CPUs shared."""
    pod = made_of(*containers("2 -"), total="cpu=4500m memory=5Gi")
    admission = admitted(pod)
    assert (cpus(admission), memory(admission)) == ("host host", "2Gi@0 3Gi@0")


def test_huge_pages_are_divided_like_memory() -> None:
    pages = "synthetic:2s2n8c1t,mem=16Gi,hugepages-2Mi=32"
    both = "cpu=2 memory=1Gi hugepages-2Mi=8Mi"
    pod = made_of(app(both, both, "1"), *containers("- -")[1:], total="cpu=4 memory=3Gi hugepages-2Mi=20Mi")
    node = started(pages)
    placed = node.admit(pod).placements
    assert [{block.type: block.size >> 20 for block in each.memory} for each in placed] == [
        {"hugepages-2Mi": 8, "memory": 1 << 10},
        {"hugepages-2Mi": 12, "memory": 2 << 10},
    ]
    assert node.memory.state.tables[0].memory_map["hugepages-2Mi"].free >> 20 == 64 - 20
