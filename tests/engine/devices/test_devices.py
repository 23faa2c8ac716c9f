"""Devices on a node: hints, what containers get, what comes back, and the kubelet's words for a no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission, Admitted
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected, Undetermined
from cpuctl.engine.start import Kubelet, start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory, HeldDevices
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from tests.engine.node.test_node import named
from tests.support.pods import amounts, app, init, sidecar
from tests.support.topologies import CoreAt, machine_info

FOUR_NODES = machine_info(CoreAt(cpus=(core,), numa_node=core // 4, socket=core // 8) for core in range(16))
GPU = "x.com/gpu"


def group(nodes: str, free: int, *, used: int = 0, unhealthy: int = 0) -> DeviceGroup:
    healthy = free + used
    return DeviceGroup(numa_nodes=CPUSet.parse(nodes), total=healthy + unhealthy, healthy=healthy, free=free)


def inventory(**resources: list[DeviceGroup]) -> DeviceInventory:
    """Write ``gpu=...`` for ``x.com/gpu``."""
    return DeviceInventory(resources={f"x.com/{name}": tuple(groups) for name, groups in resources.items()})


def started(devices: DeviceInventory | None, policy: str = "restricted", **config: Any) -> Node:
    told = KubeletConfiguration(
        cpu_manager_policy="static",
        reserved_system_cpus="0",
        topology_manager_policy=policy,
        **config,
    )
    kubelet = Kubelet(version=KubeletVersion(36), config=told)
    node = start_node(FOUR_NODES, kubelet, fit=True, devices=devices)
    assert isinstance(node, Node), node
    return node


def asking(count: int, name: str = "main", resource: str = GPU) -> Container:
    asked = f"{resource}={count}"
    return app(asked, asked, name)


def with_cpus(cpus: int, count: int, name: str = "main") -> Container:
    asked = f"cpu={cpus} memory=1Mi {GPU}={count}"
    return app(asked, asked, name)


def initial(count: int, name: str = "init", kind: ContainerKind = ContainerKind.INIT) -> Container:
    make = init if kind is ContainerKind.INIT else sidecar
    return make(f"{GPU}={count}", f"{GPU}={count}", name)


def given(admission: Admission) -> list[str]:
    """Show what every container got: ``main 2@0 1@0-1``."""
    return [
        " ".join([each.container.name, *(f"{count}@{CPUSet(nodes)}" for nodes, count in got)])
        for each in admission.placements
        for grant in each.devices
        for got in [sorted(grant.by_nodes.items())]
    ]


def merged(admission: Admission) -> list[str]:
    """Show the NUMA nodes that every round came to."""
    rounds = [asked.merged for asked in admission.asked]
    return [str(CPUSet(each.hint.nodes or 0)) for each in rounds if isinstance(each, Merged)]


def error(admission: Admission) -> str:
    assert isinstance(admission.verdict, Rejected), admission.verdict
    return admission.verdict.message


def left(node: Node, resource: str = GPU) -> dict[str, int]:
    counts = node.devices.pools[resource].counts(node.devices.free(resource))
    return {str(CPUSet(nodes)): count for nodes, count in counts.items()}


# What is not known is never plainly admitted


def test_without_an_inventory_devices_are_undetermined() -> None:
    verdict = started(None).admit(named("p", asking(1))).verdict
    assert verdict == Undetermined("it asks for x.com/gpu, and what the node has of them is not known")


def test_resources_that_are_not_described_and_claims_stay_undetermined() -> None:
    claiming = Container(
        name="c",
        resources=ResourceRequirements(
            limits=amounts(f"{GPU}=1 y.com/fpga=1"),
            claims=("shared-gpu",),
        ),
    )
    node = started(inventory(gpu=[group("0", 4)]))
    assert node.admit(named("p", claiming)).verdict == Undetermined(
        "it asks for y.com/fpga, claim shared-gpu, and what the node has of them is not known"
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


def test_devices_in_use_make_a_wider_hint_worse() -> None:
    """Two devices would fit one node if all were free, so two nodes are not preferred."""
    node = started(inventory(gpu=[group("0", 1, used=1), group("1", 1, used=1)]))
    assert error(node.admit(named("p", asking(2)))) == "Resources cannot be allocated with Topology locality"
    best_effort = started(inventory(gpu=[group("0", 1, used=1), group("1", 1, used=1)]), "best-effort")
    assert given(best_effort.admit(named("p", asking(2)))) == ["main 1@0 1@1"]


def test_unhealthy_devices_count_for_what_is_preferred() -> None:
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
    assert admission.asked[0].answers["devices"] == {GPU: None}
    assert given(admission) == ["main 2@"]


def test_devices_without_topology_serve_no_hint_beside_others_that_have_one() -> None:
    """The kubelet counts only devices next to a node: there are enough, but not for a hint."""
    node = started(inventory(gpu=[group("0", 1), group("", 1)]))
    assert error(node.admit(named("p", asking(2)))) == "Resources cannot be allocated with Topology locality"
    policy_none = started(inventory(gpu=[group("0", 1), group("", 1)]), "none")
    assert given(policy_none.admit(named("p", asking(2)))) == ["main 1@ 1@0"]


def test_what_is_missing_near_the_nodes_comes_from_elsewhere_then_from_nowhere() -> None:
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


def test_sidecars_count_beside_the_others_in_pod_scope() -> None:
    gpus = inventory(gpu=[group("0", 2), group("1", 3)])
    node = started(gpus, topology_manager_scope="pod")
    beside = initial(1, "side", ContainerKind.SIDECAR)
    assert merged(node.admit(named("p", beside, asking(2)))) == ["1"]


def test_no_devices_at_all_is_no_preference_but_a_refusal() -> None:
    node = started(inventory(gpu=[]))
    assert error(node.admit(named("p", asking(1)))) == (
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices x.com/gpu, "
        "which is unexpected"
    )


# Allocation


@pytest.mark.parametrize("policy", ["none", "best-effort"])
def test_too_few_devices_are_refused_in_the_kubelets_words(policy: str) -> None:
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


def test_an_init_containers_devices_are_used_again_before_others() -> None:
    node = started(inventory(gpu=[group("0", 2), group("1", 2)]))
    admission = node.admit(named("p", initial(2), asking(1, "a"), asking(2, "b")))
    assert given(admission) == ["init 2@0", "a 1@0"]
    assert error(admission) == "Resources cannot be allocated with Topology locality"
    none = started(inventory(gpu=[group("0", 2), group("1", 2)]), "none")
    admission = none.admit(named("p", initial(2), asking(1, "a"), asking(2, "b")))
    assert given(admission) == ["init 2@0", "a 1@0", "b 1@0 1@1"]
    assert [grant.reused for each in admission.placements for grant in each.devices] == [0, 1, 1]
    assert left(none) == {"1": 1}


def test_what_is_missing_beside_reused_devices_is_told_without_them() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    assert "Requested: 1, Available: 0" in error(node.admit(named("p", initial(2), asking(3))))


def test_a_sidecar_keeps_its_devices() -> None:
    node = started(inventory(gpu=[group("0", 3)]), "none")
    beside = initial(1, "side", ContainerKind.SIDECAR)
    admission = node.admit(named("p", initial(2), beside, asking(2)))
    assert given(admission) == ["init 2@0", "side 1@0", "main 2@0"]
    assert left(node) == {}


def test_a_choice_between_places_is_called_one() -> None:
    wide = started(inventory(gpu=[group("0", 2), group("1", 2)]), "best-effort")
    taken = wide.admit(named("p", asking(3))).placements[0].devices[0]
    assert (taken.by_chance, taken.count) == (True, 3)
    one_place = started(inventory(gpu=[group("0", 4), group("1", 2)]))
    assert not one_place.admit(named("p", asking(3))).placements[0].devices[0].by_chance


def test_a_request_for_none_needs_healthy_devices_all_the_same() -> None:
    """Kubernetes issue 109595: health comes before the question how many are needed."""
    node = started(inventory(gpu=[group("0", 0, unhealthy=1)]), "none")
    assert "no healthy devices present" in error(node.admit(named("p", asking(0))))
    assert given(started(inventory(gpu=[group("0", 1)]), "none").admit(named("p", asking(0)))) == []


def test_a_pod_that_divides_its_own_resources_must_fit_but_is_not_refused_for_devices() -> None:
    """Its containers get their devices when they are created (kubelet v1.36 ``AllocatePod``)."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    scarce = inventory(gpu=[group("0", 1)])
    node = started(scarce, "best-effort", topology_manager_scope="pod", feature_gates=gates)
    own = amounts("cpu=2 memory=1Mi")
    pod = replace(
        named("p", asking(1, "a"), asking(1, "b")), resources=ResourceRequirements(requests=own, limits=own)
    )
    admission = node.admit(pod)
    assert isinstance(admission.verdict, Rejected)
    assert admission.verdict.reason == "OutOfx.com/gpu"
    assert given(admission) == ["a 1@0"]


