"""Devices of pods that end, are admitted again, or ran before the kubelet started."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from tests.engine.node.test_node import named
from tests.support.changed import changed
from tests.support.devices import (
    GPU,
    asking,
    error,
    given,
    group,
    held,
    initial,
    inventory,
    left,
    merged,
    started,
)
from tests.support.pods import amounts, app

NIC = "x.com/nic"


def test_devices_are_released_when_the_next_pod_is_admitted() -> None:
    node = started(inventory(gpu=[group("0", 2)]))
    node.admit(named("p", asking(2)))
    node.remove("p")
    assert left(node) == {}
    assert given(node.admit(named("q", asking(1)))) == ["main 1@0"]


def test_a_rejected_pod_holds_its_devices_until_the_clean_up() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    node.admit(named("p", asking(2, "fits"), asking(1, "does-not")))
    assert left(node) == {}
    node.clean_up()
    assert left(node) == {"0": 2}


def test_a_removed_container_returns_nothing() -> None:
    node = started(inventory(gpu=[group("0", 2)]))
    node.admit(named("p", asking(2)))
    node.remove_container("p", "main")
    assert left(node) == {}


def test_another_topology_manager_uses_the_same_nodes() -> None:
    node = started(inventory(gpu=[group("1", 1)]), "none")
    manager = started(None).topology_manager
    assert merged(changed(node, topology_manager=manager).admit(named("p", asking(1)))) == ["1"]


def test_a_copy_is_independent() -> None:
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


def test_a_changed_number_of_devices_is_rejected() -> None:
    node = started(inventory(gpu=[group("0", 2)]), "none")
    node.admit(named("p", asking(1)))
    assert error(node.admit(named("p", asking(2)))) == (
        'Allocate failed due to pod "p" container "main" changed request for resource "x.com/gpu" '
        "from 1 to 2, which is unexpected"
    )
    aligned = started(inventory(gpu=[group("0", 2)]))
    aligned.admit(named("p", asking(1)))
    assert error(aligned.admit(named("p", asking(2)))).startswith("Resources cannot be allocated")


def test_running_pods_are_identified_by_name() -> None:
    node = started(held(1))
    running = named("p", asking(1))._replace(uid="uid-of-p")
    node.resume([running])
    node.admit(named("q", asking(1)))
    assert left(node) == {}
    node.remove("uid-of-p")
    assert given(node.admit(named("r", asking(1)))) == ["main 1@0"]


def test_a_pod_owns_the_devices_held_under_its_name() -> None:
    assert given(started(held(2)).admit(named("p", asking(2)))) == ["main 2@0"]


def test_held_devices_that_are_no_longer_healthy_are_rejected() -> None:
    node = started(held(1, unhealthy=1), "none")
    assert error(node.admit(named("p", asking(1)))) == (
        "Allocate failed due to previously allocated devices are no longer healthy; "
        "cannot allocate unhealthy devices x.com/gpu, which is unexpected"
    )


def test_a_restarted_kubelet_lets_running_containers_keep_their_devices() -> None:
    node = started(held(1, unhealthy=1))
    (admission,) = node.readmit([named("p", asking(1))])
    assert isinstance(admission.verdict, Admitted)
    assert admission.hint_rounds[0].answers["devices"] == {GPU: None}
    assert given(admission) == ["main 1@0"]


def test_a_restarted_kubelet_rejects_pods_whose_init_containers_had_devices() -> None:
    """No plugin has registered yet, and the init container no longer runs (kubernetes issue 138446)."""
    node = started(held(1))
    (admission,) = node.readmit([named("p", initial(1), asking(1))])
    assert "no healthy devices present" in error(admission)
    assert isinstance(node.admit(named("q", asking(1))).verdict, Admitted)


# Whether the node is large enough


@dataclass(frozen=True, slots=True)
class Fit:
    name: str
    running: int
    requested: int
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
    Fit("devices in use count even if they are unhealthy", 2, 1, [group("0", 1, used=2)]),
]


@pytest.mark.parametrize("case", FITS, ids=lambda case: case.name)
def test_devices_must_fit_like_other_resources(case: Fit) -> None:
    node = started(DeviceInventory(resources={GPU: tuple(case.groups)}), "none")
    node.resume([named("r", asking(case.running))])
    verdict = node.admit(named("p", asking(case.requested))).verdict
    refusal = f"{verdict.reason}: {verdict.message}" if isinstance(verdict, Rejected) else ""
    assert refusal == case.refusal


def test_a_pod_with_devices_has_at_least_all_devices_in_use_as_allocatable() -> None:
    """Otherwise a pod whose devices become unhealthy would no longer fit (``allocatable`` of the kubelet)."""
    node = started(replace(held(2, unhealthy=2), resources={**held(2, unhealthy=2).resources, NIC: ()}))
    running, other = named("p", asking(2)), named("q", asking(1))
    node.resume([running])
    assert node.devices.allocatable(running) == {GPU: 2, NIC: 0}
    assert node.devices.allocatable(other) == {GPU: 0, NIC: 0}


def test_in_pod_scope_hints_lead_a_pod_back_to_all_its_devices() -> None:
    """Its containers hold two devices of one resource and one of another, all on node 1."""
    devices = inventory(gpu=[group("0", 2), group("1", 2)], nic=[group("0", 1), group("1", 1)])
    node = started(devices, topology_manager_scope="pod")
    node.admit(named("early", asking(2, "a"), asking(1, "b", NIC)))
    pod = named("late", asking(2, "a"), asking(1, "b", NIC))
    for _ in range(2):
        admission = node.admit(pod)
        assert (merged(admission), given(admission)) == (["1"], ["a 2@1", "b 1@1"])
        assert [grant.resource for each in admission.placements for grant in each.devices] == [GPU, NIC]


def test_devices_that_a_pod_already_holds_are_neither_chosen_nor_reused() -> None:
    node = started(inventory(gpu=[group("0", 2), group("1", 2)]), "best-effort")
    pod = named("p", asking(3))
    first, again = (node.admit(pod).placements[0].devices for _ in range(2))
    assert [(grant.by_chance, grant.reused) for grant in (*first, *again)] == [(True, 0), (False, 0)]


def test_all_devices_are_registered_when_a_node_starts() -> None:
    assert left(started(inventory(gpu=[group("0", 2, used=1, unhealthy=1)]))) == {"0": 2}


def test_hints_do_not_lead_to_devices_of_other_pods() -> None:
    """Device 0 of the machine is held by another pod, so this pod cannot reuse it."""
    node = started(inventory(gpu=[group("0", 1), group("1", 1)]))
    node.admit(named("early", asking(1)))
    pod = named("late", asking(1))
    assert [merged(node.admit(pod)) for _ in range(2)] == [["1"], ["1"]]


def test_devices_lent_of_one_resource_do_not_count_for_another() -> None:
    node = started(inventory(gpu=[group("0", 2)], nic=[group("0", 2)]), "none")
    both = app(f"{GPU}=1 {NIC}=1", f"{GPU}=1 {NIC}=1")
    admission = node.admit(named("p", initial(1), both))
    assert [grant.reused for each in admission.placements for grant in each.devices] == [0, 1, 0]


def test_overhead_needs_no_devices() -> None:
    """The kubelet only adds up what containers request."""
    node = started(inventory(gpu=[group("0", 1)]), topology_manager_scope="pod")
    pod = named("p", asking(1))._replace(overhead=amounts(f"{GPU}=1"))
    assert merged(node.admit(pod)) == ["0"]
