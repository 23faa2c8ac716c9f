"""Resizes rejected for lack of a feature gate: the proposed fix enables it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cpuctl.engine.resize.missing_gates import _NEEDED
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
V38, V36, V32 = (("--kubelet-version", release) for release in ("1.38", "1.36", "1.32"))
GATES, SERVER = "--feature-gates", "--apiserver-feature-gates"
DB = ("-T", "db=2/2,1Gi")
MORE_CPUS = (*DB, "--set", "db:cpu=3")
MORE_SHARED = ("-T", "db=500m/500m,1Gi", "--set", "db:cpu=700m")
SHARED = ("-T", "db=1/2,1Gi", "--set", "db:cpu=2/3")
WHOLE_POD = ("-f", "whole.json", "--set", "whole:cpu=3/4")
GATED: dict[str, tuple[tuple[str, ...], str]] = {
    "exclusive CPUs": ((*V38, *MORE_CPUS), f"{GATES} {EXCLUSIVE}=true"),
    "a preview of exclusive CPUs": ((*V36, *MORE_CPUS, "--preview"), f"{GATES} {EXCLUSIVE}=true"),
    "shared CPUs": ((*V36, *MORE_SHARED), f"{GATES} {EXCLUSIVE}=true"),
    "exclusive CPUs for the first time": (
        (*V36, "-T", "db=500m/500m,1Gi", "--set", "db:cpu=2"),
        f"{GATES} {EXCLUSIVE}=true",
    ),
    "with another gate": (
        (*V38, *MORE_CPUS, GATES, "MemoryQoS=true"),
        f"{GATES} MemoryQoS=true,{EXCLUSIVE}=true",
    ),
    "switched off": (
        (*V36, *MORE_SHARED, GATES, f"{EXCLUSIVE}=false,MemoryQoS=true"),
        f"{GATES} MemoryQoS=true,{EXCLUSIVE}=true",
    ),
    "no room yet": (
        (*V38, *DB, "-T", "web=12/12,1Gi", "--set", "db:cpu=4"),
        f"{GATES} {EXCLUSIVE}=true",
    ),
    "the memory of a pod with exclusive CPUs, before its own gate": (
        ("--kubelet-version", "1.33", *DB, "--set", "db:memory=2Gi", *MEMORY),
        f"{GATES} {EXCLUSIVE}=true",
    ),
    "exclusive memory": (
        (*V36, *DB, "--set", "db:memory=2Gi", *MEMORY),
        f"{GATES} {EXCLUSIVE_MEMORY}=true",
    ),
    "an old release": (
        (*V32, *MORE_SHARED, GATES, f"{IN_PLACE}=true"),
        f"{GATES} {IN_PLACE}=true,{EXCLUSIVE}=true",
    ),
    "no resizes": ((*V32, *MORE_SHARED), f"{GATES} {IN_PLACE}=true,{EXCLUSIVE}=true"),
    "no resizes, the oldest": (("--kubelet-version", "1.27", *MORE_SHARED), f"{GATES} {IN_PLACE}=true"),
    "no resizes of shared CPUs": (
        (*V32, *SHARED),
        f"{GATES} {IN_PLACE}=true",
    ),
    "an API server with different gates": (
        (*V32, *MORE_SHARED, GATES, f"{IN_PLACE}=true", SERVER, f"{IN_PLACE}=false"),
        f"{SERVER} {IN_PLACE}=true {GATES} {IN_PLACE}=true,{EXCLUSIVE}=true",
    ),
    "a kubelet with different gates": (
        (*V32, *SHARED, GATES, "MemoryQoS=true", SERVER, f"{IN_PLACE}=true"),
        f"{GATES} MemoryQoS=true,{IN_PLACE}=true",
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
HALF = {"limits": {"cpu": "500m", "memory": "1Gi"}}
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


AT_SERVER = "in the API server's --feature-gates"
AT_KUBELET = "under featureGates in the kubelet's configuration"


@pytest.mark.parametrize(
    ("releases", "places"),
    [
        (("1.35", "1.32"), AT_SERVER),
        (("1.32",), f"{AT_SERVER} and {AT_KUBELET}"),
        (("1.32", "1.32"), f"{AT_SERVER} and {AT_KUBELET}"),
        (("1.32", "1.33"), AT_KUBELET),
    ],
)
def test_a_fix_names_where_the_cluster_needs_the_gate(
    releases: tuple[str, ...], places: str, cpuctl: Cpuctl
) -> None:
    options = zip(("--kubelet-version", "--apiserver-version"), releases, strict=False)
    given = (word for option in options for word in option)
    words = ("resize", "-m", "synthetic:4c", "-T", "a=1/2,1Gi", "--set", "a:cpu=1/3")
    assert f"  (and the same {places})\n" in cpuctl(*words, *given, columns=300).out


USELESS: dict[str, tuple[str, ...]] = {
    "no allocator": (*V36, *MORE_CPUS),
    "no allocator, fewer CPUs": (*V36, *DB, "--set", "db:cpu=1"),
    "no allocator, and exclusive CPUs become shared": (*V36, *DB, "--set", "db:cpu=1500m"),
    "no allocator, and one NUMA node": (
        *(*V36, *MORE_CPUS),
        *("--kubelet-args", "--topology-manager-policy=restricted"),
    ),
    "no allocator in an old release": (*V32, *MORE_CPUS, GATES, f"{IN_PLACE}=true"),
    "no allocator, and no resizes": (*V32, *MORE_CPUS),
    "no allocator, and no resizes in the oldest": ("--kubelet-version", "1.27", *MORE_CPUS),
    "below the baseline": (*V38, *DB, "--set", "db:cpu=1"),
    "another class": (*V32, *DB, "--set", "db:cpu=2/6"),
}


@pytest.mark.parametrize("case", USELESS)
def test_no_gate_is_proposed_if_it_does_not_help(cpuctl: Cpuctl, tmp_path: Path, case: str) -> None:
    """The pod can only be recreated."""
    (tmp_path / "static.yaml").write_text(CONFIG)
    words = ("resize", "-q", "-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml")
    result = cpuctl(*words, *USELESS[case], "-o", "json", cwd=tmp_path)
    answer = json.loads(result.out)
    [pod] = answer["pods"]
    assert (result.code, pod["needsGate"], pod["fix"]) == (3, None, None)
    assert pod["outcome"] in ("Infeasible", "Forbidden")
    assert answer["next"] == "kubectl replace --force -f FILE"


def test_no_gate_is_proposed_if_a_policy_chooses_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Policies do not take part in resizes: with the gate there would be no answer at all."""
    (tmp_path / "static.yaml").write_text(CONFIG)
    words = ("resize", "-q", "-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml")
    result = cpuctl(*words, *V38, *MORE_CPUS, "--policy", "katalyst", "-o", "json", cwd=tmp_path)
    assert (result.code, json.loads(result.out)["pods"][0]["fix"]) == (3, None)


