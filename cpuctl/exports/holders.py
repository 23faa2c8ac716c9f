"""The names of those who hold something in the kubelet's state, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CPUHolder, MemoryHolder, Owner

WHOLE_POD = "(whole pod)"


def pod_name(owner: Owner) -> str:
    """Write ``namespace/pod`` where the pod is known, else its UID."""
    return owner["podUID"] or "-" if owner["pod"] is None else f"{owner['namespace']}/{owner['pod']}"


def pod_of_cpus(holder: CPUHolder) -> str:
    """Write the pod's name or, of a container that is known by its id only, that id."""
    container_id = holder.get("containerID")
    unknown = holder["pod"] is None and not holder["podUID"]
    return f"container {container_id[:12]}" if container_id and unknown else pod_name(holder)


def container_name(holder: CPUHolder | MemoryHolder) -> str:
    """Write the container's name."""
    return holder["container"] or (WHOLE_POD if holder["holding"] == "pod" else "-")


def holder_name(holder: CPUHolder) -> str:
    """Write pod and container in one."""
    pod, container = pod_of_cpus(holder), container_name(holder)
    return pod if container == "-" else f"{pod} {container}"
