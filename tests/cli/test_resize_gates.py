"""Resizes rejected for lack of a feature gate: the proposed fix enables it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cpuctl.engine.resize.obstacles import _NEEDED
from tests.cli.conftest import Cpuctl

CONFIG = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
    "reservedSystemCPUs: '0'\n"
)
MEMORY = (
    "--kubelet-args",
    "--memory-manager-policy=Static --kube-reserved=memory=1Gi --reserved-memory=0:memory=1124Mi",
)
EXCLUSIVE = "InPlacePodVerticalScalingExclusiveCPUs"
EXCLUSIVE_MEMORY = "InPlacePodVerticalScalingExclusiveMemory"
IN_PLACE = "InPlacePodVerticalScaling"
POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
DECLARED = "NodeDeclaredFeatures"
V35 = ("--kubelet-version", "1.35")
V36, V32 = ("--kubelet-version", "1.36"), ("--kubelet-version", "1.32")
GATES, SERVER = "--feature-gates", "--apiserver-feature-gates"
DB = ("-T", "db=2/2,1Gi")
MORE_CPUS = (*DB, "--set", "db:cpu=3")
WHOLE_POD = ("-f", "whole.json", "--set", "whole:cpu=3/4")
GATED: dict[str, tuple[tuple[str, ...], str]] = {
    "exclusive CPUs": ((*V36, *MORE_CPUS), f"{GATES} {EXCLUSIVE}=true"),
    "with another gate": (
        (*V36, *MORE_CPUS, GATES, "MemoryQoS=true"),
        f"{GATES} MemoryQoS=true,{EXCLUSIVE}=true",
    ),
    "switched off": (
        (*V36, *MORE_CPUS, GATES, f"{EXCLUSIVE}=false,MemoryQoS=true"),
        f"{GATES} MemoryQoS=true,{EXCLUSIVE}=true",
    ),
    "exclusive memory": (
        (*V36, *DB, "--set", "db:memory=2Gi", *MEMORY),
        f"{GATES} {EXCLUSIVE_MEMORY}=true",
    ),
    "an old release": (
        (*V32, *MORE_CPUS, GATES, f"{IN_PLACE}=true"),
        f"{GATES} {IN_PLACE}=true,{EXCLUSIVE}=true",
    ),
    "no resizes": ((*V32, *MORE_CPUS), f"{GATES} {IN_PLACE}=true,{EXCLUSIVE}=true"),
    "no resizes, the oldest": (("--kubelet-version", "1.27", *MORE_CPUS), f"{GATES} {IN_PLACE}=true"),
    "no resizes of shared CPUs": (
        (*V32, "-T", "db=1/2,1Gi", "--set", "db:cpu=2/3"),
        f"{GATES} {IN_PLACE}=true",
    ),
    "an API server with different gates": (
        (*V32, *MORE_CPUS, GATES, f"{IN_PLACE}=true", SERVER, f"{IN_PLACE}=false"),
        f"{SERVER} {IN_PLACE}=true {GATES} {IN_PLACE}=true,{EXCLUSIVE}=true",
    ),
    "pod-level resources": ((*V36, *WHOLE_POD, GATES, f"{POD_LEVEL}=false"), f"{GATES} {POD_LEVEL}=true"),
    "pod-level resources, before the release that enables what they need": (
        (*V35, *WHOLE_POD, GATES, "MemoryQoS=true"),
        f"{GATES} MemoryQoS=true,{DECLARED}=true,{POD_LEVEL}=true",
    ),
    "pod-level resources, by an older API server with different gates": (
        (*V35, *WHOLE_POD, GATES, f"{DECLARED}=true,{POD_LEVEL}=true", SERVER, f"{DECLARED}=false"),
        f"{SERVER} {DECLARED}=true,{POD_LEVEL}=true",
    ),
    "pod-level resources, by the kubelet": (
        (*V36, *WHOLE_POD, GATES, f"{POD_LEVEL}=false", SERVER, f"{POD_LEVEL}=true"),
        f"{GATES} {POD_LEVEL}=true",
    ),
    "pod-level resources, by an API server with different gates": (
        (*V36, *WHOLE_POD, SERVER, f"{POD_LEVEL}=false"),
        f"{SERVER} {POD_LEVEL}=true",
    ),
}
WHOLE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "whole"},
    "spec": {
        "resources": {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"cpu": 3, "memory": "1Gi"}},
        "containers": [{"name": "a"}, {"name": "b"}],
    },
}


def test_every_gate_that_a_resize_may_need_is_tested() -> None:
    named = (name for _, fix in GATED.values() for name in re.findall(r"(\w+)=true", fix))
    assert {*named} >= {*_NEEDED.values(), EXCLUSIVE_MEMORY}


@pytest.mark.parametrize("case", GATED)
def test_a_rejected_resize_names_its_gate(cpuctl: Cpuctl, tmp_path: Path, case: str) -> None:
    """The fix is applied in place of the given options: afterwards no gate is missing."""
    (tmp_path / "static.yaml").write_text(CONFIG)
    (tmp_path / "whole.json").write_text(json.dumps(WHOLE))
    given, fix = GATED[case]
    words = ("resize", "-q", "-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml")
    assert f"  fix: {fix}" in cpuctl(*words, *given, cwd=tmp_path, columns=300).out.splitlines()
    options = fix.split()[::2]
    places = [place for place, word in enumerate(given) if word in options]
    kept = [word for place, word in enumerate(given) if place not in (*places, *(n + 1 for n in places))]
    before, after = (
        json.loads(cpuctl(*words, *requested, "-o", "json", cwd=tmp_path).out)
        for requested in (given, (*kept, *fix.split()))
    )
    assert after["start"]["outcome"] == "Started"
    assert before["pods"][0]["needsGate"]
    assert after["pods"][0]["needsGate"] is None
