"""Every rule that can decide: a scenario that it decides, and the explanation."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.explanation import Explanation, explain
from cpuctl.engine.explain.rules import blocked_by_devices
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.explain.searches.changes import ChangeKind
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected, RejectionReason
from cpuctl.engine.pod_server import Creation, PodServer
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import StoredPod
from cpuctl.pods.rules import ServerRules
from cpuctl.records import replace
from tests.engine.explain.rules.cases import (
    BEST_EFFORT,
    CASES,
    DIVIDING,
    WITH_MEMORY,
    Case,
)
from tests.engine.explain.scenarios import (
    EIGHT,
    RESTRICTED,
    SINGLE,
    TWO_NODES,
    cards,
    decided,
    divided,
    explained,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.pods import app, init, sidecar

MEMORY = memory_config()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rule_that_decided(case: Case) -> None:
    explanation = explained(case.info, *case.pods, fit=case.fit, **case.config)
    decision = explanation.decision
    assert decision.rule is case.rule
    assert decision.why == case.why
    assert (decision.container, decision.provider) == (case.container, case.provider)
    if case.rule in {Rule.ADMITTED, Rule.INPUT_LACKS, Rule.FAILED_BEFORE}:
        assert explanation.searches == (), "nothing is to be changed, or no change would help"
    else:
        assert [search.kind for search in explanation.searches] == [*ChangeKind]


class _Refusing(PodServer):
    def create(self, pod: StoredPod) -> Creation:
        return Creation(invalid=(f"{pod.name} is forbidden", "and invalid") if pod.name == "b" else ())


def test_a_pod_that_no_api_server_stores_changes_nothing_on_the_node() -> None:
    one = scenario(EIGHT, named("a", whole(2)), named("b", whole(3)), named("c", whole(1)))

    def start(kubelet: Kubelet) -> Node:
        node = one.start(kubelet)
        assert isinstance(node, Node)
        node.server = _Refusing(ServerRules())
        return node

    replay = reported(replace(one, start=start, position=1))
    explanation = explain(replay)
    assert explanation.decision == Decision(
        Rule.API_SERVER,
        "the API server rejects this pod, so it never reaches a kubelet: b is forbidden; and invalid",
    )
    assert (explanation.rounds, explanation.searches) == ((), ())
    assert replay.after.state == replay.before.state
    assert replay.admitted == {"a", "c"}


def test_every_rule_that_can_decide_a_scenario_has_one() -> None:
    elsewhere = {Rule.UNKNOWN, Rule.HUGE_PAGES_ALONE, Rule.OTHER_ASSIGNMENT, Rule.UNHEALTHY_DEVICES}
    # The last one is about a running pod: tests/cli/test_explain.py.
    elsewhere |= {Rule.API_SERVER, Rule.NOTHING_ALLOCATED}
    # The engine alone does not handle claims: tests/cli/test_plan_claims.py.
    elsewhere |= {Rule.CLAIMS}
    # Nor a policy that replaces the kubelet's: tests/cli/test_policies.py.
    elsewhere |= {Rule.POLICY}
    assert {case.rule for case in CASES} == set(Rule) - elsewhere


def test_the_whole_pod_is_rejected_in_pod_scope() -> None:
    config = SINGLE | {"topology_manager_scope": "pod"}
    explanation = explained(TWO_NODES, named("a", whole(5, "one"), whole(5, "two")), **config)
    assert (explanation.decision.rule, explanation.decision.container) == (Rule.LARGER_THAN_A_NODE, "")
    assert [reported.name for reported in explanation.rounds] == [""]


def test_the_reason_why_an_admitted_pod_is_not_aligned_is_reported() -> None:
    pods = named("a", whole(4)), named("b", whole(4)), named("c", whole(6))
    explanation = explained(TWO_NODES, *pods, **BEST_EFFORT)
    assert explanation.decision.rule is Rule.ADMITTED
    (unmet,) = explanation.unaligned
    assert (unmet.rule, unmet.container) == (Rule.WIDTH_FROM_CAPACITY, "main")
    assert unmet.why.endswith("now 2 NUMA nodes are needed, and best-effort accepts it anyway")
    assert explained(TWO_NODES, pods[0], **BEST_EFFORT).unaligned == ()
    assert explained(TWO_NODES, pods[0]).unaligned == (), "without a policy there are no rounds of hints"


def grown(config: dict[str, Any]) -> Explanation:
    """Request more CPUs than the kubelet's state file has for the pod."""
    before = scenario(TWO_NODES, named("a", whole(2)), **config)
    node = reported(before).after

    def found_by_the_kubelet(_kubelet: Kubelet) -> Node:
        return node.copy()

    return explain(reported(replace(before, start=found_by_the_kubelet, pods=(named("a", whole(4)),))))


