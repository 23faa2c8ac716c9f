"""What was recorded from the real kubelets of each release; all else was read in sources and documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.kubelet.config import KubeletConfiguration


class Topic(StrEnum):
    """What an answer is about, as people say it."""

    ADMISSION = "admission"
    CPUS = "exclusive CPUs"
    HINTS = "topology hints"
    MEMORY = "memory on NUMA nodes"
    POD_LEVEL = "pod-level resources"
    QOS = "QoS classes and OOM scores"
    GROUPS = "cgroup values"
    RESIZE = "in-place resizes"
    STATE_FILES = "state files"
    CONFIGURATION = "the configuration"
    VALIDATION = "pod validation"


LAST_WITH_ALL = 36
"""The last minor of which everything was recorded: later ones follow it where nothing else is known."""
RECORDED: Mapping[Topic, tuple[int, ...]] = {
    Topic.ADMISSION: (*range(27, 37), 38),
    Topic.CPUS: (*range(27, 39),),
    Topic.HINTS: (*range(27, 37),),
    Topic.MEMORY: (*range(27, 37),),
    Topic.POD_LEVEL: (36,),
    Topic.QOS: (36,),
    Topic.GROUPS: (36,),
    Topic.RESIZE: (36,),
    Topic.STATE_FILES: (*range(27, 38),),
    Topic.CONFIGURATION: (*range(27, 37),),
    Topic.VALIDATION: (29, *range(31, 37)),
}
"""The minors whose recordings hold a topic; a test compares them with the recordings that are shipped."""


def unrecorded(minor: int, topics: Iterable[Topic]) -> list[Topic]:
    """Return those of the topics that nobody has recorded on a release."""
    return [topic for topic in topics if minor not in RECORDED[topic]]


def not_verified(minor: int, topics: Iterable[Topic]) -> str:
    """Say which of an answer's topics stand on no recording of a release, and on what else.

    >>> not_verified(29, [Topic.RESIZE])
    'on 1.29: in-place resizes (from its source code)'
    """
    as_before = f"assumed to be as in 1.{LAST_WITH_ALL}, except for known differences"
    known = as_before if minor > LAST_WITH_ALL else "from its source code"
    return f"on 1.{minor}: {', '.join(topics)} ({known})"


def topics_of_decisions(config: KubeletConfiguration, *, pod_level: bool) -> list[Topic]:
    """Return what a decision on pods is about; *pod_level*: some of them have resources of their own."""
    asked = {
        Topic.ADMISSION: True,
        Topic.CPUS: config.cpu_manager_policy == "static",
        Topic.HINTS: config.topology_manager_policy != "none",
        Topic.MEMORY: config.memory_manager_policy == "Static",
        Topic.POD_LEVEL: pod_level,
    }
    return [topic for topic, is_asked in asked.items() if is_asked]
