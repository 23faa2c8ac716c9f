"""What pods and containers ask for, as the managers of a node count it."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.memory.pod_level import pod_level_request
from cpuctl.engine.memory.requests import MemoryRequest, container_request, pod_request
from cpuctl.engine.node import Node
from cpuctl.engine.pod_level import guaranteed_equivalent
from cpuctl.pods.model import Container, Pod
from cpuctl.quantity import Quantity

_NOTHING = Quantity()


def memory_asked(node: Node, pod: Pod, container: Container | None) -> MemoryRequest | None:
    """Tell what the Memory Manager reads for a container, or for the pod where that is None, in bytes.

    It is None where an amount is not written as a whole number, and empty for a container that runs and whose
    status names none, to a kubelet that goes by that.
    """
    pod = node.pod_rules.managed(pod)
    if container is not None:
        container = next(each for each in pod.all_containers if each.name == container.name)
    divided = node.memory.rules.divides(pod)
    if container is None:
        return pod_level_request(pod) if divided else pod_request(pod)
    if divided and not guaranteed_equivalent(container):
        return {}
    return container_request(container)


def whole_cpus(requests: Mapping[str, Quantity]) -> int:
    """Count the whole CPUs that are requested, 0 where it is a part of one."""
    request = requests.get("cpu", _NOTHING)
    return request.value if request.is_integral_cpu else 0