# Life


def test_devices_come_back_when_the_next_pod_comes() -> None:
    node = started(inventory(gpu=[group("0", 2)]))
    node.admit(named("p", asking(2)))
    node.remove("p")
    assert left(node) == {}
    assert given(node.admit(named("q", asking(1)))) == ["main 1@0"]


def test_a_refused_pod_holds_its_devices_until_then() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    node.admit(named("p", asking(2, "fits"), asking(1, "does-not")))
    assert left(node) == {}
    node.clean_up()
    assert left(node) == {"0": 2}


def test_a_removed_container_gives_nothing_back() -> None:
    node = started(inventory(gpu=[group("0", 2)]))
    node.admit(named("p", asking(2)))
    node.remove_container("p", "main")
    assert left(node) == {}


def test_another_topology_policy_knows_the_same_nodes() -> None:
    node = started(inventory(gpu=[group("1", 1)]), "none")
    manager = started(None).topology_manager
    assert merged(replace(node, topology_manager=manager).admit(named("p", asking(1)))) == ["1"]


def test_a_copy_is_on_its_own() -> None:
    node = started(inventory(gpu=[group("0", 2)]))
    node.copy().admit(named("p", asking(2)))
    assert left(node) == {"0": 2}


def test_the_same_pod_again_keeps_its_devices() -> None:
    node = started(inventory(gpu=[group("0", 2), group("1", 2)]))
    pod = named("p", asking(1))
    node.admit(pod)
    admission = node.admit(pod)
    assert (given(admission), merged(admission)) == (["main 1@0"], ["0"])
    assert left(node) == {"0": 1, "1": 2}


