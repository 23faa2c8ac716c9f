from __future__ import annotations

import pytest

from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.pods.cgroups.values import CgroupRules, CgroupSettings
from cpuctl.pods.effective import effective_limits
from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import QosClass, ResourceRequirements
from cpuctl.pods.rules import NodeRules, PodRules, ServerRules
from cpuctl.quantity import Quantity
from tests.support.pods import amounts, app, manifest, resources

GIB = 1 << 30
FULL = ("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")
STATIC = NodeOfPods(static=frozenset({"cpu", "memory", "topology"}))
LEVEL = manifest(app(), pod_level=resources(*FULL))


def test_exclusive_cpus_have_no_quota() -> None:
    facts = pod_facts(
        manifest(app(*FULL, name="a"), app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", name="b")), STATIC
    )
    assert [each.exclusive for each in facts.containers] == [True, False]
    assert [each.cgroup.quota for each in facts.containers] == [-1, 50_000]
    assert facts.cgroup.quota == -1
    assert facts.containers[0].why_shared == ""
    assert facts.containers[1].why_shared == "its cpu request 500m is not a whole number of CPUs"


def test_without_the_static_policy_no_container_gets_exclusive_cpus() -> None:
    (container,) = pod_facts(manifest(app(*FULL)), NodeOfPods()).containers
    assert not container.exclusive
    assert container.why_shared == "the CPU Manager policy is none"
    assert container.cgroup.quota == 200_000


def test_up_to_132_exclusive_cpus_keep_their_quota() -> None:
    node = STATIC._replace(settings=CgroupSettings(minor=32, lifts_quota=False))
    assert pod_facts(manifest(app(*FULL)), node).cgroup.quota == 200_000


def test_containers_that_divide_the_pods_cpus_lift_its_quota_together() -> None:
    node = STATIC._replace(rules=PodRules(node=NodeRules(managers=True)))
    own = resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
    mixed = pod_facts(manifest(app(*FULL, name="a"), app(name="b"), pod_level=own), node)
    assert [each.exclusive for each in mixed.containers] == [True, False]
    assert (mixed.containers[0].cgroup.quota, mixed.cgroup.quota) == (-1, 400_000)
    alone = pod_facts(manifest(app(*FULL), pod_level=own), node)
    assert alone.cgroup.quota == -1


def test_a_request_that_follows_its_limit_needs_no_change() -> None:
    (container,) = pod_facts(manifest(app("", "cpu=1500m memory=1Gi")), STATIC).containers
    assert [change.path for change in container.advice.changes] == ["spec.containers[0].resources.limits.cpu"]
    (written,) = pod_facts(manifest(app("cpu=1500m", "cpu=1500m memory=1Gi")), STATIC).containers
    assert len(written.advice.changes) == 2
    (nothing,) = pod_facts(manifest(app()), STATIC).containers
    assert [change.path for change in nothing.advice.changes] == [
        "spec.containers[0].resources.limits.cpu",
        "spec.containers[0].resources.limits.memory",
    ]


def test_advice_depends_on_the_pods_class() -> None:
    (container,) = pod_facts(manifest(app("cpu=2")), STATIC).containers
    assert container.why_shared.startswith("the pod is Burstable, not Guaranteed")


def test_facts_are_about_the_stored_pod_with_limit_ranges() -> None:
    given = manifest(app())
    facts = pod_facts(
        given, STATIC._replace(limit_ranges=(bounds("a", default=FULL[0], default_request=FULL[0]),))
    )
    assert facts.written is given
    assert facts.stored.pod.containers == (app(*FULL),)
    assert facts.containers[0].container is facts.view.containers[0]
    assert facts.containers[0].exclusive
    assert {name: str(each.amount) for name, each in facts.requests.items()} == {"cpu": "2", "memory": "1Gi"}
    assert facts.limits == effective_limits(facts.view)


def test_cgroup_rules_explain_the_values() -> None:
    alone = pod_facts(manifest(app(*FULL)), STATIC)
    lifted = "none, because of exclusive CPUs"
    assert alone.cgroup_rules == CgroupRules("the pod's cpu request", lifted, "the pod's memory limit")
    assert alone.containers[0].cgroup_rules == CgroupRules("its cpu request", lifted, "its memory limit")
    shared = pod_facts(manifest(app(*FULL)), NodeOfPods())
    assert (shared.cgroup_rules.quota, shared.containers[0].cgroup_rules.quota) == (
        "the pod's cpu limit",
        "its cpu limit",
    )
    best_effort = pod_facts(manifest(app()), STATIC)
    assert best_effort.cgroup_rules.shares == "BestEffort pods have the minimum"


def test_memory_is_protected_by_class() -> None:
    node = STATIC._replace(settings=CgroupSettings(memory_qos=True, tiered=True))
    facts = [pod_facts(each, node) for each in (manifest(app(*FULL)), manifest(app("memory=1Gi")))]
    for values in ([each.cgroup for each in facts], [each.containers[0].cgroup for each in facts]):
        assert [(each.memory_min, each.memory_low) for each in values] == [(GIB, None), (None, GIB)]


@pytest.mark.parametrize(("allocatable", "want"), [(None, ""), (amounts("cpu=7 memory=6Gi"), "7")])
def test_a_container_without_a_limit_reads_the_nodes_amount(
    allocatable: dict[str, Quantity] | None, want: str
) -> None:
    found = pod_facts(manifest(app()), NodeOfPods(allocatable=allocatable)).consumed_amounts
    (reading,) = [each for each in found if each.item == "limits.cpu"]
    assert reading.text == want


IGNORED = "pod-level resources are ignored for {} alignment (KEP-2837)"
SKIPPED = "pod is using pod-level resources which are not supported by the static {} manager policy"
CPU, MEMORY = (
    f"{IGNORED.format(what)}: {SKIPPED.format(who)}" for what, who in (("CPU", "CPU"), ("memory", "Memory"))
)


@pytest.mark.parametrize("own", [FULL[0], "cpu=1 memory=1Gi"])
def test_alignment_is_ignored_with_pod_level_resources(own: str) -> None:
    assert pod_facts(manifest(app(), pod_level=resources(own, own)), STATIC).notices == (
        CPU,
        MEMORY,
        IGNORED.format("topology"),
    )


@pytest.mark.parametrize("own", ["memory=1Gi", "cpu=0 memory=1Gi"])
def test_without_pod_level_cpus_none_are_aligned(own: str) -> None:
    """A pod may be Guaranteed only because of its status."""
    given = manifest(app(), pod_level=resources(own, own))._replace(qos_class=QosClass.GUARANTEED)
    assert pod_facts(given, STATIC._replace(static=frozenset({"cpu", "memory"}))).notices == (MEMORY,)


@pytest.mark.parametrize(
    ("own", "node"),
    [
        (resources(*FULL), NodeOfPods()),
        (resources("cpu=1 memory=1Gi", FULL[1]), STATIC),
        (resources(*FULL), STATIC._replace(rules=PodRules(node=NodeRules(managers=True)))),
        (None, STATIC),
    ],
)
def test_no_notice_if_there_is_nothing_to_align(own: ResourceRequirements | None, node: NodeOfPods) -> None:
    assert pod_facts(LEVEL._replace(resources=own), node).notices == ()


def test_no_notice_for_fractions() -> None:
    own = resources("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")
    notices = pod_facts(manifest(app(), pod_level=own), STATIC._replace(static=frozenset({"cpu"}))).notices
    assert notices == ()


def test_cgroup_v1_is_reported() -> None:
    (notice,) = pod_facts(LEVEL, NodeOfPods(cgroup_version=1)).notices
    assert notice == (
        "pod-level resources require cgroup v2 (KEP-2837), but kubelet 1.36 does not check this and "
        "also applies them on cgroup v1"
    )


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (ServerRules(pod_level=False), "it has PodLevelResources disabled"),
        (ServerRules(minor=32, pod_level=False), "it has PodLevelResources disabled"),
        (ServerRules(minor=31, pod_level=False), "it does not know the field"),
    ],
)
def test_fields_dropped_by_the_server_are_reported(server: ServerRules, why: str) -> None:
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


