"""Rejected pods in a plan: they have no CPUs, and the plan proposes a command that explains the rejection."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

ON = ("-m", "synthetic:1s1n4c2t,mem=8Gi")
KUBELET = "--cpu-manager-policy=static --reserved-cpus=0 --cpu-manager-policy-options=full-pcpus-only=true"


def pods(directory: Path) -> str:
    """Write a pod whose second container is rejected, and another pod."""
    first, second, web = ({"limits": {"cpu": count, "memory": "1Gi"}} for count in ("2", "3", "2"))
    containers = [{"name": "first", "resources": first}, {"name": "second", "resources": second}]
    objects = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": listed}}
        for name, listed in (("odd", containers), ("web", [{"name": "web", "resources": web}]))
    ]
    file = directory / "pods of two.yaml"
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    return str(file)


@pytest.mark.parametrize("form", ["table", "wide"])
def test_a_rejected_pod_has_no_cpus_in_the_table(cpuctl: Cpuctl, tmp_path: Path, form: str) -> None:
    out = cpuctl("plan", "-q", *ON, "--kubelet-args", KUBELET, "-f", pods(tmp_path), "-o", form).out
    (row,) = [line.split() for line in out.splitlines() if re.match("default/odd +[a-z]+ ", line)]
    assert row == ["default/odd", "second", "rejected"]


def test_no_answer_gives_resources_to_a_rejected_pod(cpuctl: Cpuctl, tmp_path: Path) -> None:
    reserved = (
        "--system-reserved=memory=1Mi --eviction-hard=memory.available<1Mi --reserved-memory=0:memory=2Mi"
    )
    memory = f"--memory-manager-policy=Static {reserved}"
    requested = (*ON, "--kubelet-args", f"{KUBELET} {memory}", "-f", pods(tmp_path))
    odd, web = json.loads(cpuctl("plan", *requested, "-o", "json").out)["pods"]
    assert odd["outcome"] == "Rejected"
    assert odd["containers"] == [{"name": "first", "kind": "app", "exclusive": None}]
    assert web["containers"][0]["memory"]["blocks"]
    explained = json.loads(cpuctl("explain", "odd", *requested, "-o", "json").out)
    assert explained["pod"] == odd
    compared = json.loads(
        cpuctl("plan", *requested, "--compare", ".", "cpuManagerPolicy=none", "-o", "json").out
    )
    (first,) = (each for each in compared["pods"][0]["containers"] if each["name"] == "first")
    assert (first["a"], first["onlyA"]) == (None, "")


def test_the_proposed_command_explains_the_rejection(cpuctl: Cpuctl, tmp_path: Path) -> None:
    words = ("plan", *ON, "--kubelet-args", KUBELET, "-f", pods(tmp_path))
    command = json.loads(cpuctl(*words, "-o", "json").out)["explain"]
    assert f"Next, to see why and what would help: {command}" in cpuctl(*words).out.splitlines()
    name, *requested = shlex.split(command)
    explained = cpuctl(*requested)
    assert name == "cpuctl"
    assert explained.code == 3
    assert explained.out.split()[:2] == ["POD", "default/odd"]


@pytest.mark.parametrize(
    "more",
    [
        ("--order", "largest-first"),
        ("--compare", "kubeReserved.cpu=1", "kubeReserved.cpu=2"),
    ],
    ids=["another order", "settings that no flag has"],
)
def test_no_command_is_proposed_if_it_would_see_a_different_node(
    cpuctl: Cpuctl, tmp_path: Path, more: tuple[str, ...]
) -> None:
    words = ("plan", *ON, "--kubelet-args", KUBELET, "-f", pods(tmp_path), *more)
    assert "cpuctl explain" not in cpuctl(*words).out
    assert "explain" not in json.loads(cpuctl(*words, "-o", "json").out)


def test_the_proposed_command_has_a_file_in_place_of_stdin(cpuctl: Cpuctl, tmp_path: Path) -> None:
    text = Path(pods(tmp_path)).read_bytes()
    result = cpuctl("plan", *ON, "--kubelet-args", KUBELET, "-f", "-", stdin=text)
    assert result.code == 3
    assert "cpuctl explain default/odd" in result.out
    assert result.out.endswith(" -f FILE\nFILE: what was read from standard input, saved to a file\n")


def test_an_admitted_plan_has_nothing_to_explain(cpuctl: Cpuctl) -> None:
    assert "cpuctl explain" not in cpuctl("plan", *ON, "--kubelet-args", KUBELET, "-T", "web=2/2,1Gi").out
