"""Fixes that ``pods lint`` proposes for CPUs and memory: once applied to the manifest, no finding is left."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.conftest import Cpuctl
from tests.support.proposals import proposals

Spec = dict[str, Any]
KUBELET: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0,16",
}
STATIC: dict[str, Any] = {
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
}
BY_POD = {"topologyManagerPolicy": "restricted", "topologyManagerScope": "pod"}
GATE = "PodLevelResourceManagers"


class Linted(NamedTuple):
    """A pod by its containers' limits and its pod-level resources, and additional kubelet settings."""

    containers: dict[str, dict[str, str]]
    own: dict[str, str] | None = None
    kubelet: Mapping[str, Any] = {}
    gates: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def spec(self) -> Spec:
        containers = [{"name": name, "resources": {"limits": each}} for name, each in self.containers.items()]
        own = {"requests": {**self.own}, "limits": {**self.own}} if self.own else None
        return {"containers": containers} | ({"resources": own} if own else {})


WHOLE = {"cpu": "2", "memory": "1Gi"}
LINTED = {
    "whole CPUs without memory": Linted({"app": {"cpu": "2"}}),
    "a fraction of a CPU": Linted({"app": {"cpu": "1500m", "memory": "1Gi"}}),
    "other containers without resources": Linted(
        {"app": WHOLE, **{f"side-{number}": {} for number in range(9)}}
    ),
    "pod-level resources that managers ignore": Linted({"app": WHOLE}, {"cpu": "2", "memory": "1Gi"}),
    "nothing left to share": Linted(
        {"app": WHOLE, "side": {}}, {"cpu": "2", "memory": "2Gi"}, BY_POD, gates=(GATE,)
    ),
    "no memory left to share": Linted(
        {"app": WHOLE, "side": {}},
        {"cpu": "4", "memory": "1Gi"},
        STATIC | BY_POD | {"topologyManagerPolicy": "best-effort"},
        gates=(GATE,),
    ),
    "memory with a fraction of a byte": Linted(
        {"app": WHOLE | {"memory": "1000m"}}, kubelet=STATIC, words=("--static",)
    ),
}


class Author:
    """The author of a pod, who edits its manifest."""

    def __init__(self, linted: Linted, directory: Path, cpuctl: Cpuctl) -> None:
        self.linted, self.directory, self.cpuctl = linted, directory, cpuctl
        self.spec, self.gates = linted.spec(), {*linted.gates}

    def findings(self) -> list[dict[str, Any]]:
        gates = {"featureGates": dict.fromkeys(sorted(self.gates), True)}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": self.spec}
        (self.directory / "kubelet.json").write_text(json.dumps({**KUBELET, **self.linted.kubelet, **gates}))
        (self.directory / "pod.json").write_text(json.dumps(pod))
        node = ("-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "kubelet.json")
        reported = (*node, "--kubelet-version", "1.36", *self.linted.words)
        result = self.cpuctl("pods", "lint", "-f", "pod.json", *reported, "-o", "json", cwd=self.directory)
        assert result.out, result
        found: list[dict[str, Any]] = json.loads(result.out)["findings"]
        return [each for each in found if each["fix"]]

    def amounts_of(self, name: str) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]]
        (found,) = (each["resources"] for each in self.spec["containers"] if each["name"] == name)
        for amounts in ("limits", "requests"):
            found.setdefault(amounts, dict(found.get("limits", {})))
        return found

    def set_amounts(self, edits: str) -> None:
        for edit in edits.split(", "):
            resource, _, name, _, amount = edit.split()
            for amounts in ("limits", "requests"):
                self.amounts_of(name)[amounts][resource] = amount

    def write(self, amount: str) -> None:
        for amounts in ("limits", "requests"):
            self.amounts_of("app")[amounts]["memory"] = amount

    def leave_some(self, _: str, resource: str) -> None:
        for amounts in ("limits", "requests"):
            self.spec["resources"][amounts][resource] = {"cpu": "3", "memory": "3Gi"}[resource]

    def on_containers_alone(self) -> None:
        del self.spec["resources"]


WAYS: dict[str, Callable[..., object]] = {
    r"set (.+?)(?: and \d+ more)?, in requests and limits": Author.set_amounts,
    r"set resources only on the containers": Author.on_containers_alone,
    r"enable the gate (\w+)": lambda desk, gate: desk.gates.add(gate),
    r"leave (?:CPUs|some) for (.+): raise (\w+) in spec.resources": Author.leave_some,
    r"use (\S+)": Author.write,
}


def follow(desk: Author, way: str) -> None:
    for pattern, change in WAYS.items():
        if found := re.fullmatch(pattern, way):
            change(desk, *found.groups())
            return
    raise AssertionError(way)


@pytest.mark.parametrize("name", LINTED)
def test_proposed_fixes_leave_no_findings(name: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Of many changes only the first ones are named; running lint again names the others."""
    begun = Author(LINTED[name], tmp_path, cpuctl)
    (first, *_) = begun.findings()
    for way in first["fix"].split(", or "):
        desk, place = copy.deepcopy(begun), (first["code"], first["path"])
        follow(desk, way)
        looks = 0
        while left := [each for each in desk.findings() if (each["code"], each["path"]) == place]:
            looks += 1
            assert looks < len(desk.spec["containers"]), left
            follow(desk, left[0]["fix"].split(", or ")[0])


def test_every_proposed_fix_is_tested(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A new fix needs a pod above."""
    run = {each["fix"] for linted in LINTED.values() for each in Author(linted, tmp_path, cpuctl).findings()}
    written = {each.fix for each in proposals("cpuctl/engine/pod_lints.py")}
    assert [fix for fix in written if not any(re.fullmatch(fix, each) for each in run)] == []
