"""What was recorded from real kubelets of each release; the rest is from sources and documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from cpuctl.kubelet.config import KubeletConfiguration


Topic: TypeAlias = Literal[
    "admission",
    "exclusive CPUs",
    "topology hints",
    "memory on NUMA nodes",
    "pod-level resources",
    "QoS classes and OOM scores",
    "cgroup values",
    "in-place resizes",
    "state files",
    "the configuration",
    "pod validation",
]
"""The topics of an answer, in plain words."""


LAST_WITH_ALL = 36
"""The last minor with everything recorded: later ones are assumed to be the same unless known otherwise."""
RECORDED: Mapping[Topic, tuple[int, ...]] = {
    "admission": (*range(27, 37), 38),
    "exclusive CPUs": (*range(27, 39),),
    "topology hints": (*range(27, 37),),
    "memory on NUMA nodes": (*range(27, 37),),
    "pod-level resources": (36,),
    "QoS classes and OOM scores": (36,),
    "cgroup values": (36,),
    "in-place resizes": (36,),
    "state files": (*range(27, 38),),
    "the configuration": (*range(27, 37),),
    "pod validation": (29, *range(31, 37)),
}
"""The minors whose recordings include a topic; a test compares them with the shipped recordings."""


def unrecorded(minor: int, topics: Iterable[Topic]) -> list[Topic]:
    """Return the topics that were not recorded on a release."""
    return [topic for topic in topics if minor not in RECORDED[topic]]


def not_verified(minor: int, topics: Iterable[Topic]) -> str:
    """Describe which topics of an answer were not recorded on a release, and their basis instead.

    >>> not_verified(29, ["in-place resizes"])
    'on 1.29: in-place resizes (from its source code)'
    """
    as_before = f"assumed to be as in 1.{LAST_WITH_ALL}, except for known differences"
    known = as_before if minor > LAST_WITH_ALL else "from its source code"
    return f"on 1.{minor}: {', '.join(topics)} ({known})"


def topics_of_decisions(config: KubeletConfiguration, *, pod_level: bool) -> list[Topic]:
    """Return the topics of a decision on pods; *pod_level*: some pods have pod-level resources."""
    requested: dict[Topic, bool] = {
        "admission": True,
        "exclusive CPUs": config.cpu_manager_policy == "static",
        "topology hints": config.topology_manager_policy != "none",
        "memory on NUMA nodes": config.memory_manager_policy == "Static",
        "pod-level resources": pod_level,
    }
    return [topic for topic, is_requested in requested.items() if is_requested]
