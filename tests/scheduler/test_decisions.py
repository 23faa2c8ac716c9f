"""Filter and score of the default scheduler, with figures derived from the rules by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.pods.model import Pod
from cpuctl.pods.node_selection import NodeSelection, Requirement, Taint, Term, Toleration
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.scheduler.decisions import (
    Candidate,
    PodNeeds,
    Score,
    balanced_allocation,
    bound_load,
    filter_reasons,
    least_allocated,
    no_node_message,
    totals,
)
from cpuctl.scheduler.model import Load, NodeObject

GI = 1 << 30
ROOMY = {"cpu": 8000, "memory": 32 * GI, "pods": 110}


def node(name: str = "n1", **changes: Any) -> NodeObject:
    return NodeObject(name=name, **{"allocatable": ROOMY, **changes})


def pod(spec: str) -> Pod:
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {spec}\n"
    return decode_pod(Cursor.at_root(load_documents(text.encode(), "pod.yaml")[0]))


def asking(cpu: str, memory: str, more: str = "") -> Pod:
    requests = f"{{cpu: {cpu}, memory: {memory}}}"
    return pod(f"{{containers: [{{name: c, resources: {{requests: {requests}}}}}]{more}}}")


FILTERS = {
    "fits": ("", {}, Load(), ()),
    "cordoned": ("", {"unschedulable": True}, Load(), ("node(s) were unschedulable",)),
    "cordoned, and tolerated": (
        ", tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}]",
        {"unschedulable": True},
        Load(),
        (),
    ),
    "tainted": (
        "",
        {"taints": (Taint("gpu", "yes", "NoSchedule"),)},
        Load(),
        ("node(s) had untolerated taint(s)",),
    ),
    "discouraged only": ("", {"taints": (Taint("gpu", "yes", "PreferNoSchedule"),)}, Load(), ()),
    "tolerated": (
        ", tolerations: [{key: gpu, value: 'yes'}]",
        {"taints": (Taint("gpu", "yes", "NoExecute"),)},
        Load(),
        (),
    ),
    "not selected": (
        ", nodeSelector: {disk: ssd}",
        {"labels": {"disk": "hdd"}},
        Load(),
        ("node(s) didn't match Pod's node affinity/selector",),
    ),
    "too many, and too little of both": (
        "",
        {"allocatable": {"cpu": 1500, "memory": GI, "pods": 1}},
        Load(pods=1, amounts={"cpu": 1000}),
        ("Too many pods", "Insufficient cpu", "Insufficient memory"),
    ),
    "just fits": ("", {"allocatable": {"cpu": 2000, "memory": 2 * GI, "pods": 1}}, Load(), ()),
}


@pytest.mark.parametrize(("spec", "changes", "load", "reasons"), FILTERS.values(), ids=FILTERS.keys())
def test_filter(spec: str, changes: dict[str, Any], load: Load, reasons: tuple[str, ...]) -> None:
    assert filter_reasons(PodNeeds.of(asking("2", "2Gi", spec)), node(**changes), load) == reasons


def test_resources_that_a_pod_does_not_request_are_never_insufficient() -> None:
    full = Load(pods=1, amounts={"cpu": 9000, "memory": 64 * GI})
    assert filter_reasons(PodNeeds.of(pod("{containers: [{name: c}]}")), node(), full) == ()


def test_other_resources_are_insufficient_if_the_node_has_none() -> None:
    wanted = PodNeeds.of(
        pod("{containers: [{name: c, resources: {limits: {}, requests: {nvidia.com/gpu: 1}}}]}")
    )
    assert filter_reasons(wanted, node(), Load()) == ("Insufficient nvidia.com/gpu",)
    assert filter_reasons(wanted, node(allocatable={**ROOMY, "nvidia.com/gpu": 1}), Load()) == ()


PODS_THAT_ADD_UP = {
    "a sidecar with the app": (
        """{containers: [{name: c, resources: {requests: {cpu: 1}}}],
        initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}}]}""",
        3000,
    ),
    "an init container with a sidecar": (
        """{containers: [{name: c, resources: {requests: {cpu: 1}}}], initContainers: [
        {name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}},
        {name: i, resources: {requests: {cpu: 4}}}]}""",
        6000,
    ),
    "the pod as a whole": (
        "{resources: {requests: {cpu: 5}}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}",
        5000,
    ),
    "overhead on top of the pod-level request": (
        "{resources: {requests: {cpu: 5}}, overhead: {cpu: 250m}, containers: [{name: c}]}",
        5250,
    ),
    "no requests": ("{containers: [{name: c, resources: {requests: {cpu: 0}}}]}", 0),
}


@pytest.mark.parametrize(("spec", "milli"), PODS_THAT_ADD_UP.values(), ids=PODS_THAT_ADD_UP.keys())
def test_the_total_request_of_a_pod(spec: str, milli: int) -> None:
    assert PodNeeds.of(pod(spec)).load.amounts.get("cpu", 0) == milli


def resized(infeasible: bool, cpu: str = "6") -> Pod:
    condition = (
        "{type: PodResizePending, reason: Infeasible}" if infeasible else "{type: PodResizeInProgress}"
    )
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec: {{nodeName: n1, containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]}}
status:
  conditions: [{condition}]
  containerStatuses:
  - {{name: c, allocatedResources: {{cpu: 4}}, resources: {{requests: {{cpu: 3}}}}}}
"""
    return decode_pod(Cursor.at_root(load_documents(text.encode(), "pod.yaml")[0]))