def test_an_edited_pod_on_standard_input(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Everything that is missing is found although the input can only be read once."""
    (tmp_path / "static.yaml").write_text(CONFIG)
    pods = ("-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml", *V32)
    whole = json.dumps(WHOLE | {"spec": {"containers": [{"name": "a", "resources": HALF}]}})
    (tmp_path / "whole.json").write_text(whole)
    words = ("resize", "-q", *pods, "-f", "whole.json", "--edited", "-")
    result = cpuctl(*words, cwd=tmp_path, stdin=whole.replace("500m", "700m").encode())
    assert f"  fix: {GATES} {IN_PLACE}=true,{EXCLUSIVE}=true" in result.out.splitlines()


NAMED_LIKE_A_GATE = f"""
apiVersion: v1
kind: ResourceQuota
metadata: {{name: {IN_PLACE} is off, namespace: default}}
spec: {{hard: {{requests.cpu: 2500m}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: db}}
spec:
  containers:
  - name: db
    image: x
    resources: {{limits: {{cpu: 2, memory: 1Gi}}}}
"""


def test_a_name_in_a_message_is_not_a_missing_gate(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "static.yaml").write_text(CONFIG)
    (tmp_path / "pods.yaml").write_text(NAMED_LIKE_A_GATE)
    words = ("resize", "-q", "-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml")
    result = cpuctl(*words, *V36, "-f", "pods.yaml", "--set", "db:cpu=3", "-o", "json", cwd=tmp_path)
    [pod] = json.loads(result.out)["pods"]
    assert (result.code, pod["outcome"], pod["needsGate"]) == (3, "Forbidden", None), result.err
    assert f"{IN_PLACE} is off" in pod["message"]


def test_a_gate_that_the_release_does_not_have_is_not_proposed(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "static.yaml").write_text(CONFIG)
    (tmp_path / "whole.json").write_text(json.dumps(WHOLE))
    words = ("resize", "-q", "-m", "synthetic:1s1n16c1t,mem=8Gi", "--kubelet-config", "static.yaml")
    older = ("--kubelet-version", "1.34", "--apiserver-version", "1.35")
    result = cpuctl(*words, *older, *WHOLE_POD, "-o", "json", cwd=tmp_path)
    [pod] = json.loads(result.out)["pods"]
    assert (result.code, pod["needsGate"], pod["fix"]) == (3, None, None), pod