def test_limit_ranges_reject_with_the_servers_error() -> None:
    node = NodeOfPods(limit_ranges=(bounds("b", max="cpu=1"), bounds("a", max="memory=1Mi", min="cpu=3")))
    assert pod_facts(manifest(app(*FULL)), node).creation.refusals == (
        (
            'pods "pod" is forbidden: [minimum cpu usage per Container is 3, but request is 2, '
            "maximum memory usage per Container is 1Mi, but limit is 1Gi]"
        ),
        'pods "pod" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )


def test_limit_ranges_check_new_pods_of_their_namespace() -> None:
    node = NodeOfPods(limit_ranges=(bounds("a", max="cpu=1"),))
    given = manifest(app(*FULL))
    for other in (
        given._replace(namespace="shop"),
        given._replace(phase="Running"),
        given._replace(static=True),
    ):
        assert pod_facts(other, node).creation.refusals == ()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "best-effort",
            "EmptyPodSharedPoolError: pod rejected, sum of exclusive container cpu requests equals",
        ),
        ("restricted", "TopologyAffinityError: Pod Scope pod with pod-level resources failed admission"),
    ],
)
def test_a_pod_that_leaves_nothing_to_share_is_rejected(policy: str, message: str) -> None:
    node = STATIC._replace(rules=PodRules(node=NodeRules(managers=True)), scope="pod", policy=policy)
    half = "cpu=2 memory=512Mi"
    given = manifest(app(half, half, name="a"), app(name="b"), pod_level=resources(*FULL))
    rejected = pod_facts(given, node).rejected
    assert rejected is not None
    assert f"{rejected.reason}: {rejected.message}".startswith(message)
    assert pod_facts(given, node._replace(scope="container")).rejected is None
    roomy = manifest(
        app("cpu=1 memory=512Mi", "cpu=1 memory=512Mi", name="a"), app(name="b"), pod_level=LEVEL.resources
    )
    assert pod_facts(roomy, node).rejected is None
