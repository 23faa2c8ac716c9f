from __future__ import annotations

from dataclasses import replace

import pytest

from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.governing.limit_range import LimitRange, LimitRangeItem
from cpuctl.pods.model import ResourceRequirements
from cpuctl.pods.rules import NodeRules, PodRules, ServerRules
from tests.support.pods import amounts, app, pod, resources

FULL = ("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")
STATIC = NodeOfPods(static=frozenset({"cpu", "memory", "topology"}))
LEVEL = pod(app(), pod_level=resources(*FULL))


def test_exclusive_cpus_have_no_quota() -> None:
    facts = pod_facts(
        pod(app(*FULL, name="a"), app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", name="b")), STATIC
    )
    assert [each.exclusive for each in facts.containers] == [True, False]
    assert [each.cgroup.quota for each in facts.containers] == [-1, 50_000]
    assert facts.cgroup.quota == -1
    assert facts.containers[0].why_shared == ""
    assert facts.containers[1].why_shared == "its cpu request 500m is not a whole number of CPUs"


def test_without_the_static_policy_nobody_gets_any() -> None:
    (container,) = pod_facts(pod(app(*FULL)), NodeOfPods()).containers
    assert not container.exclusive
    assert container.why_shared == "the CPU Manager policy is none"
    assert container.cgroup.quota == 200_000


def test_up_to_132_exclusive_cpus_keep_their_quota() -> None:
    node = replace(STATIC, settings=CgroupSettings(minor=32, lifts_quota=False))
    assert pod_facts(pod(app(*FULL)), node).cgroup.quota == 200_000


def test_containers_that_divide_the_pods_cpus_lift_its_quota_together() -> None:
    node = replace(STATIC, rules=PodRules(node=NodeRules(managers=True)))
    own = resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
    mixed = pod_facts(pod(app(*FULL, name="a"), app(name="b"), pod_level=own), node)
    assert [each.exclusive for each in mixed.containers] == [True, False]
    assert (mixed.containers[0].cgroup.quota, mixed.cgroup.quota) == (-1, 400_000)
    alone = pod_facts(pod(app(*FULL), pod_level=own), node)
    assert alone.cgroup.quota == -1


def test_a_request_that_follows_its_limit_needs_no_change() -> None:
    (container,) = pod_facts(pod(app("", "cpu=1500m memory=1Gi")), STATIC).containers
    assert [change.path for change in container.advice.changes] == ["spec.containers[0].resources.limits.cpu"]
    (written,) = pod_facts(pod(app("cpu=1500m", "cpu=1500m memory=1Gi")), STATIC).containers
    assert len(written.advice.changes) == 2


def test_alignment_is_ignored_with_pod_level_resources() -> None:
    facts = pod_facts(LEVEL, STATIC)
    assert [text.partition(" alignment")[0].rpartition(" ")[2] for text in facts.notices] == [
        "CPU",
        "memory",
        "topology",
    ]
    assert "not supported by the static CPU manager policy" in facts.notices[0]


@pytest.mark.parametrize(
    ("own", "node"),
    [
        (resources(*FULL), NodeOfPods()),
        (resources("cpu=1 memory=1Gi", FULL[1]), STATIC),
        (resources(*FULL), replace(STATIC, rules=PodRules(node=NodeRules(managers=True)))),
        (None, STATIC),
    ],
)
def test_where_there_is_nothing_to_align(own: ResourceRequirements | None, node: NodeOfPods) -> None:
    assert pod_facts(replace(LEVEL, resources=own), node).notices == ()


def test_fractions_are_not_aligned_anyway() -> None:
    own = resources("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")
    notices = pod_facts(pod(app(), pod_level=own), replace(STATIC, static=frozenset({"cpu"}))).notices
    assert notices == ()


def test_cgroup_version_1_is_told() -> None:
    (notice,) = pod_facts(LEVEL, NodeOfPods(cgroup_version=1)).notices
    assert "KEP-2837 says that pod-level resources need cgroup v2" in notice


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (ServerRules(pod_level=False), "it has PodLevelResources switched off"),
        (ServerRules(minor=31, pod_level=False), "it knows no such field"),
    ],
)
def test_what_the_server_drops_is_told(server: ServerRules, why: str) -> None:
    facts = pod_facts(LEVEL, NodeOfPods(rules=PodRules(server=server)))
    assert facts.notices == (f"the API server drops spec.resources: {why}",)
    assert facts.rejected is None
    assert facts.qos.qos_class == "BestEffort"


def test_a_kubelet_with_the_gate_off_rejects() -> None:
    facts = pod_facts(LEVEL, NodeOfPods(rules=PodRules(node=NodeRules(pod_level=False))))
    assert facts.rejected is not None
    assert (facts.rejected.reason, facts.rejected.message) == (
        "PodLevelResourcesNotSupported",
        "PodLevelResources feature gate is disabled",
    )


def bounds(name: str, **lists: str) -> LimitRange:
    item = LimitRangeItem(type="Container", **{key: amounts(text) for key, text in lists.items()})
    return LimitRange(name=name, items=(item,))


def test_limit_ranges_refuse_in_the_servers_words() -> None:
    node = NodeOfPods(limit_ranges=(bounds("b", max="cpu=1"), bounds("a", max="memory=1Mi", min="cpu=3")))
    assert pod_facts(pod(app(*FULL)), node).refusals == (
        (
            'pods "pod" is forbidden: [minimum cpu usage per Container is 3, but request is 2, '
            "maximum memory usage per Container is 1Mi, but limit is 1Gi]"
        ),
        'pods "pod" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )


def test_limit_ranges_look_at_new_pods_of_their_namespace() -> None:
    node = NodeOfPods(limit_ranges=(bounds("a", max="cpu=1"),))
    given = pod(app(*FULL))
    for other in (
        replace(given, namespace="shop"),
        replace(given, phase="Running"),
        replace(given, static=True),
    ):
        assert pod_facts(other, node).refusals == ()
