"""Quotas that follow the CPUs: lifted with exclusive ones, else the manifest's limits."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.cgroups.desired import DesiredGroup
from cpuctl.cpuset import CPUSet
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.operations.cgroups.rules import wanted_quotas
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, NodeTree, clean_node
from tests.audit.test_quotas import resized

MANAGERS = {"PodLevelResources": True, "PodLevelResourceManagers": True}
LIFTED, UNKNOWN, LIMITED = (None, None), (), (200_000, 200_000)
"""The quotas of the container and of its pod."""


def kubelet(minor: int = 36, **gates: bool) -> Kubelet:
    config = replace(KubeletConfiguration(), feature_gates=gates)
    return Kubelet(version=KubeletVersion(minor), config=config)


def quotas(
    node: NodeTree, made: Kubelet, pods: Mapping[str, StoredPod], *, exclusive: bool = True
) -> tuple[int | None, ...]:
    """Return the quotas of the database's container and pod; ``exclusive``: it has exclusive CPUs."""
    snapshot = node.snapshot(pods)
    one = DesiredGroup(
        path=node.server, owner=snapshot.owners[node.server], cpus=CPUSet.parse("1,5"), exclusive=exclusive
    )
    return tuple(wanted_quotas([one], snapshot, made).values())


def test_exclusive_cpus_lift_the_quotas_of_the_container_and_its_pod_since_1_33() -> None:
    node = clean_node()
    assert quotas(node, kubelet(), node.pods()) == LIFTED
    assert quotas(node, kubelet(32), node.pods()) == LIMITED
    assert quotas(node, kubelet(36, DisableCPUQuotaWithExclusiveCPUs=False), node.pods()) == LIMITED


def test_a_container_in_the_shared_pool_gets_its_limits() -> None:
    node = clean_node()
    assert quotas(node, kubelet(), node.pods(), exclusive=False) == LIMITED


def test_as_long_as_a_resize_is_pending_the_allocated_limits_apply() -> None:
    node = clean_node()
    assert quotas(node, kubelet(32), resized(4, 2, "PodResizePending")) == LIMITED


def test_without_a_manifest_quotas_are_only_lifted() -> None:
    node = clean_node()
    assert quotas(node, kubelet(), {}) == LIFTED
    assert quotas(node, kubelet(), {}, exclusive=False) == UNKNOWN


def test_a_pod_that_divides_its_cpus_keeps_its_quota_for_the_others() -> None:
    node = clean_node()
    pod = node.pods()[DATABASE]
    (server,) = pod.containers
    limits = {"cpu": Quantity.parse("500m"), "memory": Quantity.parse("1Gi")}
    helper = replace(server, name="helper", resources=ResourceRequirements(requests=limits, limits=limits))
    whole = {"cpu": Quantity.parse("3"), "memory": Quantity.parse("2Gi")}
    pods = {
        DATABASE: pod._replace(
            containers=(server, helper),
            resources=ResourceRequirements(requests=whole, limits=whole),
        )
    }
    assert quotas(node, kubelet(36, **MANAGERS), pods) == (None, 300_000)
    assert quotas(node, kubelet(36), pods) == LIFTED


def test_a_quota_is_computed_for_the_period_of_its_group() -> None:
    node = clean_node()
    node.put("cpu", node.server, "cpu.max", "max 50000")
    assert quotas(node, kubelet(), node.pods(), exclusive=False) == (100_000, 200_000)
