"""Devices on a node: hints, what containers get, and the kubelet's rejections."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.alignment import devices_aligned
from cpuctl.engine.devices.allocation import DeviceHints
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import Admitted, Rejected, Undetermined
from cpuctl.engine.placement import DeviceGrant
from cpuctl.pods.model import Container, ContainerKind, ResourceRequirements, StoredPod
from tests.engine.node.test_node import named
from tests.support.devices import (
    GPU,
    asking,
    error,
    given,
    group,
    initial,
    inventory,
    left,
    merged,
    started,
    with_cpus,
)
from tests.support.pods import amounts
from tests.support.topologies import mask, regular

# Devices that are not described are undetermined


def test_without_an_inventory_devices_are_undetermined() -> None:
    verdict = started(None).admit(named("p", asking(1))).verdict
    assert verdict == Undetermined("requests x.com/gpu, which is not described (use --devices)")


def test_undescribed_resources_and_claims_are_undetermined() -> None:
    claiming = Container(
        name="c",
        resources=ResourceRequirements(
            limits=amounts(f"{GPU}=1 y.com/fpga=1"),
            claims=("shared-gpu",),
        ),
    )
    node = started(inventory(gpu=[group("0", 4)]))
    assert node.admit(named("p", claiming)).verdict == Undetermined(
        "requests y.com/fpga, claim shared-gpu, which are not described (use --devices)"
    )
    assert left(node) == {"0": 4}


# Hints, and devices next to CPUs


def test_cpus_follow_the_devices() -> None:
    node = started(inventory(gpu=[group("2", 2)]))
    admission = node.admit(named("p", with_cpus(2, 1)))
    assert isinstance(admission.verdict, Admitted)
    assert merged(admission) == ["2"]
    assert str(CPUSet(admission.placements[0].cpus)) == "8-9"
    assert given(admission) == ["main 1@2"]


def test_devices_in_use_make_a_wider_hint_not_preferred() -> None:
    """Two devices would fit one node if all were free, so two nodes are not preferred."""
    node = started(inventory(gpu=[group("0", 1, used=1), group("1", 1, used=1)]))
    assert error(node.admit(named("p", asking(2)))) == "Resources cannot be allocated with Topology locality"
    best_effort = started(inventory(gpu=[group("0", 1, used=1), group("1", 1, used=1)]), "best-effort")
    assert given(best_effort.admit(named("p", asking(2)))) == ["main 1@0 1@1"]


def test_unhealthy_devices_count_when_determining_what_is_preferred() -> None:
    node = started(inventory(gpu=[group("0", 1, unhealthy=1), group("1", 1)]))
    assert error(node.admit(named("p", asking(2)))) == "Resources cannot be allocated with Topology locality"


def test_devices_of_a_socket_are_next_to_all_its_nodes() -> None:
    node = started(inventory(gpu=[group("2-3", 2)]), "single-numa-node")
    admission = node.admit(named("p", with_cpus(4, 2)))
    assert (merged(admission), given(admission)) == (["2"], ["main 2@2-3"])


def test_devices_without_topology_have_no_preference() -> None:
    node = started(inventory(gpu=[group("", 3)]), "single-numa-node")
    admission = node.admit(named("p", asking(2)))
    assert isinstance(admission.verdict, Admitted)
    assert admission.hint_rounds[0].answers["devices"] == {GPU: None}
    assert given(admission) == ["main 2@"]


def test_devices_without_topology_do_not_count_next_to_others_with_topology() -> None:
    """The kubelet counts only devices next to a node: there are enough devices, but too few for a hint."""
    node = started(inventory(gpu=[group("0", 1), group("", 1)]))
    assert error(node.admit(named("p", asking(2)))) == "Resources cannot be allocated with Topology locality"
    policy_none = started(inventory(gpu=[group("0", 1), group("", 1)]), "none")
    assert given(policy_none.admit(named("p", asking(2)))) == ["main 1@ 1@0"]


def test_missing_devices_come_from_other_nodes_then_from_those_without_a_node() -> None:
    node = started(inventory(gpu=[group("0", 1), group("3", 1), group("", 2)]), "best-effort")
    admission = node.admit(named("p", asking(3)))
    assert given(admission) == ["main 1@ 1@0 1@3"]
    assert left(node) == {"": 1}


def test_a_pod_scope_hint_is_for_all_containers() -> None:
    gpus = inventory(gpu=[group("0", 2), group("1", 3)])
    node = started(gpus, topology_manager_scope="pod")
    admission = node.admit(named("p", initial(1), asking(2, "a"), asking(1, "b")))
    assert merged(admission) == ["1"]
    assert given(admission) == ["init 1@1", "a 2@1", "b 1@1"]


def test_sidecars_count_in_addition_to_others_in_pod_scope() -> None:
    gpus = inventory(gpu=[group("0", 2), group("1", 3)])
    node = started(gpus, topology_manager_scope="pod")
    alongside = initial(1, "side", ContainerKind.SIDECAR)
    assert merged(node.admit(named("p", alongside, asking(2)))) == ["1"]


def test_a_resource_without_devices_is_rejected() -> None:
    node = started(inventory(gpu=[]))
    assert node.admit(named("p", asking(1))).verdict == Rejected(
        reason="UnexpectedAdmissionError",
        message=(
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices x.com/gpu, "
            "which is unexpected"
        ),
        container="main",
    )


def test_an_unused_unhealthy_device_does_not_matter() -> None:
    node = started(inventory(gpu=[group("0", 0, unhealthy=1), group("1", 1)]), "none")
    assert given(node.admit(named("p", asking(1)))) == ["main 1@1"]


# Allocation


@pytest.mark.parametrize("policy", ["none", "best-effort"])
def test_too_few_devices_are_rejected_with_the_kubelets_error(policy: str) -> None:
    node = started(inventory(gpu=[group("0", 1, used=3)]), policy)
    admission = node.admit(named("p", asking(2)))
    assert admission.verdict == Rejected(
        reason="UnexpectedAdmissionError",
        message=(
            "Allocate failed due to requested number of devices unavailable for x.com/gpu. "
            "Requested: 2, Available: 1, which is unexpected"
        ),
        container="main",
        details={"requested": 2, "available": 1},
    )


def test_an_init_containers_devices_are_reused_before_others() -> None:
    node = started(inventory(gpu=[group("0", 2), group("1", 2)]))
    admission = node.admit(named("p", initial(2), asking(1, "a"), asking(2, "b")))
    assert given(admission) == ["init 2@0", "a 1@0"]
    assert error(admission) == "Resources cannot be allocated with Topology locality"
    none = started(inventory(gpu=[group("0", 2), group("1", 2)]), "none")
    admission = none.admit(named("p", initial(2), asking(1, "a"), asking(2, "b")))
    assert given(admission) == ["init 2@0", "a 1@0", "b 1@0 1@1"]
    assert [grant.reused for each in admission.placements for grant in each.devices] == [0, 1, 1]
    assert left(none) == {"1": 1}


def test_a_shortage_is_reported_without_the_reused_devices() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    assert "Requested: 1, Available: 0" in error(node.admit(named("p", initial(2), asking(3))))


def test_a_sidecar_keeps_its_devices() -> None:
    node = started(inventory(gpu=[group("0", 3)]), "none")
    alongside = initial(1, "side", ContainerKind.SIDECAR)
    admission = node.admit(named("p", initial(2), alongside, asking(2)))
    assert given(admission) == ["init 2@0", "side 1@0", "main 2@0"]
    assert left(node) == {}


def test_a_choice_between_nodes_is_reported() -> None:
    wide = started(inventory(gpu=[group("0", 2), group("1", 2)]), "best-effort")
    taken = wide.admit(named("p", asking(3))).placements[0].devices[0]
    assert (taken.by_chance, taken.total) == (True, 3)
    one_place = started(inventory(gpu=[group("0", 4), group("1", 2)]))
    assert not one_place.admit(named("p", asking(3))).placements[0].devices[0].by_chance


def test_a_request_for_zero_devices_still_needs_healthy_devices() -> None:
    """The kubelet checks health before the requested number (kubernetes issue 109595)."""
    node = started(inventory(gpu=[group("0", 0, unhealthy=1)]), "none")
    assert "no healthy devices present" in error(node.admit(named("p", asking(0))))
    assert given(started(inventory(gpu=[group("0", 1)]), "none").admit(named("p", asking(0)))) == []


def test_a_divided_pod_must_fit_but_is_not_rejected_for_devices() -> None:
    """Its containers get their devices when they are created (kubelet v1.36 ``AllocatePod``)."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    scarce = inventory(gpu=[group("0", 1)])
    node = started(scarce, "best-effort", topology_manager_scope="pod", feature_gates=gates)
    own = amounts("cpu=2 memory=1Mi")
    pod = named("p", asking(1, "a"), asking(1, "b"))._replace(
        resources=ResourceRequirements(requests=own, limits=own)
    )
    admission = node.admit(pod)
    assert isinstance(admission.verdict, Rejected)
    assert admission.verdict.reason == "OutOfx.com/gpu"
    assert given(admission) == ["a 1@0"]