def test_another_number_than_is_held_is_refused() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    node.admit(named("p", asking(1)))
    assert error(node.admit(named("p", asking(2)))) == (
        'Allocate failed due to pod "p" container "main" changed request for resource "x.com/gpu" '
        "from 1 to 2, which is unexpected"
    )
    aligned = started(inventory(gpu=[group("0", 2)]))
    aligned.admit(named("p", asking(1)))
    assert error(aligned.admit(named("p", asking(2)))).startswith("Resources cannot be allocated")


def held(count: int, *, unhealthy: int = 0) -> DeviceInventory:
    """Make two devices at node 0 of which the running pod ``default/p`` holds some."""
    holder = HeldDevices(namespace="default", pod="p", container="main", count=count, unhealthy=unhealthy)
    healthy = 2 - unhealthy
    group = DeviceGroup(
        numa_nodes=CPUSet.of([0]),
        total=2,
        healthy=healthy,
        free=healthy - (count - unhealthy),
        held=(holder,),
    )
    return DeviceInventory(resources={GPU: (group,)})


def test_running_pods_are_known_by_name() -> None:
    node = started(held(1))
    running = replace(named("p", asking(1)), uid="uid-of-p")
    node.resume([running])
    node.admit(named("q", asking(1)))
    assert left(node) == {}
    node.remove("uid-of-p")
    assert given(node.admit(named("r", asking(1)))) == ["main 1@0"]


