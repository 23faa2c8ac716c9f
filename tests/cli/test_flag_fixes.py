"""Fixes of settings that a kubelet's flags set, beside a file that is right: followed, the kubelet starts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_fixes import HEAD

MACHINE = "synthetic:2s2n8c2t,mem=64Gi"
FILE = HEAD | {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0,16",
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "featureGates": {"PodLevelResources": True},
}


def followed(flags: str, fix: str) -> str:
    """Change the flags, each in one word, as a fix says."""
    words = {word.partition("=")[0]: word.partition("=")[2] for word in flags.split()}
    for step in fix.split("; "):
        if value := re.match(r"set (--[\w-]+)=(\S+?)(?:,? |$)", step):
            words[value[1]] = value[2]
        elif members := re.match(r"set (\S+) in (--[\w-]+)", step):
            given = dict(each.split("=") for each in words[members[2]].split(","))
            given |= dict(each.split("=") for each in members[1].split(","))
            words[members[2]] = ",".join(f"{name}={value}" for name, value in given.items())
        elif removed := re.search(r"remove ([\w.-]+) from (--[\w-]+)", step):
            kept = [each for each in words[removed[2]].split(",") if not re.match(rf"{removed[1]}\b", each)]
            words[removed[2]] = ",".join(kept)
        elif listed := re.search(
            r"(--reserved-cpus) \(a list such as 0\)|list only online CPUs in (--\S+)", step
        ):
            words[listed[1] or listed[2]] = "0"
        elif not step.startswith("for a list of CPUs"):
            raise AssertionError(step)
    return " ".join(f"{name}={value}" for name, value in words.items())


@pytest.mark.parametrize(
    ("flags", "release", "fix"),
    [
        ("--topology-manager-policy=Restricted", "1.36", "set --topology-manager-policy=restricted"),
        ("--topology-manager-scope=Pod", "1.36", "set --topology-manager-scope=pod"),
        ("--cpu-manager-policy=statik", "1.36", "set --cpu-manager-policy=static"),
        ("--memory-manager-policy=none", "1.36", "set --memory-manager-policy=None"),
        ("--reserved-cpus=0", "1.36", "set --reserved-cpus=0,16"),
        ("--reserved-cpus=", "1.36", "reserve CPUs: set --reserved-cpus (a list such as 0), "),
        ("--reserved-cpus=0-50", "1.36", "list only online CPUs in --reserved-cpus; "),
        ("--eviction-hard=memory.available<110%", "1.36", "remove memory.available from --eviction-hard"),
        (
            "--topology-manager-policy-options=max-allowable-numa-nodes=4",
            "1.36",
            "remove max-allowable-numa-nodes from --topology-manager-policy-options: the default is 8",
        ),
        (
            (
                "--feature-gates=CPUManagerPolicyAlphaOptions=false "
                "--cpu-manager-policy-options=distribute-cpus-across-cores=true"
            ),
            "1.32",
            "set CPUManagerPolicyAlphaOptions=true in --feature-gates",
        ),
        (
            "--feature-gates=PodLevelResources=false,PodLevelResourceManagers=true",
            "1.36",
            "set PodLevelResources=true in --feature-gates",
        ),
        (
            "--enforce-node-allocatable=pods,system-reserved",
            "1.36",
            "set systemReservedCgroup, or remove system-reserved from --enforce-node-allocatable",
        ),
    ],
)
def test_the_flag_is_changed_that_a_kubelet_prefers_to_its_file(
    flags: str, release: str, fix: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    (tmp_path / "k.json").write_text(json.dumps(FILE))
    words = ("config", "check", "-q", "-m", MACHINE, "--kubelet-config", str(tmp_path / "k.json"))
    given = (*words, "--kubelet-version", release, "--kubelet-args")
    reported = [line for line in cpuctl(*given, flags, columns=400).out.splitlines() if fix in line]
    assert reported
    changed = cpuctl(*given, followed(flags, reported[0].removeprefix("  fix: ")), columns=400).out
    assert " would start." in changed
    assert fix not in changed


def test_where_a_gate_is_set_is_its_flag(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(json.dumps(FILE))
    words = ("config", "check", "-q", "-m", MACHINE, "--kubelet-config", str(tmp_path / "k.json"))
    flags = ("--kubelet-version", "1.36", "--kubelet-args", "--feature-gates=PodLevelResources=false")
    assert "\n  where: --feature-gates: featureGates.PodLevelResources\n" in cpuctl(*words, *flags).out
