"""Inputs as large as any node's: thousands of pods, and thousands of CPUs on 64 NUMA nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MACHINE = "synthetic:8s64n256c2t"
"""4,096 CPUs on 64 NUMA nodes of 64 GiB each."""

_REQUESTS: tuple[dict[str, Any], ...] = (
    {"limits": {"cpu": "1", "memory": "256Mi"}},
    {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
    {},
    {"limits": {"cpu": "500m", "memory": "128Mi"}},
    {"limits": {"cpu": "2", "memory": "1Gi"}},
)


def pods(count: int) -> Iterator[dict[str, Any]]:
    """Make pods of every QoS class, two in five with exclusive CPUs."""
    for number in range(count):
        resources = _REQUESTS[number % len(_REQUESTS)]
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "namespace": f"ns-{number % 20}"},
            "spec": {"containers": [{"name": "main", "resources": resources}]},
        }


def write_pods(path: Path, count: int) -> Path:
    """Write pods as a List, like kubectl."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(pods(count))}))
    return path


def write_kubelet(path: Path) -> Path:
    """Write the configuration of a kubelet with the static policy and room for all pods."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "maxPods": 6000,
        "kubeReserved": {"cpu": "4", "memory": "1Gi"},
    }
    path.write_text(json.dumps(config))
    return path
