"""Virtual machines of KubeVirt, and what their launcher pods request."""

from __future__ import annotations

import json
from typing import Any

from cpuctl.pods.model import Container, Pod
from cpuctl.pods.reading.manifests import Manifests
from tests.support.manifests import read_pods

PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
Object = dict[str, Any]

PINNED = {"dedicatedCpuPlacement": True}
ISOLATED = {**PINNED, "isolateEmulatorThread": True}
MI = 1 << 20
GI = 1 << 30
ONE_GIB = {"resources": {"requests": {"memory": "1Gi"}}}
BASE = GI + (2 + 220 + 8 + 8 + 32) * MI
"""One GiB, its page tables (a 512th, from an amount in thousands), and the overhead of one vCPU."""


def vmi(domain: Object | None = None, *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "guest", "namespace": "vms", "annotations": annotations or {}},
        "spec": {"domain": {"devices": {}, **(domain or {})}, **spec},
    }


def vm(spec: Object, template: Object | None = None) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "guest", "namespace": "vms"},
        "spec": {"template": template or {"spec": {"domain": {"devices": {}}}}, **spec},
    }


def named(
    kind: str, spec: Object, name: str = "large", api: str = "instancetype.kubevirt.io/v1beta1"
) -> Object:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": "vms"},
        "spec": spec,
    }


def kubevirt(configuration: Object, *, status: Object | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt", **metadata},
        "spec": {"configuration": configuration},
        "status": status or {},
    }


def read(*objects: Object) -> Manifests:
    return read_pods(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}), "vms.json")


def pod_of(*objects: Object) -> Pod:
    (pod,) = read(*objects).pods
    return pod


def compute(pod: Pod) -> Container:
    return pod.containers[0]


def requested(pod: Pod, resource: str) -> str | None:
    amount = compute(pod).resources.requests.get(resource)
    return None if amount is None else str(amount)


def limited(pod: Pod, resource: str) -> str | None:
    amount = compute(pod).resources.limits.get(resource)
    return None if amount is None else str(amount)


def amounts(container: Container) -> tuple[dict[str, str], dict[str, str]]:
    requests, limits = container.resources.requests, container.resources.limits
    return {k: str(v) for k, v in requests.items()}, {k: str(v) for k, v in limits.items()}
