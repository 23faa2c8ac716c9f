"""Two plans side by side: a plan does not differ from itself, and the sides can be swapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.answering.plan.comparison_answer import PlannedSide, comparison_document, started_side
from cpuctl.answering.plan.plan_answer import plan_document, verdict_answer
from cpuctl.answering.plan.plan_document import kubelet_answer
from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import StoredPod
from tests.support.capacity_nodes import exclusive, kubelet, node_with, shared

if TYPE_CHECKING:
    from cpuctl.answers.plan import PlanHeader

POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])
PODS = st.lists(st.integers(0, 6), max_size=7).map(
    lambda sizes: [exclusive(f"p{n}", cpus) if cpus else shared(f"p{n}") for n, cpus in enumerate(sizes)]
)


def side(policy: str, pods: list[StoredPod], *, whole_cores: bool = False) -> PlannedSide:
    reported = kubelet(policy, full_pcpus_only="true") if whole_cores else kubelet(policy)
    node = node_with(reported=reported, threaded=True)
    admissions = [node.admit(pod) for pod in pods]
    head: PlanHeader = {"sources": {}, "kubelet": kubelet_answer(reported)}
    verdicts = {each.pod.uid: verdict_answer(each.verdict) for each in admissions}
    return started_side(policy, plan_document(node, admissions, head, {}), verdicts, None)


@given(POLICIES, PODS)
def test_a_plan_compared_with_itself_has_no_changes(policy: str, pods: list[StoredPod]) -> None:
    found = comparison_document(side(policy, pods), side(policy, pods), {})
    summary = found["summary"]
    assert (summary["changed"], summary["verdicts"], summary["containers"]) == (0, 0, 0)
    assert not summary["sharedPoolDiffers"]
    assert found["a"] == found["b"]


@given(POLICIES, POLICIES, PODS, st.booleans())
def test_sides_can_be_swapped(one: str, other: str, pods: list[StoredPod], whole_cores: bool) -> None:
    a, b = side(one, pods), side(other, pods, whole_cores=whole_cores)
    there, back = comparison_document(a, b, {}), comparison_document(b, a, {})
    assert there["summary"] == back["summary"]
    for pod, mirrored in zip(there["pods"], back["pods"], strict=True):
        assert (pod["a"], pod["b"]) == (mirrored["b"], mirrored["a"])
        for container, reverse in zip(pod["containers"], mirrored["containers"], strict=True):
            assert (container["onlyA"], container["onlyB"]) == (reverse["onlyB"], reverse["onlyA"])


@given(POLICIES, POLICIES, PODS)
def test_changes_lead_from_one_side_to_the_other(one: str, other: str, pods: list[StoredPod]) -> None:
    for pod in comparison_document(side(one, pods), side(other, pods), {})["pods"]:
        for container in pod["containers"]:
            before, after = (
                CPUSet.parse(run["cpus"]) if run and run["exclusive"] else CPUSet()
                for run in (container["a"], container["b"])
            )
            left, joined = CPUSet.parse(container["onlyA"]), CPUSet.parse(container["onlyB"])
            assert (before - left) | joined == after
            assert container["moves"] == (["cpus"] if left or joined else [])
