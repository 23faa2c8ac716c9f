"""Names of cgroups: how the kubelet's drivers write them, and how they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cgroups.names import Driver, Level, Role, group_path, role_of, root_components
from cpuctl.pods.model import QosClass
from tests.support.pod_groups import pod_components

UID = "1234-ab"
ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("qos", "root", "systemd", "cgroupfs"),
    [
        (QosClass.GUARANTEED, "/", "/kubepods.slice/kubepods-pod1234_ab.slice", "/kubepods/pod1234-ab"),
        (
            QosClass.BURSTABLE,
            "",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_ab.slice",
            "/kubepods/burstable/pod1234-ab",
        ),
        (
            QosClass.BEST_EFFORT,
            "",
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1234_ab.slice",
            "/kubepods/besteffort/pod1234-ab",
        ),
        (
            QosClass.GUARANTEED,
            "/my-root/sub",
            "/my_root.slice/my_root-sub.slice/my_root-sub-kubepods.slice/my_root-sub-kubepods-pod1234_ab.slice",
            "/my-root/sub/kubepods/pod1234-ab",
        ),
        (
            QosClass.GUARANTEED,
            "/foo.slice",  # a common mistake
            "/foo.slice.slice/foo.slice-kubepods.slice/foo.slice-kubepods-pod1234_ab.slice",
            "/foo.slice/kubepods/pod1234-ab",
        ),
    ],
)
def test_pods_have_the_paths_that_the_kubelet_gives_them(
    qos: QosClass, root: str, systemd: str, cgroupfs: str
) -> None:
    components = pod_components(UID, qos, root_components(root))
    assert group_path(components, Driver.SYSTEMD) == systemd
    assert group_path(components, Driver.CGROUPFS) == cgroupfs


def test_no_components_are_the_root() -> None:
    assert group_path((), Driver.CGROUPFS) == "/"


@pytest.mark.parametrize("component", ["", "a/b", "a_b"])
@pytest.mark.parametrize("driver", Driver)
def test_names_that_a_kubelet_cannot_write_are_rejected(component: str, driver: Driver) -> None:
    with pytest.raises(ValueError, match="component"):
        group_path((component,), driver)


UIDS = st.from_regex(r"[0-9a-f]{4}(-[0-9a-f]{4})?", fullmatch=True)
ROOTS = st.lists(st.from_regex(r"[a-z](-?[a-z0-9]){0,3}", fullmatch=True), max_size=2)


@given(UIDS, st.sampled_from(QosClass), ROOTS, st.sampled_from(Driver))
def test_a_pods_path_is_read_as_it_was_written(
    uid: str, qos: QosClass, root: list[str], driver: Driver
) -> None:
    path = group_path(pod_components(uid, qos, root), driver)
    assert role_of(path) == Role(level=Level.POD, driver=driver, qos=qos, uid=uid)


POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_ab.slice"


@pytest.mark.parametrize(
    ("path", "level", "container_id", "runtime"),
    [
        (f"{POD}/cri-containerd-{ID}.scope", Level.CONTAINER, ID, "containerd"),
        (f"{POD}/crio-{ID}.scope", Level.CONTAINER, ID, "cri-o"),
        (f"{POD}/docker-{ID}.scope", Level.CONTAINER, ID, "docker"),
        (f"{POD}/crio-conmon-{ID}.scope", Level.HELPER, ID, "cri-o"),
        (f"{POD}/crio-{ID}.scope/container", Level.BELOW, ID, "cri-o"),
        (f"{POD}/somebody-elses.scope", Level.BELOW, "", ""),
        (f"/kubepods/burstable/pod{UID}/{ID}", Level.CONTAINER, ID, ""),
        (f"/kubepods/burstable/pod{UID}/crio-{ID}", Level.CONTAINER, ID, "cri-o"),
    ],
)
def test_containers_are_identified_by_the_names_of_their_runtimes(
    path: str, level: Level, container_id: str, runtime: str
) -> None:
    role = role_of(path)
    assert role is not None
    assert (role.level, role.container_id, role.runtime) == (level, container_id, runtime)
    assert (role.uid, role.qos) == (UID, QosClass.BURSTABLE)


@pytest.mark.parametrize(
    "path", ["/", "/system.slice", "/user.slice/user-0.slice", "/notkubepods", "/kubepods-burstable.slice"]
)
def test_groups_outside_kubepods_have_no_role(path: str) -> None:
    assert role_of(path) is None


def test_kubepods_is_found_below_another_root() -> None:
    """As in kind, where the kubelet itself runs in a container."""
    role = role_of("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice")
    assert role == Role(level=Level.QOS, driver=Driver.SYSTEMD, qos=QosClass.BEST_EFFORT)
