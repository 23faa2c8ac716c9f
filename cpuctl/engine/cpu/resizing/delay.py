"""How long a container that shrinks keeps its CPUs: the one place that knows.

Rule: KEP-6122. Its option ``scale-delay-time`` holds for the whole node; a field of the pod,
``scaleDownGracePeriodSeconds``, is announced to take its place.
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.golang.durations import SECOND
from cpuctl.pods.model import StoredPod


class DelayRules(NamedTuple):
    """What delays: the node's option, in nanoseconds, or (``by_pod``, a preview) the pods' own field."""

    of_node: int = 0
    by_pod: bool = False


NO_DELAY = DelayRules()


def delay_of(pod: StoredPod, rules: DelayRules) -> int:
    """Tell how many nanoseconds pass before CPUs are taken from a container of *pod*, at least; 0: none."""
    if pod.has_pod_level_resources:
        return 0
    return (pod.scale_down_grace or 0) * SECOND if rules.by_pod else rules.of_node
