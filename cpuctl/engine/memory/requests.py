"""How much memory and huge pages a container or a pod asks the Memory Manager for.

Rule: kubelet v1.36 ``policy_static.go``. Amounts are the kubelet's unsigned 64-bit numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.memory.tables import is_memory, wrapped
from cpuctl.pods.model import Container, ContainerKind, StoredPod

MemoryRequest = Mapping[str, int]
"""Bytes by resource name; a request of 0 counts as a request."""

_Sums = dict[str, int]


def container_request(container: Container) -> MemoryRequest | None:
    """Read a container's requests; None where one is not written as a whole number (``1.5Gi``, ``1000m``)."""
    request = {}
    for name, quantity in container.resources.requests.items():
        if is_memory(name):
            amount = quantity.exact_int64
            if amount is None:
                return None
            request[name] = wrapped(amount)
    return request


def pod_request(pod: StoredPod) -> MemoryRequest | None:
    """Add up what a pod needs at once of each resource that an app container requests; None as above."""
    apps: _Sums = {}
    sidecars: _Sums = {}
    peaks: _Sums = {}
    for container in pod.all_containers:
        request = container_request(container)
        if request is None:
            return None
        for name, amount in request.items():
            match container.kind:
                case ContainerKind.SIDECAR:
                    _add(sidecars, name, amount)
                case ContainerKind.INIT:
                    peaks[name] = max(peaks.get(name, 0), wrapped(sidecars.get(name, 0) + amount))
                case ContainerKind.APP:
                    _add(apps, name, amount)
    return {
        name: max(wrapped(amount + sidecars.get(name, 0)), peaks.get(name, 0))
        for name, amount in apps.items()
    }


def _add(sums: _Sums, name: str, amount: int) -> None:
    sums[name] = wrapped(sums.get(name, 0) + amount)