@pytest.mark.parametrize(
    ("infeasible", "cpu", "milli"), [(False, "6", 6000), (False, "2", 4000), (True, "6", 4000)]
)
def test_a_pod_that_is_resized_counts_with_its_maximum(infeasible: bool, cpu: str, milli: int) -> None:
    assert bound_load(resized(infeasible, cpu)).amounts["cpu"] == milli


def test_the_message_counts_nodes_by_reason_in_the_order_of_its_texts() -> None:
    found = [
        (("Insufficient cpu", "Insufficient memory"), 2),
        (("Insufficient cpu",), 9),
        (("Too many pods",), 1),
    ]
    assert no_node_message(found, 12) == (
        "0/12 nodes are available: 1 Too many pods, 11 Insufficient cpu, 2 Insufficient memory."
    )


def test_least_allocated_is_the_mean_of_free_shares() -> None:
    wanted = PodNeeds.of(asking("2", "8Gi"))
    # CPU: 8000 - 3000 of 8000 is 62, memory: 32 - 24 of 32 is 25.
    bound = Load(1, {"cpu": 1000, "memory": 16 * GI}, 1000, 16 * GI)
    assert least_allocated(wanted.load, Candidate(node(), bound)) == (62 + 25) // 2


def test_a_container_that_requests_nothing_counts_a_little_in_scores() -> None:
    load = PodNeeds.of(pod("{containers: [{name: a}, {name: b}]}")).load
    assert (load.amounts, load.scored_cpu, load.scored_memory) == ({}, 200, 400 << 20)


def test_balance_scores_how_much_a_pod_improves_it() -> None:
    # Without the pod: shares 0 and 0.5, deviation 0.25, 75. With it: 0.5 and 0.5, 100.
    bound = Load(1, {"memory": 16 * GI}, 100, 16 * GI)
    wanted = PodNeeds.of(pod("{containers: [{name: c, resources: {requests: {cpu: 4}}}]}"))
    assert balanced_allocation(wanted.load, Candidate(node(), bound)) == 50 + (50 + 100 - 75) // 2
    worse = PodNeeds.of(pod("{containers: [{name: c, resources: {requests: {memory: 16Gi}}}]}"))
    assert balanced_allocation(worse.load, Candidate(node(), bound)) == 50 + (50 + 50 - 75) // 2
    nothing = PodNeeds.of(pod("{containers: [{name: c}]}"))
    assert balanced_allocation(nothing.load, Candidate(node(), bound)) == 0


def test_the_emptier_node_wins() -> None:
    wanted = PodNeeds.of(asking("2", "8Gi"))
    bound = Load(1, {"cpu": 4000, "memory": 16 * GI}, 4000, 16 * GI)
    candidates = [Candidate(node("a"), bound), Candidate(node("b"), Load())]
    full, empty = totals([Score.of(wanted, each) for each in candidates])
    assert empty > full


def test_taints_and_preferences_are_weighted_by_the_maximum_of_all_nodes() -> None:
    term = Term(labels=(Requirement("zone", "In", ("a",)),))
    wanted = PodNeeds(NodeSelection(preferred=((10, term),)), Load(1))
    plain = Candidate(node("a"), Load())
    chosen = Candidate(node("b", labels={"zone": "a"}), Load())
    tainted = Candidate(node("c", taints=(Taint("x", "", "PreferNoSchedule"),)), Load())
    base, preferred, discouraged = totals([Score.of(wanted, each) for each in (plain, chosen, tainted)])
    assert (preferred - base, base - discouraged) == (200, 300)