def test_a_million_devices_are_given_one_by_one() -> None:
    node = started(inventory(fuse=[group("", 1_000_000)]))
    for number in range(20):
        pod: StoredPod = named(f"p{number}", asking(5, resource="x.com/fuse"))
        assert isinstance(node.admit(pod).verdict, Admitted)
    assert left(node, "x.com/fuse") == {"": 999_900}


ONE_EACH = {NodeMask(nodes): 1 for nodes in range(3)}


def test_reusable_devices_without_a_node_exclude_no_set() -> None:
    hints = DeviceHints.generate(
        NodeMask(0b11), ONE_EACH, {NodeMask(1): 1, NodeMask(2): 1}, {NodeMask(0): 1}, 1
    )
    assert list(hints) == [
        Hint(NodeMask(0b01), preferred=True),
        Hint(NodeMask(0b10), preferred=True),
        Hint(NodeMask(0b11), preferred=False),
    ]


def test_a_place_without_reusable_devices_excludes_no_set() -> None:
    hints = DeviceHints.generate(NodeMask(0b11), ONE_EACH, {NodeMask(2): 1}, {NodeMask(1): 0}, 1)
    assert list(hints) == [Hint(NodeMask(0b10), preferred=True), Hint(NodeMask(0b11), preferred=False)]


