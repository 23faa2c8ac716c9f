"""What an audit could not look at: a side of the node that nobody recorded, or that may not be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from cpuctl.audit.kubelet_state.answers import unnamed_pods
from cpuctl.audit.picture import POLICY_NONE, Picture
from cpuctl.state_names import CPU_FILE, DEVICES_FILE


class Unchecked(NamedTuple):
    """What is missing of a node, and the names of the checks that say nothing without it."""

    missing: str
    checks: tuple[str, ...]


_OF_STATE = (
    "state", "hotplug", "reserved", "cpusets", "mems", "threads", "quota", "memory", "stale",
    "foreign", "kernel", "interrupts", "siblings", "isolation", "volumes",
)  # fmt: skip
_OF_DEVICES = ("devices",)
_OF_ANSWERS = ("answers",)
_OF_GROUPS = ("cpusets", "mems", "threads", "quota", "memory", "stale")
_OF_TASKS = ("threads", "foreign", "kernel")
_OF_INTERRUPTS = ("interrupts",)
_OF_VOLUMES = ("volumes",)


def unchecked(picture: Picture, wanted: Collection[str]) -> tuple[Unchecked, ...]:
    """Tell what was not there to be checked, as far as the *wanted* checks need it."""
    told = ((missing, tuple(name for name in checks if name in wanted)) for missing, checks in _gaps(picture))
    return tuple(Unchecked(missing, checks) for missing, checks in told if checks)


def _gaps(picture: Picture) -> Iterator[tuple[str, tuple[str, ...]]]:
    state = picture.state.cpu
    if state is None and not picture.state.cpu_problem:
        yield f"the kubelet's {CPU_FILE}: who has exclusive CPUs is not known", _OF_STATE
    if picture.state.devices is None and not picture.state.devices_problem and _ask_for_devices(picture):
        yield f"{DEVICES_FILE}: which devices containers hold is not known", _OF_DEVICES
    yield from _unanswered(picture)
    if picture.promises.tells_assigned and not picture.pods_known:
        yield "pods (--pods): which containers read their CPUs in a volume is not known", _OF_VOLUMES
    if not all(told.looked_at for told in picture.downward_files):
        yield "files of volumes: what some containers read of their CPUs is not known", _OF_VOLUMES
    if picture.hierarchies is None:
        yield "control groups: what containers are configured to is not known", _OF_GROUPS
    if not picture.others and not any(seen.tasks for seen in picture.containers):
        yield "processes: where threads may run is not known", _OF_TASKS
    if state is not None and (state.policy_name == POLICY_NONE or not picture.exclusive):
        return  # nothing that an interrupt could disturb
    interrupts = picture.interrupts
    if not interrupts.known and interrupts.default is None:
        yield "interrupts: where they come to is not known", _OF_INTERRUPTS
    elif interrupts.known and all(each.allowed is None for each in interrupts.known):
        yield "interrupts' affinities (/proc/irq): only how often they came is known", _OF_INTERRUPTS


def _unanswered(picture: Picture) -> Iterator[tuple[str, tuple[str, ...]]]:
    if picture.answers is None:
        return
    for problem in picture.answers.problems:
        yield f"the kubelet's answer (--pod-resources): {problem}", _OF_ANSWERS
    if picture.answers.pods and unnamed_pods(picture):
        yield "pods (--pods): whose the kubelet's answers (--pod-resources) are is not known", _OF_ANSWERS


def _ask_for_devices(picture: Picture) -> bool:
    """Tell whether a pod asks for a resource that has a name of a domain, as plugins' resources have."""
    return any(
        "/" in name
        for pod in picture.pods.values()
        if not pod.terminal
        for container in pod.all_containers
        for name in container.resources.requests
    )