def test_what_a_pod_of_that_name_holds_is_its_own() -> None:
    assert given(started(held(2)).admit(named("p", asking(2)))) == ["main 2@0"]


def test_held_devices_that_are_no_longer_healthy_are_refused() -> None:
    node = started(held(1, unhealthy=1), "none")
    assert error(node.admit(named("p", asking(1)))) == (
        "Allocate failed due to previously allocated devices are no longer healthy; "
        "cannot allocate unhealthy devices x.com/gpu, which is unexpected"
    )


def test_a_restarted_kubelet_lets_running_containers_keep_their_devices() -> None:
    node = started(held(1, unhealthy=1))
    (admission,) = node.readmit([named("p", asking(1))])
    assert isinstance(admission.verdict, Admitted)
    assert admission.asked[0].answers["devices"] == {GPU: None}
    assert given(admission) == ["main 1@0"]


def test_a_restarted_kubelet_refuses_pods_whose_init_containers_had_devices() -> None:
    """Kubernetes issue 138446: no plugin is back yet, and the init container does not run any more."""
    node = started(held(1))
    (admission,) = node.readmit([named("p", initial(1), asking(1))])
    assert "no healthy devices present" in error(admission)
    assert isinstance(node.admit(named("q", asking(1))).verdict, Admitted)


# Whether the node is large enough


@dataclass(frozen=True, slots=True)
class Fit:
    name: str
    running: int
    asked: int
    groups: list[DeviceGroup]
    refusal: str = ""


FITS = [
    Fit("enough", 1, 2, [group("0", 3)]),
    Fit(
        "the devices of a running pod are not in use in the file",
        2,
        2,
        [group("0", 3)],
        "OutOfx.com/gpu: Node didn't have enough resource: x.com/gpu, requested: 2, used: 2, capacity: 3",
    ),
    Fit("devices in use count although they are unhealthy", 2, 1, [group("0", 1, used=2)]),
]


@pytest.mark.parametrize("case", FITS, ids=lambda case: case.name)
def test_devices_must_fit_like_everything_else(case: Fit) -> None:
    node = started(DeviceInventory(resources={GPU: tuple(case.groups)}), "none")
    node.resume([named("r", asking(case.running))])
    verdict = node.admit(named("p", asking(case.asked))).verdict
    refusal = f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else ""
    assert refusal == case.refusal


# Inventories


@pytest.mark.parametrize(("total", "healthy", "free"), [(1, 2, 0), (2, 1, 2), (1, 1, -1)])
def test_counts_that_contradict_each_other_are_no_group(total: int, healthy: int, free: int) -> None:
    with pytest.raises(ValueError, match="expected free <= healthy <= total"):
        DeviceGroup(numa_nodes=CPUSet(), total=total, healthy=healthy, free=free)


def test_nobody_holds_more_than_is_in_use() -> None:
    holder = HeldDevices(namespace="d", pod="p", container="c", count=2)
    with pytest.raises(ValueError, match="more than are in use"):
        DeviceGroup(numa_nodes=CPUSet(), total=2, healthy=2, free=1, held=(holder,))


def test_an_inventory_is_bounded() -> None:
    with pytest.raises(ValueError, match="more than 1000000"):
        inventory(gpu=[group("0", 600_000), group("1", 600_000)])


def test_a_million_devices_are_given_one_by_one() -> None:
    node = started(inventory(fuse=[group("", 1_000_000)]))
    for number in range(20):
        pod: Pod = named(f"p{number}", asking(5, resource="x.com/fuse"))
        assert isinstance(node.admit(pod).verdict, Admitted)
    assert left(node, "x.com/fuse") == {"": 999_900}