def test_an_assignment_of_another_size_makes_hints_impossible() -> None:
    assert grown(RESTRICTED).decision.rule is Rule.OTHER_ASSIGNMENT
    admitted = grown(BEST_EFFORT | DIVIDING)
    assert admitted.decision.rule is Rule.ADMITTED
    assert [unmet.rule for unmet in admitted.unaligned] == [Rule.OTHER_ASSIGNMENT]


def decision(info: MachineInfo, *pods: StoredPod, **config: Any) -> Decision:
    return decided(reported(scenario(info, *pods, **config)))


def test_a_rejected_container_is_explained_by_its_own_memory() -> None:
    pod = named("a", whole(1, "one", "1Gi"), whole(1, "two", "19Gi"))
    assert decision(WITH_MEMORY, pod, **MEMORY) == Decision(
        rule=Rule.NOT_ENOUGH,
        why="19Gi of memory are requested, but all NUMA nodes together have 17Gi free",
        container="two",
        provider="memory",
    )


def test_a_container_whose_hints_are_too_wide_is_explained_by_its_own_memory() -> None:
    pod = named("a", whole(1, "one", "12Gi"), whole(1, "two", "2Gi"))
    assert decision(WITH_MEMORY, pod, **SINGLE, **MEMORY).why.endswith(
        "but the request (12Gi of memory) needs at least 2, even if they are empty"
    )


def test_a_divided_pod_is_explained_by_its_pod_level_memory() -> None:
    pod = divided("a", "cpu=2 memory=19Gi", whole(2))
    assert decision(WITH_MEMORY, pod, **BEST_EFFORT, **DIVIDING, **MEMORY) == Decision(
        rule=Rule.NOT_ENOUGH,
        why="NUMA node 0, which the hint names, has 9Gi of memory free; 19Gi of memory are requested, but "
        "all NUMA nodes together have 18Gi free",
        provider="memory",
    )


def test_memory_that_a_hint_cannot_provide_is_reported_with_the_hint() -> None:
    pods = *(named(name, whole(1, memory="4Gi")) for name in "ab"), named("c", whole(1, memory="10Gi"))
    assert decision(WITH_MEMORY, *pods, **BEST_EFFORT, **MEMORY).why == (
        "NUMA node 0, which the hint names, has 1Gi of memory free; 10Gi of memory are requested, "
        "and all NUMA nodes together have 10Gi free, but the kubelet only adds nodes to those of the hint, "
        "and nodes in use stay in their groups: node 0 alone"
    )


def test_memory_of_init_containers_is_not_free_when_the_nodes_of_a_hint_are_checked() -> None:
    """It counts for the hints, so that these nodes are one, but not a preferred one: one node is enough."""
    before = sidecar(*("cpu=2 memory=6Gi",) * 2), init(*("cpu=7 memory=8Gi",) * 2)
    config = RESTRICTED | {"topology_manager_scope": "pod"}
    assert decision(WITH_MEMORY, named("a", *before, whole(7, memory="9Gi")), **config, **MEMORY) == Decision(
        rule=Rule.WIDTH_FROM_CAPACITY,
        why="NUMA nodes 0-1, which the hint names, have 0 of memory on node 0, 4Gi of memory on node 1 free, "
        "not counting the 8Gi of memory that its init containers used there; the kubelet only adds nodes to "
        "those of the hint, but 9Gi of memory fit into 1 NUMA node when empty, so only sets of that size are "
        "preferred, and none of the larger ones",
        container="main",
        provider="memory",
    )


def test_a_shortage_of_memory_is_written_as_in_manifests() -> None:
    pods = named("a", app("memory=3Gi")), named("b", app("memory=6Gi"))
    assert decision(with_memory(EIGHT, 8), *pods, fit=True) == Decision(
        rule=Rule.NODE_FIT,
        why="the pod requests 6Gi of memory, but only 5Gi of 8Gi are free",
    )


@pytest.mark.parametrize(
    ("resource", "amounts"),
    [
        ("ephemeral-storage", "6Gi of ephemeral-storage, but none of 8Gi"),
        ("hugepages-2Mi", "6Gi of hugepages-2Mi, but none of 8Gi"),
        ("example.com/card", f"{6 << 30} of example.com/card, but none of {8 << 30}"),
    ],
)
def test_shortages_are_in_the_unit_of_the_resource(resource: str, amounts: str) -> None:
    """More may be in use than is available: from pods admitted before the reservations grew."""
    details = {"requested": 6 << 30, "used": 9 << 30, "capacity": 8 << 30}
    refused = Rejected(reason=f"OutOf{resource}", message="", details=details)
    replay = reported(scenario(EIGHT, named("a", whole(1))))
    assert rejected_otherwise(replay, refused).why == (f"the pod requests {amounts} is free")


