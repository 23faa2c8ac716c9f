"""Devices that a kubelet has recorded, compared with the requests of the pods."""

from __future__ import annotations

from typing import Any

from cpuctl.audit.checks import audit, unchecked
from cpuctl.audit.finding import Finding
from cpuctl.audit.snapshot import KubeletState, NodeSnapshot
from cpuctl.checkpoints.model import DeviceEntry, DevicesStateFile
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from tests.support.pods import stored

GPU = "nvidia.com/gpu"
ALL = ("g0", "g1", "g2", "g3")


def container(name: str, count: int, kind: ContainerKind = ContainerKind.APP) -> Container:
    amounts = {GPU: Quantity.from_value(count)} if count else {}
    return Container(name=name, kind=kind, resources=ResourceRequirements(requests=amounts, limits=amounts))


def pod(
    name: str, *containers: Container, inits: tuple[Container, ...] = (), phase: str = "Running"
) -> StoredPod:
    return stored(
        Pod(name=name, namespace="ai", uid=name, containers=containers, init_containers=inits, phase=phase)
    )


def held(uid: str, name: str, *devices: str) -> DeviceEntry:
    return DeviceEntry(pod_uid=uid, container=name, resource=GPU, devices={0: devices})


def found(*entries: DeviceEntry, pods: tuple[StoredPod, ...] = (), registered: tuple[str, ...] = ALL) -> Any:
    snapshot = NodeSnapshot(
        machine=read_machine("synthetic:1s1n2c1t").machine,
        pods={each.uid: each for each in pods},
        pods_known=bool(pods),
        state=KubeletState(devices=DevicesStateFile(entries=entries, registered={GPU: registered})),
    )
    return [(each.code, each.place.subject, each.expected, each.detected) for each in findings(snapshot)]


def findings(snapshot: NodeSnapshot) -> tuple[Finding, ...]:
    return audit(snapshot, ["devices"])


TRAIN = pod("train", container("main", 2), container("log", 0))
SMALL = pod("small", container("main", 1))


def test_devices_as_requested_are_fine() -> None:
    entries = (held("train", "main", "g0", "g1"), held("small", "main", "g2"))
    assert found(*entries, pods=(TRAIN, SMALL)) == []
    assert findings(NodeSnapshot(machine=read_machine("synthetic:1s1n2c1t").machine)) == ()


def test_an_init_container_may_share_devices_with_an_app_container() -> None:
    both = pod("both", container("main", 1), inits=(container("load", 1, ContainerKind.INIT),))
    assert found(held("both", "main", "g0"), held("both", "load", "g0"), pods=(both,)) == []
    # The devices that it had may not be recorded any more, either.
    assert found(held("both", "main", "g0"), pods=(both,)) == []


def test_another_number_than_requested() -> None:
    assert found(held("train", "main", "g0"), pods=(TRAIN, SMALL)) == [
        ("devices-differ", "ai/train/main", "2", "1"),
        ("devices-differ", "ai/small/main", "1", "0"),
    ]


def test_a_pod_that_is_gone_or_has_ended() -> None:
    ended = pod("ended", container("main", 1), phase="Succeeded")
    answer = found(held("gone", "main", "g0"), held("ended", "main", "g1"), pods=(ended,))
    assert [(code, detected) for code, _, _, detected in answer] == [
        ("stale-devices", "g0"),
        ("stale-devices", "g1"),
    ]
    # Without pods and cgroups it is unknown which pods are gone.
    assert found(held("gone", "main", "g0")) == []


def test_a_device_held_by_two_containers() -> None:
    entries = (held("train", "main", "g0", "g1"), held("small", "main", "g1"))
    assert found(*entries, pods=(TRAIN, SMALL)) == [("device-held-twice", f"{GPU} g1", "one holder", "2")]


def test_a_device_that_its_plugin_no_longer_registers() -> None:
    answer = found(held("small", "main", "g0"), pods=(SMALL,), registered=("g1",))
    assert answer == [("device-unregistered", "ai/small/main", "", "g0")]


def test_unrecorded_devices_are_reported_as_unchecked() -> None:
    snapshot = NodeSnapshot(
        machine=read_machine("synthetic:1s1n2c1t").machine, pods={"small": SMALL}, pods_known=True
    )
    (gap,) = unchecked(snapshot, ["devices"])
    assert gap.missing.startswith("kubelet_internal_checkpoint")
    assert unchecked(snapshot._replace(pods={"idle": pod("idle", container("main", 0))}), ["devices"]) == ()
