"""``oom_score_adj``: whom the kernel kills first when the node runs out of memory.

Rule: kubelet v1.36 ``pkg/kubelet/qos/policy.go`` and KEP-2837. Pods are given as their kubelet sees them
(``NodeRules.view``).
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, is_pod_level_resource
from cpuctl.pods.requests import container_requests
from cpuctl.quantity import Quantity

_PROTECTED, _FIRST = -997, 1000
_LEAST = 3
_SYSTEM_CRITICAL = 2_000_000_000
_NODE_CRITICAL = "system-node-critical"
_ZERO = Quantity()


class OomScore(NamedTuple):
    """A score and the rule that it follows; ``value`` is None where it takes the node's memory to say."""

    value: int | None
    rule: str


def is_critical(pod: Pod) -> bool:
    """Tell whether a kubelet never evicts *pod*: it is static, or its priority is that of the system.

    Rule: ``IsCriticalPod`` in ``pkg/kubelet/types/pod_update.go``.
    """
    return pod.static or (pod.priority is not None and pod.priority >= _SYSTEM_CRITICAL)


def oom_score(
    pod: Pod,
    container: Container,
    qos_class: QosClass,
    memory: int | None,
    *,
    lowers_sidecars: bool = True,
) -> OomScore:
    """Return the score of a container on a node with *memory* bytes, None where that is not known.

    Unless *lowers_sidecars* (kubernetes pull request 128029) a sidecar's own request decides.
    """
    if is_critical(pod) and pod.priority_class_name == _NODE_CRITICAL:
        return OomScore(_PROTECTED, f"{_NODE_CRITICAL} pods are protected")
    if qos_class is QosClass.GUARANTEED:
        return OomScore(_PROTECTED, "Guaranteed pods are protected")
    if qos_class is QosClass.BEST_EFFORT:
        return OomScore(_FIRST, "BestEffort pods go first")
    remainder = _remainder(pod)
    rule = "by its memory request" + (" and its part of what only the pod requests" if remainder else "")
    if not memory:
        return OomScore(None, rule)
    score = _score(_memory_request(container) + remainder, memory)
    if lowers_sidecars and container.kind is ContainerKind.SIDECAR:
        least = min(map(_memory_request, pod.containers), default=0)
        if (apps := _score(least + remainder, memory)) < score:
            score, rule = apps, "as the app container with the least memory request"
    # Beyond 1000, which only pods get that the API server refuses, a kubelet corrects nothing.
    return OomScore(_FIRST - 1 if score == _FIRST else max(score, _LEAST), rule)


def _score(request: int, memory: int) -> int:
    return 1000 - _divided(1000 * request, memory)


def _memory_request(container: Container) -> int:
    return container.resources.requests.get("memory", _ZERO).value


def _remainder(pod: Pod) -> int:
    """Share out what the pod requests beyond its containers; ended init containers get a part, too."""
    own = pod.resources.requests if pod.resources else {}
    request = own.get("memory", _ZERO).value
    if not request or not any(map(is_pod_level_resource, own)):
        return 0
    rest = request - container_requests(pod).get("memory", _ZERO).value
    return _divided(rest, len(pod.all_containers))


def _divided(number: int, by: int) -> int:
    """Divide as Go does: towards zero."""
    return number // by if number >= 0 else -(-number // by)
