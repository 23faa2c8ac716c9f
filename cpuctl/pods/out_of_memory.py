"""The victims when memory runs out: the kernel's ``oom_score_adj``, and a kubelet's order of eviction.

Rule: kubelet v1.36 ``pkg/kubelet/qos/policy.go``, KEP-2837 and KEP-5517 (1.37) for the score,
``pkg/kubelet/eviction/helpers.go`` for the order. Eviction does not compute a pod's request as the scheduler
does: pod-level resources, if any, hide the containers' requests (KEP-2837). Pods are given as their kubelet
sees them (``NodeRules.view``).
"""

from collections.abc import Iterable

from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, is_pod_level_resource
from cpuctl.pods.requests import container_requests, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_PROTECTED, _FIRST = -997, 1000
_LEAST = 3
_NODE_CRITICAL = "system-node-critical"
_ZERO = Quantity()


class OomScore(Record):
    """A score and its rule; ``value`` is None if it depends on the node's memory, which is not known."""

    value: int | None
    rule: str


def oom_score(
    pod: Pod,
    container: Container,
    qos_class: QosClass,
    memory: int | None,
    *,
    lowers_sidecars: bool = True,
) -> OomScore:
    """Return the score of a container on a node with *memory* bytes, None if that is not known.

    Unless *lowers_sidecars* (kubernetes pull request 128029) a sidecar's own request decides.
    """
    if pod.critical and pod.priority_class_name == _NODE_CRITICAL:
        return OomScore(_PROTECTED, f"{_NODE_CRITICAL} pods are protected")
    if qos_class is QosClass.GUARANTEED:
        return OomScore(_PROTECTED, "Guaranteed pods are protected")
    if qos_class is QosClass.BEST_EFFORT:
        return OomScore(_FIRST, "BestEffort pods go first")
    remainder = _remainder(pod)
    rule = "by its memory request" + (", plus its share of what only the pod requests" if remainder else "")
    if not memory:
        return OomScore(None, rule)
    score = _score(_memory_request(pod, container) + remainder, memory)
    if lowers_sidecars and container.kind is ContainerKind.SIDECAR:
        least = min((_memory_request(pod, each) for each in pod.containers), default=0)
        if (apps := _score(least + remainder, memory)) < score:
            score, rule = apps, "same as the app container with the smallest memory request"
    # A kubelet does not clamp values above 1000, which only pods reach that the API server refuses.
    return OomScore(_FIRST - 1 if score == _FIRST else max(score, _LEAST), rule)


def _score(request: int, memory: int) -> int:
    return 1000 - _divided(1000 * request, memory)


def _memory_request(pod: Pod, container: Container) -> int:
    """Return a container's request with its share of the claims' amounts, divided among their containers."""
    own = container.resources.requests.get("memory", _ZERO).value
    for claim in pod.counted_claims:
        if container.name in claim.containers:
            for amounts in (claim.amounts, claim.per_pod):
                own += amounts.get("memory", _ZERO).value // len(claim.containers)
            own += claim.per_container.get("memory", _ZERO).value
    return own


def _remainder(pod: Pod) -> int:
    """Divide the pod's request beyond that of its containers; ended init containers get a share, too."""
    own = pod.resources.requests if pod.resources else {}
    request = own.get("memory", _ZERO).value
    if not request or not any(map(is_pod_level_resource, own)):
        return 0
    inside = pod_requests(pod, pod_level=False, overhead=False)
    rest = request - inside.get("memory", _ZERO).value
    return _divided(rest, len(pod.all_containers))


def _divided(number: int, by: int) -> int:
    """Divide as Go does, truncating towards zero."""
    return number // by if number >= 0 else -(-number // by)


class Ranked(Record):
    """A pod in the order of eviction, with amounts in bytes; ``usage`` is None if it was not measured.

    ``spared``: it is critical, so a kubelet skips it.
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
        """The reason for its position."""
        if self.usage is None:
            return "usage is unknown: such pods are evicted first"
        side = "more" if self.exceeds else "no more"
        return f"uses {side} than it requests, priority {self.priority}"


def eviction_order(pods: Iterable[tuple[Pod, int | None]]) -> list[Ranked]:
    """Sort pods, given with their memory working sets in bytes, in the order of eviction."""
    ranked = [
        Ranked(
            pod=pod,
            usage=usage,
            request=eviction_request(pod),
            priority=pod.priority or 0,
            spared=pod.critical,
        )
        for pod, usage in pods
    ]
    return sorted(ranked, key=_order)


def eviction_request(pod: Pod) -> int:
    """Return the memory in bytes that *pod* requests for eviction: pod-level resources alone if it has any.

    Without a memory request there it is 0, regardless of the pod's overhead.
    """
    if pod.resources is not None and pod.has_pod_level_resources:
        request = pod.resources.requests.get("memory", _ZERO)
    else:
        request = container_requests(pod).get("memory", _ZERO)
    return (request + pod.overhead.get("memory", _ZERO)).value if request.sign else 0


def _order(ranked: Ranked) -> tuple[bool, bool, int, int]:
    excess = 0 if ranked.usage is None else ranked.usage - ranked.request
    return ranked.usage is not None, not ranked.exceeds, ranked.priority, -excess
