"""VirtualMachines of KubeVirt, their instancetypes and preferences, and sets of them."""

from __future__ import annotations

import pytest

from cpuctl.errors import InputError
from tests.pods.reading.kubevirt_objects import (
    BASE,
    ISOLATED,
    MI,
    ONE_GIB,
    PARITY,
    Object,
    compute,
    named,
    pod_of,
    read,
    requested,
    vm,
    vmi,
)

LARGE = {
    "cpu": {"guest": 8, "dedicatedCPUPlacement": True, "isolateEmulatorThread": True},
    "memory": {"guest": "4Gi"},
}
REFERS = {"instancetype": {"name": "large"}}


def test_a_virtual_machine_is_its_template() -> None:
    template = {
        "metadata": {"annotations": {PARITY: ""}},
        "spec": {"domain": {"cpu": {"cores": 8, **ISOLATED}, "memory": {"guest": "1Gi"}, "devices": {}}},
    }
    found = read(vm({"runStrategy": "Halted"}, template))
    (pod,) = found.pods
    assert (pod.full_name, pod.owner) == ("vms/virt-launcher-guest-0", "VirtualMachine.kubevirt.io/guest")
    assert requested(pod, "cpu") == "10"
    assert found.notes == ("VirtualMachine vms/guest is not running, but is planned as if it were started",)
    assert read(vm({"runStrategy": "Always"}, template)).notes == ()


def test_instancetype_is_found_before_or_after_its_virtual_machine() -> None:
    kinds: tuple[Object, ...] = ({}, {"kind": "VirtualMachineInstancetype"})
    for matcher, kind in zip(
        kinds, ("VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"), strict=True
    ):
        machine = vm({"instancetype": {"name": "large", **matcher}})
        pod = pod_of(machine, named(kind, LARGE))
        assert (requested(pod, "cpu"), requested(pod, "memory")) == ("9", "4520Mi")
        assert pod.virtual_machine is not None
        assert pod.virtual_machine.instancetype == f"{kind} large"


def test_a_missing_instancetype_leaves_the_machine_out() -> None:
    with pytest.raises(InputError) as raised:
        read(vm(REFERS))
    assert "kubectl get virtualmachineclusterinstancetype large -o yaml" in raised.value.hint
    other = vmi()
    found = read(vm({"instancetype": {"inferFromVolume": "root"}}) | {"metadata": {"name": "b"}}, other)
    (skipped,) = found.skipped
    assert "inferred from the labels of a volume" in skipped.why


def test_overcommit_of_an_instancetype_is_computed_in_single_precision() -> None:
    """15 % less than 8Gi is 7301444608 in 32-bit floating point, not 7301444403."""
    typed = {"cpu": {"guest": 1}, "memory": {"guest": "8Gi", "overcommitPercent": 15}}
    pod = pod_of(vm(REFERS), named("VirtualMachineClusterInstancetype", typed))
    requested = compute(pod).resources.requests["memory"].value - 268 * MI
    assert requested == 7_301_444_608 + 7_301_445 * 1000 // 512


SPREAD = {
    "sockets": ({}, (1, 8, 1)),
    "cores": ({"preferredCPUTopology": "cores"}, (8, 1, 1)),
    "the old word for threads": ({"preferredCPUTopology": "preferThreads"}, (1, 1, 8)),
    "sockets and cores": ({"preferredCPUTopology": "spread"}, (2, 4, 1)),
    "cores and threads": (
        {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads", "ratio": 2}},
        (4, 1, 2),
    ),
    "all three": (
        {"preferredCPUTopology": "spread", "spreadOptions": {"across": "SocketsCoresThreads"}},
        (2, 2, 2),
    ),
}


@pytest.mark.parametrize(("cpu", "topology"), SPREAD.values(), ids=SPREAD)
def test_preference_determines_the_topology_of_vcpus(cpu: Object, topology: tuple[int, int, int]) -> None:
    machine = vm({**REFERS, "preference": {"name": "large"}})
    typed = named("VirtualMachineClusterInstancetype", {**LARGE, "cpu": {"guest": 8}})
    pod = pod_of(machine, typed, named("VirtualMachineClusterPreference", {"cpu": cpu}))
    assert pod.virtual_machine is not None
    assert pod.virtual_machine.guest.topology == topology


def test_preference_fills_in_what_the_guest_omits() -> None:
    devices = {
        "preferredTPM": {},
        "preferredAutoattachGraphicsDevice": False,
        "preferredInterfaceModel": "e1000",
    }
    preference = named("VirtualMachinePreference", {"devices": devices, "preferredArchitecture": "arm64"})
    machine = vm(
        {"preference": {"name": "large", "kind": "VirtualMachinePreference"}}, {"spec": {"domain": ONE_GIB}}
    )
    pod = pod_of(machine, preference)
    assert compute(pod).resources.requests["memory"].value == BASE + (53 - 32 + 128) * MI
    assert "devices.kubevirt.io/vhost-net" not in compute(pod).resources.limits


def test_a_machine_that_sets_what_its_instancetype_sets_is_not_started() -> None:
    template = {"spec": {"domain": {"cpu": {"cores": 2}, "devices": {}}}}
    with pytest.raises(InputError) as raised:
        read(vm(REFERS, template), named("VirtualMachineClusterInstancetype", LARGE))
    assert "it sets domain.cpu, which its instancetype also sets" in raised.value.hint


def test_replica_sets_and_pools() -> None:
    template = {"spec": {"domain": {"memory": {"guest": "1Gi"}}}}
    rs = named(
        "VirtualMachineInstanceReplicaSet", {"replicas": 2, "template": template}, "rs", "kubevirt.io/v1"
    )
    pool_spec = {
        "replicas": 2,
        "virtualMachineTemplate": {"spec": {**REFERS, "template": {"spec": {"domain": {}}}}},
    }
    pool = named("VirtualMachinePool", pool_spec, "pool", "pool.kubevirt.io/v1beta1")
    pods = read(rs, pool, named("VirtualMachineClusterInstancetype", LARGE)).pods
    assert [pod.name for pod in pods] == [
        f"virt-launcher-{name}-0" for name in ("rs-0", "rs-1", "pool-0", "pool-1")
    ]
    assert [requested(pod, "cpu") for pod in pods] == ["100m", "100m", "9", "9"]
    rs["spec"]["replicas"] = 0
    assert [pod.name for pod in read(rs, vmi()).pods] == ["virt-launcher-guest-0"]


def test_a_machine_with_an_existing_launcher_is_not_counted_twice() -> None:
    launcher = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "virt-launcher-guest-abcde",
            "namespace": "vms",
            "ownerReferences": [
                {
                    "apiVersion": "kubevirt.io/v1",
                    "kind": "VirtualMachineInstance",
                    "name": "guest",
                    "controller": True,
                }
            ],
        },
        "spec": {"containers": [{"name": "compute"}]},
    }
    found = read(vm({}), vmi(), launcher)
    assert [pod.name for pod in found.pods] == ["virt-launcher-guest-abcde"]
    assert sorted(each.kind for each in found.skipped) == ["VirtualMachine", "VirtualMachineInstance"]


def test_an_ended_guest_is_an_ended_pod() -> None:
    assert pod_of(vmi() | {"status": {"phase": "Succeeded"}}).terminal


def test_pods_keep_the_order_of_the_objects() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c"}]}}
    first, last = ({**pod, "metadata": {"name": name}} for name in ("first", "last"))
    assert [each.name for each in read(first, vmi(), last).pods] == ["first", "virt-launcher-guest-0", "last"]
