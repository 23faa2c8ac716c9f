"""CPUs that a kubelet assigns twice where cores differ in size (kubernetes issue 124066) are always named.

CPU 15 of one node and CPU 31 of the other are offline.
"""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from cpuctl.cpuset import CPUSet
from tests.cli.conftest import Cpuctl

TWO, EIGHT = "fixtures/nodes/v2-2-numa", "fixtures/nodes/hybrid-8-numa"
ISSUE = "kubernetes issue 124066"


def again(node: str) -> tuple[str, ...]:
    """Allocate to a node's running pods again."""
    return "-m", f"{node}/node.tar.xz", "--pods", f"{node}/pods.json", "--state", "none"


def answer_of(cpuctl: Cpuctl, *words: str) -> Any:
    return json.loads(cpuctl(*words, "-o", "json").out)


def test_explain_warns_like_plan(cpuctl: Cpuctl) -> None:
    new = ("-T", "a=3/3,800Mi")
    plan = answer_of(cpuctl, "plan", *again(EIGHT), *new)
    answer = answer_of(cpuctl, "explain", *again(EIGHT), *new)
    (warning,) = plan["warnings"]
    assert (warning["takenCPUs"], ISSUE in warning["message"]) == ("2", True)
    assert answer["warnings"] == [warning]
    (placed,) = answer["pod"]["containers"]
    assert placed["cpus"] == "2-3,8"
    assert [each["cpus"] for each in placed["steps"]] == ["2-3", "8"]
    assert "WARNING pod default/a gets CPU 2" in cpuctl("explain", *again(EIGHT), *new).out


def test_running_pods_that_share_exclusive_cpus_are_named(cpuctl: Cpuctl) -> None:
    named = "reserved: shop/database (CPU 2), telco/gateway (CPU 2): if cores differ in size"
    for command in ("plan", "explain"):
        result = cpuctl(command, *again(TWO), "-T", "a=1/1,1Mi")
        assert result.err.count(named) == 1, result.err
    answer = answer_of(cpuctl, "explain", "shop/database", *again(TWO))
    assert [each["takenCPUs"] for each in answer["warnings"]] == ["2"]


def test_running_pods_that_share_cpus_in_a_state_file_are_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    written = cpuctl("plan", *again(TWO), "-T", "a=1/1,1Mi", "--write-state", str(tmp_path / "state"))
    assert written.code == 0, written.err
    node = ("-m", f"{TWO}/node.tar.xz", "--state", str(tmp_path / "state"))
    assert "CPU 2" in cpuctl("plan", *node, "-T", "b=1/1,1Mi").err


def test_no_move_and_no_change_leads_to_shared_cpus(cpuctl: Cpuctl) -> None:
    capacity = answer_of(cpuctl, "plan", *again(TWO), "-f", "fixtures/pods", "--capacity")
    moved = [each for each in capacity["capacity"]["remedies"] if each["remedy"] == "moves"]
    for each in moved:
        sets = [each["cpus"], *(pod["cpusAfter"] for pod in each["evicted"])]
        masks = [CPUSet.parse(text).mask for text in sets]
        assert sum(mask.bit_count() for mask in masks) == reduce(or_, masks).bit_count()
    new = ("-T", "a=2/2,8Mi", "-T", "b=9/9,8Mi")
    answer = answer_of(cpuctl, "explain", "b", *again(TWO), *new)
    held = {each["pod"]: CPUSet.parse(each["cpus"]).mask for each in answer["holders"]}
    requests = [each for each in answer["suggestions"] if each["kind"] == "request"]
    for each in requests:
        got = CPUSet.parse(each["containers"][0].get("cpus", "")).mask
        assert not any(got & cpus for cpus in held.values()), each


def test_rejected_pods_take_no_cpus(cpuctl: Cpuctl) -> None:
    plan = answer_of(cpuctl, "plan", *again(TWO), "-f", "fixtures/pods")
    rejected = {pod["name"] for pod in plan["pods"] if pod["outcome"] == "Rejected"}
    assert rejected
    assert not [each for each in plan["warnings"] if each["pod"].partition("/")[2] in rejected]
