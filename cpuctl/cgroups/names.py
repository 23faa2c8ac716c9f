"""The names of the kubelet's control groups: construction and parsing.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cgroup_manager_linux.go``: a name is a list of components, written by
the ``cgroupfs`` driver as a path and by the ``systemd`` driver as nested slices. Names below a pod are the
container runtime's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from cpuctl.pods.model import QosClass

KUBEPODS = "kubepods"
QOS_COMPONENTS = {QosClass.BURSTABLE: "burstable", QosClass.BEST_EFFORT: "besteffort"}
_QOS_OF = {component: qos for qos, component in QOS_COMPONENTS.items()}
_SLICE = ".slice"
_ID = r"[0-9a-f]{12,}"
_SCOPE = re.compile(rf"(cri-containerd|crio|docker|libpod)-({_ID})\.scope")
_PLAIN = re.compile(rf"(?:(crio)-)?({_ID})")
_MONITOR = rf"crio-conmon-({_ID})(?:\.scope)?"
_RUNTIME = {"cri-containerd": "containerd", "crio": "cri-o", "docker": "docker", "libpod": "podman"}


class Driver(StrEnum):
    """The cgroup driver: systemd with slices and scopes, or the kubelet with plain directories."""

    SYSTEMD = "systemd"
    CGROUPFS = "cgroupfs"


class Level(StrEnum):
    """The level of a group in the kubelet's hierarchy."""

    KUBEPODS = "kubepods"
    QOS = "qos"
    POD = "pod"
    CONTAINER = "container"
    HELPER = "helper"
    BELOW = "below"
    """A group that a container, or another program, has made below the container's group."""


class Role(NamedTuple):
    """The role of a group: its level, and its pod and container as far as its name shows them."""

    level: Level
    driver: Driver
    qos: QosClass = QosClass.GUARANTEED
    uid: str = ""
    container_id: str = ""
    runtime: str = ""


def group_path(components: Sequence[str], driver: Driver) -> str:
    """Write a name as a path below the hierarchy's root; no components mean the root itself.

    Raise ValueError for a component that the kubelet cannot write.
    """
    for component in components:
        if not component or "/" in component or "_" in component:
            raise ValueError(f"a cgroup name's component must not be empty or contain / or _: {component!r}")
    if driver is Driver.CGROUPFS:
        return "/" + "/".join(components)
    escaped = [component.replace("-", "_") for component in components]
    slices = ("-".join(escaped[: end + 1]) + _SLICE for end in range(len(escaped)))
    return "/" + "/".join(slices)


def root_components(cgroup_root: str) -> tuple[str, ...]:
    """Split ``cgroupRoot``, which is always written as for the cgroupfs driver."""
    return tuple(part for part in cgroup_root.split("/") if part)


def role_of(path: str) -> Role | None:
    """Return the role of the group at a path; None for one outside every ``kubepods``."""
    parts = [part for part in path.split("/") if part]
    start = next((index for index, part in enumerate(parts) if _is_kubepods(part)), None)
    if start is None:
        return None
    driver = Driver.SYSTEMD if parts[start].endswith(_SLICE) else Driver.CGROUPFS
    prefix = parts[start].removesuffix(_SLICE) + "-" if driver is Driver.SYSTEMD else ""
    role = Role(level=Level.KUBEPODS, driver=driver)
    for part in parts[start + 1 :]:
        role = _below(role, part, prefix)
    return role


def _is_kubepods(part: str) -> bool:
    return part == KUBEPODS or f"-{part}".endswith(f"-{KUBEPODS}{_SLICE}")


def _below(role: Role, part: str, prefix: str) -> Role:
    """Step down one level; *prefix* is the part that a slice repeats from the slices above it."""
    if role.level in (Level.KUBEPODS, Level.QOS):
        word = part.removesuffix(_SLICE).removeprefix(prefix) if prefix else part
        word = word.removeprefix(QOS_COMPONENTS.get(role.qos, "") + "-") if role.level is Level.QOS else word
        if role.level is Level.KUBEPODS and word in _QOS_OF:
            return role._replace(level=Level.QOS, qos=_QOS_OF[word])
        if word.startswith("pod") and len(word) > 3:
            uid = word.removeprefix("pod")
            return role._replace(level=Level.POD, uid=uid.replace("_", "-") if prefix else uid)
    if role.level is Level.POD:
        return _in_pod(role, part)
    return role._replace(level=Level.BELOW)


def ancestors(path: str) -> Iterator[str]:
    """Yield the groups above a path, the nearest first, without the root."""
    above = path.rpartition("/")[0]
    while above:
        yield above
        above = above.rpartition("/")[0]


def _in_pod(role: Role, part: str) -> Role:
    if found := _SCOPE.fullmatch(part) or _PLAIN.fullmatch(part):
        runtime = _RUNTIME.get(found[1] or "", "")
        return role._replace(level=Level.CONTAINER, container_id=found[2], runtime=runtime)
    if found := re.fullmatch(_MONITOR, part):
        return role._replace(level=Level.HELPER, container_id=found[1], runtime=_RUNTIME["crio"])
    return role._replace(level=Level.BELOW)
