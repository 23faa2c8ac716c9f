"""The pods of one text."""

from __future__ import annotations

from typing import Any

from cpuctl.pods.reading.manifests import Manifests, decode_manifests, finished, no_pods


def read_pods(text: str | bytes, source: str) -> Manifests:
    """Read the pods of one YAML or JSON text and give those without a UID one.

    Raise InputError with file, line and path for unusable content, and for a text without any pod.
    """
    found = finished([decode_manifests(text, source)], source)
    if not found.pods:
        raise no_pods(found, source)
    return found


def exclusive_manifest(
    name: str, cpus: int, memory: str = "1Mi", *, namespace: str = "default", node: str = ""
) -> dict[str, Any]:
    """Describe a Guaranteed pod of one container, whose UID is its name."""
    amounts = {"cpu": cpus, "memory": memory}
    container = {"name": "c", "resources": {"limits": amounts, "requests": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
    }
