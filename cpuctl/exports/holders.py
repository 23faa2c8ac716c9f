"""The names of those who hold something in the kubelet's state, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WHOLE_POD = "(whole pod)"


def pod_name(holder: Mapping[str, Any]) -> str:
    """Write ``namespace/pod`` where the pod is known, else its UID or the container's id."""
    if holder["pod"] is not None:
        return f"{holder['namespace']}/{holder['pod']}"
    container_id = holder.get("containerID")
    return holder["podUID"] or (f"container {container_id[:12]}" if container_id else "-")


def container_name(holder: Mapping[str, Any]) -> str:
    """Write the container's name."""
    return holder["container"] or (WHOLE_POD if holder.get("holding") == "pod" else "-")


def holder_name(holder: Mapping[str, Any]) -> str:
    """Write pod and container in one."""
    container = container_name(holder)
    return pod_name(holder) if container == "-" else f"{pod_name(holder)} {container}"
