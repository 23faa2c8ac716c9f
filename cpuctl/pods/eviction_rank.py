"""In which order a kubelet evicts pods when memory runs short.

Rule: kubelet v1.36 ``pkg/kubelet/eviction/helpers.go``. Its idea of a pod's request is not the scheduler's:
pod-level resources, where there are any, hide what the containers request (KEP-2837).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cpuctl.pods.model import Pod
from cpuctl.pods.oom_score import is_critical
from cpuctl.pods.requests import container_requests
from cpuctl.quantity import Quantity

_ZERO = Quantity()


class Ranked(NamedTuple):
    """A pod in the order of eviction; ``usage`` is None where nobody measured it, amounts are bytes.

    ``spared``: it is critical, so a kubelet passes over it.
    """

    pod: Pod
    usage: int | None
    request: int
    priority: int
    spared: bool

    @property
    def exceeds(self) -> bool:
        """Whether it uses more than it requests."""
        return self.usage is not None and self.usage > self.request

    @property
    def reason(self) -> str:
        """What decides on its place."""
        if self.usage is None:
            return "no usage is known: such pods come first"
        side = "more" if self.exceeds else "no more"
        return f"uses {side} than it requests, priority {self.priority}"


def eviction_order(pods: Iterable[tuple[Pod, int | None]]) -> list[Ranked]:
    """Sort pods, each with its memory working set in bytes, those evicted first in front."""
    ranked = [
        Ranked(
            pod=pod,
            usage=usage,
            request=eviction_request(pod),
            priority=pod.priority or 0,
            spared=is_critical(pod),
        )
        for pod, usage in pods
    ]
    return sorted(ranked, key=_order)


def eviction_request(pod: Pod) -> int:
    """Return the bytes that eviction takes *pod* to request, by pod-level resources alone where it has any.

    Where what counts requests no memory it is 0, whatever the pod's overhead.
    """
    if pod.resources is not None and pod.has_pod_level_resources:
        request = pod.resources.requests.get("memory", _ZERO)
    else:
        request = container_requests(pod).get("memory", _ZERO)
    return (request + pod.overhead.get("memory", _ZERO)).value if request.sign else 0


def _order(ranked: Ranked) -> tuple[bool, bool, int, int]:
    excess = 0 if ranked.usage is None else ranked.usage - ranked.request
    return ranked.usage is not None, not ranked.exceeds, ranked.priority, -excess