def test_too_few_devices_without_any_hints() -> None:
    pod = named("a", whole(1, more="example.com/card=2"))
    assert decision(EIGHT, pod, devices=cards(node0=1)) == Decision(
        rule=Rule.NOT_ENOUGH,
        why="it requests 2 example.com/card, but 1 is free on the node",
        container="main",
        provider="devices",
    )


def rejected_otherwise(replay: Replay, refused: Rejected) -> Decision:
    """Explain the replay as if it had ended in another rejection."""
    return decided(replace(replay, admissions=(replace(replay.admission, verdict=refused),)))


@pytest.mark.parametrize(
    "reason", [RejectionReason.UNEXPECTED_ADMISSION, RejectionReason.TOPOLOGY_AFFINITY, "SomethingNew"]
)
def test_unknown_rejections_are_reported_unchanged(reason: str) -> None:
    """One of them is a topology error without a round that explains it."""
    refused = Rejected(reason=reason, message="something new", container="main")
    unknown = Decision(rule=Rule.UNKNOWN, why="something new", container="main", provider="cpu")
    plain = reported(scenario(TWO_NODES, named("a", whole(2)), **RESTRICTED))
    assert rejected_otherwise(plain, refused) == unknown
    if reason != RejectionReason.UNEXPECTED_ADMISSION:
        own = reported(
            scenario(TWO_NODES, divided("a", "cpu=2 memory=2Gi", whole(2)), **RESTRICTED, **DIVIDING)
        )
        assert rejected_otherwise(own, refused) == unknown


def test_a_hint_that_violates_groups_is_named_only_if_there_was_one() -> None:
    message = (
        f"Allocate failed due to [memorymanager] {AllocationFailure.VIOLATES_GROUPS}, which is unexpected"
    )
    refused = Rejected(reason=RejectionReason.UNEXPECTED_ADMISSION, message=message, container="main")
    pod = named("a", whole(2))
    requested, unasked = (
        rejected_otherwise(reported(scenario(WITH_MEMORY, pod, **config, **MEMORY)), refused).why
        for config in (RESTRICTED, {})
    )
    assert requested.startswith("the hint NUMA node 0 has nodes that are used")
    assert unasked.startswith("the hint has nodes that are used")


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        ("no healthy devices present; cannot allocate unhealthy devices a/b", Rule.UNHEALTHY_DEVICES),
        (
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices a/b",
            Rule.UNHEALTHY_DEVICES,
        ),
        ('pod "a" container "c" changed request for resource "a/b" from 1 to 2', Rule.OTHER_ASSIGNMENT),
    ],
)
def test_errors_of_the_device_manager(error: str, rule: Rule) -> None:
    message = f"Allocate failed due to {error}, which is unexpected"
    refused = Rejected(reason=RejectionReason.UNEXPECTED_ADMISSION, message=message)
    assert blocked_by_devices(refused) == (rule, error)
    assert blocked_by_devices(Rejected(refused.reason, "Allocate failed due to not enough cpus")) is None
    assert blocked_by_devices(Rejected(RejectionReason.SMT_ALIGNMENT, refused.message)) is None


@pytest.mark.parametrize(("free", "are"), [(0, "none are"), (1, "1 is"), (2, "2 are")])
def test_a_shortage_of_devices_is_told_in_numbers(free: int, are: str) -> None:
    error = f"requested number of devices unavailable for a/b. Requested: 3, Available: {free}"
    message = f"Allocate failed due to {error}, which is unexpected"
    refused = Rejected(reason=RejectionReason.UNEXPECTED_ADMISSION, message=message)
    why = f"it requests 3 a/b, but {are} free on the node"
    assert blocked_by_devices(refused) == (Rule.NOT_ENOUGH, why)


def test_a_node_that_has_none_of_a_resource_is_told_of() -> None:
    details = {"requested": 2 << 30, "used": 0, "capacity": 0}
    refused = Rejected(reason="OutOfhugepages-1Gi", message="", details=details)
    replay = reported(scenario(EIGHT, named("a", whole(1))))
    assert rejected_otherwise(replay, refused).why == (
        "the pod requests 2Gi of hugepages-1Gi, but the node has none"
    )


def test_a_full_node_is_described_by_its_limit() -> None:
    refused = Rejected(reason="OutOfpods", message="", details={"requested": 1, "used": 110, "capacity": 110})
    replay = reported(scenario(EIGHT, named("a", whole(1))))
    assert rejected_otherwise(replay, refused).why == "the node has 110 pods, and allows 110 (maxPods)"
