"""Short ways to write pods in tests: quantities are ``cpu=2 memory=1Gi``."""

from __future__ import annotations

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.rules import DEFAULT_SERVER, PodRules, ServerRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity


def amounts(text: str) -> dict[str, Quantity]:
    pairs = (part.split("=") for part in text.split())
    return {name: Quantity.parse(amount) for name, amount in pairs}


def texts(quantities: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in quantities.items()}


def resources(requests: str = "", limits: str = "") -> ResourceRequirements:
    return ResourceRequirements(requests=amounts(requests), limits=amounts(limits))


def app(requests: str = "", limits: str = "", name: str = "main") -> Container:
    return Container(name=name, resources=resources(requests, limits))


def init(requests: str = "", limits: str = "", name: str = "init") -> Container:
    return Container(name=name, kind=ContainerKind.INIT, resources=resources(requests, limits))


def sidecar(requests: str = "", limits: str = "", name: str = "sidecar") -> Container:
    return Container(name=name, kind=ContainerKind.SIDECAR, resources=resources(requests, limits))


def manifest(
    *containers: Container,
    pod_level: ResourceRequirements | None = None,
    overhead: str = "",
    name: str = "pod",
) -> Pod:
    """Write a pod's manifest as a user does."""
    return Pod(
        name=name,
        containers=tuple(item for item in containers if item.kind is ContainerKind.APP),
        init_containers=tuple(item for item in containers if item.kind is not ContainerKind.APP),
        resources=pod_level,
        overhead=amounts(overhead),
    )


def stored(given: Pod, server: ServerRules = DEFAULT_SERVER) -> StoredPod:
    """Return a pod as a kubelet gets it from an API server without namespace rules."""
    return stored_pod(given, PodRules(server=server))


def pod(
    *containers: Container,
    pod_level: ResourceRequirements | None = None,
    overhead: str = "",
    name: str = "pod",
    static: bool = False,
) -> StoredPod:
    """Write a pod and let an API server store it; quantities of a *static* one stay unchanged."""
    written = manifest(*containers, pod_level=pod_level, overhead=overhead, name=name)
    return stored(written._replace(static=static))
