"""What was recorded from the real kubelets of each release; all else was read in sources and documents."""

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
"""What an answer is about, as people say it."""


LAST_WITH_ALL = 36
"""The last minor of which everything was recorded: later ones follow it if nothing else is known."""
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
"""The minors whose recordings hold a topic; a test compares them with the recordings that are shipped."""


def unrecorded(minor: int, topics: Iterable[Topic]) -> list[Topic]:
    """Return those of the topics that were not recorded on a release."""
    return [topic for topic in topics if minor not in RECORDED[topic]]


def not_verified(minor: int, topics: Iterable[Topic]) -> str:
    """Say which of an answer's topics were not recorded on a release, and what they are based on instead.

    >>> not_verified(29, ["in-place resizes"])
    'on 1.29: in-place resizes (from its source code)'
    """
    as_before = f"assumed to be as in 1.{LAST_WITH_ALL}, except for known differences"
    known = as_before if minor > LAST_WITH_ALL else "from its source code"
    return f"on 1.{minor}: {', '.join(topics)} ({known})"


def topics_of_decisions(config: KubeletConfiguration, *, pod_level: bool) -> list[Topic]:
    """Return what a decision on pods is about; *pod_level*: some of them have resources of their own."""
    requested: dict[Topic, bool] = {
        "admission": True,
        "exclusive CPUs": config.cpu_manager_policy == "static",
        "topology hints": config.topology_manager_policy != "none",
        "memory on NUMA nodes": config.memory_manager_policy == "Static",
        "pod-level resources": pod_level,
    }
    return [topic for topic, is_asked in requested.items() if is_asked]