def test_a_request_that_cannot_be_satisfied_has_no_hints() -> None:
    hints = DeviceHints.generate(NodeMask(0b11), ONE_EACH, {NodeMask(1): 1, NodeMask(2): 1}, {}, 3)
    assert (list(hints), hints.narrowest, hints.width) == ([], 0, 0)


THREE_NODES = regular(sockets=3, cores=4)  # CPUs 0-3, 4-7 and 8-11


@pytest.mark.parametrize(
    ("places", "cpus", "aligned"),
    [
        (["0"], "", True),
        (["1"], "4-5", True),
        (["1"], "3-4", False),
        (["1"], "0-1", False),
        (["2"], "4-7", False),
        (["0", "1"], "", False),
        (["0-1", "1-2"], "", True),
        (["0-1", "1-2"], "6", True),
        (["0-1", "1-2"], "8", False),
        (["0-1", "2"], "", False),
        (["0-2"], "0-11", False),
        (["2", ""], "", True),
        ([""], "0-3", None),
        ([], "0-3", None),
    ],
)
def test_alignment_needs_one_node_next_to_all_devices_and_cpus(
    places: list[str], cpus: str, aligned: bool | None
) -> None:
    """``places`` are the nodes next to each group of devices; devices without a node do not count."""
    grants = [DeviceGrant(resource="x.com/gpu", by_nodes={NodeMask(mask(nodes)): 1}) for nodes in places]
    together = DeviceGrant(resource="x.com/gpu", by_nodes={NodeMask(mask(nodes)): 1 for nodes in places})
    assert devices_aligned(THREE_NODES, grants, mask(cpus)) is aligned
    assert devices_aligned(THREE_NODES, [together], mask(cpus)) is aligned