@given(st.integers(0, 8000), st.integers(0, 32), st.integers(0, 8000), st.integers(0, 32))
def test_scores_stay_within_their_bounds(cpu: int, memory: int, more_cpu: int, more_memory: int) -> None:
    bound = Load(1, {"cpu": cpu, "memory": memory * GI}, cpu, memory * GI)
    wanted = Load(1, {"cpu": more_cpu, "memory": more_memory * GI}, more_cpu, more_memory * GI)
    assert 0 <= least_allocated(wanted, Candidate(node(), bound)) <= 100
    assert balanced_allocation(wanted, Candidate(node(), bound)) == 0 or (
        50 <= balanced_allocation(wanted, Candidate(node(), bound)) <= 100
    )


# Node constraints of a pod


EXPRESSIONS = [
    ("In", ("a", "b"), {"k": "b"}, True),
    ("In", ("a",), {}, False),
    ("NotIn", ("a",), {"k": "a"}, False),
    ("NotIn", ("a",), {}, True),
    ("Exists", (), {"k": ""}, True),
    ("DoesNotExist", (), {"k": ""}, False),
    ("Gt", ("3",), {"k": "4"}, True),
    ("Gt", ("4",), {"k": "4"}, False),
    ("Lt", ("4",), {"k": "x"}, False),
    ("Lt", ("4",), {"k": "3"}, True),
    # Labels may have underscores, which Go does not accept in numbers; nor does it accept more than 64 bits.
    ("Gt", ("4",), {"k": "1_0"}, False),
    ("Gt", ("4",), {"k": "9223372036854775808"}, False),
    ("Gt", ("-1",), {"k": "00"}, True),
    ("Gt", ("4", "5"), {"k": "9"}, False),
    ("Like", ("4",), {"k": "4"}, False),
]


@pytest.mark.parametrize(("operator", "values", "labels", "holds"), EXPRESSIONS)
def test_expressions(operator: str, values: tuple[str, ...], labels: dict[str, str], holds: bool) -> None:
    assert Requirement("k", operator, values).holds(labels) is holds


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    selection = NodeSelection(required=(Term(), Term(fields=(Requirement("metadata.name", "In", ("n1",)),))))
    assert selection.selects("n1", {})
    assert not selection.selects("n2", {})
    assert not NodeSelection(required=()).selects("n1", {})


NAMED = [
    ("", None),
    ("matchFields: [{key: metadata.name, operator: In, values: [n1]}]", {"n1"}),
    ("matchFields: [{key: metadata.name, operator: NotIn, values: [n1]}]", None),
    ("matchExpressions: [{key: a, operator: Exists}]", None),
]


@pytest.mark.parametrize(("term", "names"), NAMED)
def test_only_named_nodes_are_considered(term: str, names: set[str] | None) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [f"{{{term}}}", "{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}"]

    def wanted(*terms: str) -> PodNeeds:
        affinity = f"{{nodeAffinity: {{{required}: {{nodeSelectorTerms: [{', '.join(terms)}]}}}}}}"
        return PodNeeds.of(asking("2", "2Gi", f", affinity: {affinity}"))

    assert wanted(terms[0]).selection.names == names
    assert wanted(*terms).selection.names == (names and names | {"n2"})
    others = filter_reasons(wanted(*terms), node("n3", unschedulable=True), Load())
    assert others == (
        ("node(s) didn't satisfy plugin(s) [NodeAffinity]",) if names else ("node(s) were unschedulable",)
    )


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration("k", "Exists"), True),
        (Toleration("k", "Equal", "v"), True),
        (Toleration("k", "Equal", "w"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("k", "Exists", effect="NoExecute"), False),
        (Toleration("k", "Equal", "v", "NoSchedule"), True),
    ],
)
def test_tolerations(toleration: Toleration, tolerates: bool) -> None:
    assert toleration.tolerates(Taint("k", "v", "NoSchedule")) is tolerates


def test_all_node_constraints_of_a_pod_are_read() -> None:
    spec = """
  nodeSelector: {disk: ssd}
  tolerations: [{key: a, value: b, effect: NoSchedule}, {operator: Exists}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
          matchFields: [{key: metadata.name, operator: NotIn, values: [n9]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchExpressions: [{key: fast, operator: Exists}]}}
  containers: [{name: c}]
"""
    assert pod(spec).node_selection == NodeSelection(
        selector={"disk": "ssd"},
        required=(
            Term((Requirement("zone", "In", ("a", "b")),), (Requirement("metadata.name", "NotIn", ("n9",)),)),
        ),
        preferred=((5, Term((Requirement("fast", "Exists"),))),),
        tolerations=(Toleration("a", "Equal", "b", "NoSchedule"), Toleration("", "Exists")),
    )
    assert pod("{containers: [{name: c}]}").node_selection is None
    assert pod("{containers: [{name: c}], affinity: {podAntiAffinity: {}}}").node_selection is None
