"""What the KEPs say about a configuration or a plan, on its own line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

HYBRID = "synthetic:1s1n8c1t,pcores=0-3,ecores=4-7"
KUBELET = "--cpu-manager-policy=static --reserved-cpus=0"


def checked(cpuctl: Cpuctl, directory: Path, settings: str, *words: str) -> str:
    config = directory / "kubelet.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n{settings}\n"
    )
    words = ("config", "check", "-m", "synthetic:8c", "--kubelet-config", str(config), *words)
    return cpuctl(*words, columns=400).out


@pytest.mark.parametrize(
    "settings",
    [
        "cpuManagerPolicyOptions: {numMinSharedCPUs: '2'}",
        "cpuManagerPolicyOptions: {strict-cpu-reservation: {enable: 'true', numMinSharedCPUs: 4}}",
        "numMinSharedCPUs: 2",
    ],
)
def test_the_archived_idea_of_kep_4540_is_reported_as_such(
    settings: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    out = checked(cpuctl, tmp_path, settings)
    assert "an option that KEP-4540 proposed but no kubelet has; instead, the metric" in out


@pytest.mark.parametrize(("delay", "reported"), [("100us", True), ("500ms", False), ("1.5s", False)])
def test_delays_below_a_millisecond_are_not_covered_by_kep_6122(
    delay: str, reported: bool, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    gates = "CPUManagerPolicyAlphaOptions=true,InPlacePodVerticalScalingExclusiveCPUs=true"
    settings = f"cpuManagerPolicyOptions: {{scale-delay-time: {delay}}}"
    out = checked(cpuctl, tmp_path, settings, "--kubelet-version", "1.38", "--feature-gates", gates)
    assert "announced (KEP-6122)" in out
    assert ("the KEP mentions seconds and milliseconds" in out) is reported


@pytest.mark.parametrize(("cpus", "fast", "slow"), [("3", "", ""), ("5", "1-3", "4-5")])
def test_a_plan_names_containers_on_cores_of_both_kinds(
    cpus: str, fast: str, slow: str, cpuctl: Cpuctl
) -> None:
    words = ("plan", "-q", "-m", HYBRID, "--kubelet-args", KUBELET, "-T", f"web={cpus}/{cpus},1Gi")
    warnings = json.loads(cpuctl(*words, "-o", "json").out)["warnings"]
    found = [(each["performanceCPUs"], each["efficiencyCPUs"]) for each in warnings if "container" in each]
    assert found == ([(fast, slow)] if fast else [])
    line = "container web spans performance cores (CPUs 1-3) and efficiency cores (CPUs 4-5)"
    assert (line in cpuctl(*words, columns=300).out) is bool(fast)


def test_an_explanation_names_cores_of_both_kinds(cpuctl: Cpuctl) -> None:
    words = ("explain", "web", "-q", "-m", HYBRID, "--kubelet-args", KUBELET, "-T", "web=5/5,1Gi")
    (found,) = json.loads(cpuctl(*words, "-o", "json").out)["mixedCores"]
    assert (found["container"], found["performanceCPUs"], found["efficiencyCPUs"]) == ("web", "1-3", "4-5")
    line = "CORES   container web spans performance cores (CPUs 1-3) and efficiency cores (CPUs 4-5)"
    assert line in cpuctl(*words, columns=300).out


POD_LEVEL = """apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}
  containers: [{name: app, image: x}]
"""


def test_lint_warns_of_all_managers_that_ignore_a_pod_as_show_does(cpuctl: Cpuctl, tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(POD_LEVEL)
    words = (
        "--kubelet-config",
        "fixtures/pod-level/kubelet.yaml",
        "--feature-gates",
        "PodLevelResourceManagers=false",
    )
    shown = json.loads(cpuctl("pods", "show", "-f", str(pods), *words, "-o", "json").out)
    linted = json.loads(cpuctl("pods", "lint", "-f", str(pods), *words, "-o", "json").out)
    notices = shown["pods"][0]["warnings"]
    assert [notice.partition(" alignment")[0].split()[-1] for notice in notices] == [
        "CPU",
        "memory",
        "topology",
    ]
    found = [
        each["message"].removeprefix("spec.resources: ")
        for each in linted["findings"]
        if each["code"] == "pod-level-not-aligned"
    ]
    assert found == notices


def test_masks_are_accepted_like_lists_and_printed_on_request(cpuctl: Cpuctl) -> None:
    machine = ("-m", "synthetic:1s1n40c1t,isolated=32-35", "-q")
    listed = cpuctl("topology", "show", *machine, "--cpus", "32-35", "-o", "json").out
    table = cpuctl("topology", "show", *machine, "--cpus", "32-35").out.splitlines()
    assert [line.split()[0] for line in table] == ["CPU", "32", "33", "34", "35"]
    assert "has no CPU 64: expected CPUs from 0-39" in cpuctl("topology", *machine, "--cpus", "64").err
    assert cpuctl("topology", "show", *machine, "--cpus", "0xf,00000000", "-o", "json").out == listed
    assert "Mask isolated:     0000000f,00000000" in cpuctl("topology", "show", *machine, "-o", "wide").out
    words = ("plan", *machine, "--kubelet-args", KUBELET, "-T", "web=3/3,1Gi", "-o", "wide")
    (row,) = (line for line in cpuctl(*words, columns=300).out.splitlines() if " web " in line)
    assert row.split()[-5:-3] == ["Guaranteed", "0000000e"]


def test_strict_reservation_works_with_uncore_caches(cpuctl: Cpuctl) -> None:
    """KEP-4540, "Test Plan": CPUs come from one cache, and none of them is reserved."""
    options = ("strict-cpu-reservation", "prefer-align-cpus-by-uncorecache")
    flags = " ".join(f"--cpu-manager-policy-options={option}=true" for option in options)
    kubelet = f"--cpu-manager-policy=static --reserved-cpus=0-1 {flags}"
    words = ("plan", "-q", "-m", "synthetic:1s1n8c1t,l3=2", "--kubelet-args", kubelet, "-T", "web=4/4,1Gi")
    plan = json.loads(cpuctl(*words, "-o", "json").out)
    (container,) = plan["pods"][0]["containers"]
    assert (container["cpus"], container["alignment"]["uncoreCache"]) == ("4-7", True)
    assert plan["after"]["sharedPool"] == "2-3"
