from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.capture.anonymous import AnonymousNames, Pseudonyms
from tests.capture.node_texts import CONTAINER_ID, STATIC_UID, SYSTEMD_UID, UID

UID_1 = "00000000-0000-4000-8000-000000000001"
UID_2 = "00000000-0000-4000-8000-000000000002"
HASH_1 = "0" * 31 + "1"
ID_1 = "0" * 63 + "1"


def test_equal_names_of_a_kind_have_equal_pseudonyms() -> None:
    pseudonyms = Pseudonyms()
    names = [pseudonyms.name("command", name) for name in ("a", "b", "a")]
    assert names == ["command1", "command2", "command1"]
    assert pseudonyms.name("unit", "b") == "unit1"
    assert pseudonyms.name("unit", "") == ""


def test_a_uid_keeps_its_shape_and_is_the_same_in_every_spelling() -> None:
    pseudonyms = Pseudonyms()
    assert pseudonyms.pod_uid(UID) == UID_1
    assert pseudonyms.pod_uid(SYSTEMD_UID) == UID_1.replace("-", "_")
    assert pseudonyms.pod_uid(STATIC_UID) == "0" * 31 + "2"
    assert pseudonyms.identifier(CONTAINER_ID) == ID_1


@dataclass(frozen=True)
class Within:
    name: str
    text: str
    want: str


WITHIN = [
    Within("a UID", f"pods/{UID}/volumes", f"pods/{UID_1}/volumes"),
    Within("behind pod", f"pod{UID}.slice", f"pod{UID_1}.slice"),
    Within("a container ID", f"crio-{CONTAINER_ID}.scope", f"crio-{ID_1}.scope"),
    Within("a static pod", STATIC_UID, HASH_1),
    Within("twice", f"{UID} {UID}", f"{UID_1} {UID_1}"),
    Within("two", f"{UID} {UID[:-1]}7", f"{UID_1} {UID_2}"),
    Within("longer digits are something else", f"{CONTAINER_ID}0", f"{CONTAINER_ID}0"),
    Within("nothing", "cpuset.cpus 0-3", "cpuset.cpus 0-3"),
]


@pytest.mark.parametrize("case", WITHIN, ids=lambda case: case.name)
def test_ids_inside_a_text(case: Within) -> None:
    pseudonyms = Pseudonyms()
    once = pseudonyms.within(case.text)
    assert once == case.want
    assert pseudonyms.within(once) == once


@dataclass(frozen=True)
class Group:
    path: str
    want: str


GROUPS = [
    Group("/", "/"),
    Group("/init.scope", "/init.scope"),
    Group("/system.slice/kubelet.service", "/system.slice/kubelet.service"),
    Group("/system.slice/acme-billing.service", "/system.slice/unit1.service"),
    Group("/user.slice/user-1000.slice/session-3.scope", "/user.slice/user-group1.slice/unit1.scope"),
    Group(
        f"/kubepods.slice/kubepods-pod{SYSTEMD_UID}.slice/cri-containerd-{CONTAINER_ID}.scope",
        f"/kubepods.slice/kubepods-pod{UID_1.replace('-', '_')}.slice/cri-containerd-{ID_1}.scope",
    ),
    Group(f"/kubepods/burstable/pod{UID}/{CONTAINER_ID}", f"/kubepods/burstable/pod{UID_1}/{ID_1}"),
    Group(f"/kubepods/pod{STATIC_UID}/crio-{CONTAINER_ID}", f"/kubepods/pod{HASH_1}/crio-{ID_1}"),
    Group(
        "/my_root.slice/my_root-sub.slice/my_root-sub-kubepods.slice",
        "/group1.slice/group1-group2.slice/group1-group2-kubepods.slice",
    ),
    Group("/my-root/kubepods", "/group1/kubepods"),
    Group("/../machine.slice/qemu-vm7.scope", "/../machine.slice/unit1.scope"),
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.path)
def test_control_groups_keep_their_structure(group: Group) -> None:
    assert AnonymousNames().cgroup(group.path) == group.want


def test_a_group_is_the_same_in_systemds_spelling() -> None:
    names = AnonymousNames()
    assert names.cgroup("/my-root") == "/group1"
    assert names.cgroup("/my_root.slice") == "/group1.slice"


@pytest.mark.parametrize(
    ("comm", "kernel", "want"),
    [
        ("kubelet", False, "kubelet"),
        ("containerd-shim", False, "containerd-shim"),
        ("trading-engine", False, "command1"),
        ("kworker/0:1-events", False, "command1"),
        ("kworker/0:1-events", True, "kworker/0:1-events"),
        ("irq/45-eth0", True, "irq/45-eth0"),
        ("ksoftirqd/3", True, "ksoftirqd/3"),
        ("10.0.0.7-manager", True, "kthread1"),
        ("kubelet", True, "kthread1"),
    ],
)
def test_well_known_commands_stay(comm: str, kernel: bool, want: str) -> None:
    assert AnonymousNames().command(comm, kernel=kernel) == want


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("proc/7/status", "proc/7/status"),
        ("sys/fs/cgroup/cpuset/kubepods/cpuset.cpus", "sys/fs/cgroup/cpuset/kubepods/cpuset.cpus"),
        ("sys/fs/cgroup/cpu,cpuacct/acme/cpu.shares", "sys/fs/cgroup/cpu,cpuacct/group1/cpu.shares"),
        ("sys/fs/cgroup/acme.slice", "sys/fs/cgroup/group1.slice"),
        ("sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cgroup.controllers"),
    ],
)
def test_files_keep_the_kernels_names(path: str, want: str) -> None:
    assert AnonymousNames().file(path) == want
