"""Logs of a runtime's requests for tests, as the plugin ``logger`` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cpuctl.pods.cgroups.linux_resources import quota_of, shares_of

Printed = dict[str, Any]


def sandbox(name: str, qos: str = "", namespace: str = "default") -> Printed:
    """Make a sandbox in its printed form; *qos* is burstable or besteffort, empty means guaranteed."""
    slices = ["kubepods.slice", *([f"kubepods-{qos}.slice"] if qos else []), f"kubepods-pod{name}.slice"]
    return {
        "id": f"box-{name}",
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "annotations": {"kubernetes.io/config.source": "api", "note": "two\nlines: of it\n"},
        "linux": {"cgroup_parent": "/" + "/".join(slices), "pod_overhead": {}, "pod_resources": {}},
        "runtime_handler": "",
    }


def container(
    pod: Printed, name: str, request: int = 0, limit: int = 0, *, cpus: str = "", memory: int = 0
) -> Printed:
    """Make a container in its printed form; CPU in milli-CPUs, memory in bytes."""
    cpu: Printed = {"shares": {"value": shares_of(request)}, "period": {"value": 100_000}}
    cpu |= {"quota": {"value": quota_of(limit)}} if limit else {"quota": {}}
    cpu |= {"cpus": cpus} if cpus else {}
    resources: Printed = {"cpu": cpu, "unified": {"memory.oom.group": "1"}}
    resources |= {"memory": {"limit": {"value": memory}}} if memory else {}
    return {
        "id": f"id-{pod['name']}-{name}",
        "pod_sandbox_id": pod["id"],
        "name": name,
        "env": ["PASSWORD=hunter2", 'ODD="quoted\\"'],
        "linux": {"resources": resources, "oom_score_adj": {"value": -997}},
        "state": 1,
    }


class Log:
    """Collects requests, a second apart unless more passes."""

    def __init__(self) -> None:
        self.now = 0
        self.requests: list[tuple[int, str, Mapping[str, Any]]] = []

    def add(self, request: str, *, after: int = 1, **objects: Any) -> Log:
        """Add a request with its objects."""
        self.now += after
        self.requests.append((self.now, request, objects))
        return self

    def run(self, pod: Printed, *containers: Printed, after: int = 20) -> Log:
        """Add a pod with its containers."""
        self.add("RunPodSandbox", after=after, pod=pod)
        for each in containers:
            self.add("CreateContainer", pod=pod, container=each)
            self.add("PostCreateContainer", after=0, pod=pod, container=each)
        return self

    def written(self) -> str:
        """Return the log as in a file."""
        return "".join(
            f'time="2026-03-02T10:{at // 60:02}:{at % 60:02}Z" level=info msg={json.dumps(stated)}\n'
            for at, stated in self._stated()
        )

    def shown(self) -> str:
        """Return the log as on a terminal."""
        return "".join(f"\x1b[36mINFO   \x1b[0m[{at:04}] {stated:<44} \n" for at, stated in self._stated())

    def _stated(self) -> Iterator[tuple[int, str]]:
        yield 0, 'got configuration data: "" from runtime containerd v1.7.24'
        for at, request, objects in self.requests:
            for name, value in objects.items():
                yield at, f"{request}: {name}:"
                for line in yaml.safe_dump(value).removesuffix("...\n").strip().split("\n"):
                    yield at, f"{request}:    {line}"
