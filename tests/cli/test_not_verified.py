"""Every command notes the parts of its answer that no recording on that release confirms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Cpuctl

MACHINE = ("-m", "synthetic:1s1n8c1t,mem=16Gi")
STATIC = ("--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
POD = ("-T", "db=2/2,2Gi")
FOLLOWS = " (assumed to be as in 1.36, except for known differences)"
READ = " (from its source code)"

SAID: Mapping[str, tuple[tuple[str, ...], str]] = {
    "plan": (("plan", *MACHINE, *STATIC, *POD), f"on 1.37: admission{FOLLOWS}"),
    "plan with a policy": (
        ("plan", *MACHINE, "--kubelet-args", "--topology-manager-policy=restricted", *POD),
        f"on 1.37: admission, topology hints{FOLLOWS}",
    ),
    "advise": (("advise", *MACHINE, *STATIC, *POD, "--budget", "1"), f"on 1.37: admission{FOLLOWS}"),
    "explain": (("explain", *MACHINE, *STATIC, *POD), f"on 1.37: admission{FOLLOWS}"),
    "config show": (("config", "show", *MACHINE), f"on 1.37: the configuration{FOLLOWS}"),
    "config check": (("config", "check", *MACHINE), f"on 1.37: the configuration{FOLLOWS}"),
    "config reserve": (
        ("config", "reserve", *MACHINE, "--reserved-cpus", "2"),
        f"on 1.37: the configuration{FOLLOWS}",
    ),
    "topology": (("topology", "show", *MACHINE, "--numa-memory"), f"on 1.37: memory on NUMA nodes{FOLLOWS}"),
    "resize, 1.29": (
        ("resize", *MACHINE, *STATIC, *POD, "--set", "db:cpu=3"),
        f"on 1.29: in-place resizes{READ}",
    ),
    "pods show, 1.29": (
        ("pods", "show", *POD),
        f"on 1.29: QoS classes and OOM scores, cgroup values{READ}",
    ),
    "pods lint, 1.30": (("pods", "lint", "-f", "fixtures/pods"), f"on 1.30: pod validation{READ}"),
}


@pytest.mark.parametrize("name", SAID)
def test_unverified_parts_are_noted(name: str, cpuctl: Cpuctl) -> None:
    words, expected = SAID[name]
    version = name.partition(", ")[2] or "1.37"
    result = cpuctl(*words, "--kubelet-version", version)
    assert f"note: not verified {expected}\n" in result.err, result
    answer = json.loads(cpuctl(*words, "--kubelet-version", version, "-o", "json").out)
    assert answer["sources"]["notVerified"] == {"value": expected, "from": "default"}


@pytest.mark.parametrize("name", SAID)
def test_everything_is_verified_on_1_36(name: str, cpuctl: Cpuctl) -> None:
    assert "not verified" not in cpuctl(*SAID[name][0], "--kubelet-version", "1.36").err


def test_both_sides_of_a_comparison(cpuctl: Cpuctl) -> None:
    reported = f"note: not verified on 1.37: admission{FOLLOWS}"
    assert reported in cpuctl("plan", *MACHINE, *POD, "--compare", "1.34", "1.37").err
    assert "not verified" not in cpuctl("plan", *MACHINE, *POD, "--compare", "1.34", "1.35").err
    words = ("config", "versions", *MACHINE, "--from", "1.36", "--to", "1.37")
    assert f"on 1.37: the configuration{FOLLOWS}" in cpuctl(*words).err
    assert f"on 1.37: admission, the configuration{FOLLOWS}" in cpuctl(*words, *POD).err


def test_state_files(cpuctl: Cpuctl, tmp_path: Path) -> None:
    assert cpuctl("plan", *MACHINE, *STATIC, *POD, "--write-state", str(tmp_path)).code == 0
    words = ("checkpoint", "verify", str(tmp_path), *MACHINE, *STATIC, "--kubelet-version")
    assert f"on 1.38: state files{FOLLOWS}" in cpuctl(*words, "1.38").err
    assert "not verified" not in cpuctl(*words, "1.31").err


def test_every_release_of_a_timeline(cpuctl: Cpuctl, tmp_path: Path) -> None:
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": "synthetic:1s1n4c1t",
        "kubelet": {"version": "1.35"},
        "pods": ["a=2/2,1Gi"],
        "events": [
            {"at": "0s", "admit": "a"},
            {"at": "5s", "resize": {"pod": "a", "cpu": 1}},
            {"at": "9s", "kubelet": {"action": "upgrade", "version": "1.37"}},
        ],
    }
    (tmp_path / "timeline.yaml").write_text(yaml.safe_dump(timeline))
    reported = cpuctl("replay", "timeline.yaml", cwd=tmp_path)
    assert (
        f"on 1.35: in-place resizes{READ}; on 1.37: admission, in-place resizes{FOLLOWS}" in reported.err
    ), reported


def test_unverified_differences_are_marked(cpuctl: Cpuctl) -> None:
    reported = cpuctl("config", "versions", *MACHINE, "--from", "1.34", "--to", "1.35").out
    assert "1.35, configuration (not verified)\n" in reported
