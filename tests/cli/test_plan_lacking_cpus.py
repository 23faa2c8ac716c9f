"""Plans with running pods whose CPUs are missing from the state files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_plan_state import STATIC, cpus, plan, write_state

FULL_CORES = f"{STATIC} --cpu-manager-policy-options=full-pcpus-only=true"
POD_SCOPE = f"{STATIC} --topology-manager-policy=restricted --topology-manager-scope=pod"


def here(spec: Mapping[str, object]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "here", "namespace": "shop", "uid": "here"},
        "spec": spec,
    }


def guaranteed(name: str, cpu: object) -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}


def with_device(container: dict[str, Any]) -> dict[str, Any]:
    container["resources"]["limits"]["example.com/gpu"] = 1
    return container


HELD = ',"entries":{"here":{"c":"1,5"}}'
POD_LEVEL = ("--feature-gates", "PodLevelResources=true,PodLevelResourceManagers=true")


@pytest.mark.parametrize(
    ("entries", "spec", "words", "lacking"),
    [
        ("", {"containers": [guaranteed("c", 2)]}, (), True),
        ("", {"containers": [guaranteed("c", "1500m")]}, (), False),
        (HELD, {"containers": [guaranteed("c", 2)]}, (), False),
        (HELD, {"containers": [guaranteed("c", 2), guaranteed("d", 2)]}, (), True),
        (HELD, {"initContainers": [guaranteed("i", 2)], "containers": [guaranteed("c", 2)]}, (), False),
        ("", {"containers": [guaranteed("c", 3)]}, ("--kubelet-args=" + FULL_CORES,), False),
        ("", {"containers": [with_device(guaranteed("c", 2))]}, (), True),
        ("", {"containers": [with_device(guaranteed("c", "1500m"))]}, (), False),
        (
            "",
            {"resources": guaranteed("", 2)["resources"], "containers": [{"name": "c"}]},
            (*POD_LEVEL, "--kubelet-args=" + POD_SCOPE),
            True,
        ),
    ],
    ids=[
        "none",
        "shared",
        "all",
        "one of two",
        "init ended",
        "no whole cores",
        "device",
        "shared, device",
        "pod-level",
    ],
)
def test_pods_that_lack_cpus_until_the_next_start_are_named(
    entries: str,
    spec: Mapping[str, object],
    words: tuple[str, ...],
    lacking: object,
    cpuctl: Cpuctl,
    tmp_path: Path,
) -> None:
    """A kubelet allocates when it admits: the running one gave them none, and the next start does."""
    state = write_state(tmp_path, "0-7" if not entries else "0,2-4,6-7", entries)
    running = tmp_path / "running.json"
    running.write_text(json.dumps(here(spec)))
    result = plan(cpuctl, "-T", "b=2/2,1Gi", "--state", str(state), "--pods", str(running), *words)
    assert cpus(result) == ["2,6" if entries else "1,5"]
    assert (
        "the state files do not contain CPUs of pods that the node already has (shop/here)" in result.err
    ) is lacking
