"""CPUs that a kubelet assigns twice where cores differ in size (kubernetes issue 124066) are always named.

CPU 15 of one node and CPU 31 of the other are offline.
"""

from __future__ import annotations

import json
import re
import shlex
import tarfile
from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from tests.cli.conftest import ROOT, Cpuctl
from tests.support.manifests import exclusive_manifest
from tests.support.state_files import V36, write_pods

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
    named = (
        "also held by another pod: shop/database (CPU 2), telco/gateway (CPU 2): if cores or sockets differ"
    )
    for command in ("plan", "explain"):
        result = cpuctl(command, *again(TWO), "-T", "a=1/1,1Mi")
        assert result.err.count(named) == 1, result.err
    answer = answer_of(cpuctl, "explain", "telco/gateway", *again(TWO))
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


def test_replicas_get_the_largest_request_that_shares_no_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Between requests that all replicas could have, there are some with which they would share CPUs."""
    for node, version, template, best in (
        (TWO, "1.34", "web=4/4,64Mi x2", "3"),
        (EIGHT, "1.31", "big=8/8,64Mi x3", "5"),
    ):
        root = tmp_path / Path(node).name
        root.mkdir()
        with tarfile.open(ROOT / node / "node.tar.xz") as archive:
            archive.extractall(root, filter="data")
        running = ("--kubelet-version", version, "--pods", f"{node}/pods.json")
        cpuctl("checkpoint", "repair", "--root", str(root), *running, "--yes")
        answer = answer_of(cpuctl, "explain", "-m", str(root), *running, "-T", template)
        found = [
            each["change"]["amounts"][0]["after"]
            for each in answer["suggestions"]
            if each["kind"] == "request"
        ]
        assert found == [best], answer["suggestions"]
        planned = answer_of(
            cpuctl, "plan", "-m", str(root), *running, "-T", re.sub("=./.", f"={best}/{best}", template)
        )
        assert {each["outcome"] for each in planned["pods"]} == {"Admitted"}
        assert not planned["warnings"]


def test_rejected_pods_take_no_cpus(cpuctl: Cpuctl) -> None:
    plan = answer_of(cpuctl, "plan", *again(TWO), "-f", "fixtures/pods")
    rejected = {pod["name"] for pod in plan["pods"] if pod["outcome"] == "Rejected"}
    assert rejected
    assert not [each for each in plan["warnings"] if each["pod"].partition("/")[2] in rejected]


def pods_json(path: Path, sizes: Mapping[str, int], node: str = "") -> str:
    """Write running Guaranteed pods with these CPUs."""
    pods = (exclusive_manifest(name, cpus, namespace="d", node=node) for name, cpus in sizes.items())
    return str(write_pods(path, *pods))


SINGLE = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
topologyManagerPolicy: single-numa-node
evictionHard: {memory.available: 16Mi}
failCgroupV1: false
"""


def test_no_setting_is_proposed_after_which_running_pods_share_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """With the policy none, both running pods would get CPU 2 again."""
    (tmp_path / "k.yaml").write_text(SINGLE)
    pods = pods_json(tmp_path / "pods.json", {"p1": 2, "p2": 2})
    node = ("-m", f"{TWO}/node.tar.xz", "--state", "none", "--kubelet-config", str(tmp_path / "k.yaml"))
    words = ("explain", "c", *node, "--pods", pods, "-T", "c=8/8,1Mi")
    answer = answer_of(cpuctl, *words)
    settings = [each["change"]["after"] for each in answer["suggestions"] if each["kind"] == "setting"]
    assert settings == ["best-effort"]
    pods = pods_json(tmp_path / "more.json", {"p1": 2, "p2": 3, "p3": 5, "p4": 3})
    answer = answer_of(cpuctl, "explain", "d/p4", *node, "--pods", pods)
    assert answer["pod"]["outcome"] == "Rejected"
    (search,) = [each for each in answer["searches"] if each["kind"] == "setting"]
    assert (search["found"], search["sharesCPUs"]) == (0, True)
    shown = cpuctl("explain", "d/p4", *node, "--pods", pods, columns=160).out
    assert "never admitted with CPUs of its own (tried all; " in shown


def test_other_commands_name_shared_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node, new = again(EIGHT), ("-T", "a=3/3,10Mi")
    taken = "CPU 2, which it gets, is reserved or held by another pod"
    assert taken in cpuctl("advise", *node, *new, "--defragment").out
    assert answer_of(cpuctl, "advise", *node, *new, "--defragment")["sharedCPUs"] == "2"
    largest = answer_of(cpuctl, "advise", *node, "--defragment", "--budget", "9")
    assert (largest["largest"]["now"], largest["sharedCPUs"]) == (22, "2")
    compared = cpuctl("plan", *node, *new, "--compare", ".", "restricted").out
    assert "\nA: warning: pod default/a gets CPU 2, which is" in compared
    assert "B: warning" not in compared
    few = ("advise", *node, *new, "--budget", "9")
    assert answer_of(cpuctl, *few)["current"]["service"]["overlappingPods"] == 2
    assert "With the current settings" in cpuctl(*few).out
    resized = cpuctl("resize", *again(TWO), "--set", "shop/database:cpu=4")
    assert "also held by another pod: shop/database (CPU 2), telco/gateway (CPU 2)" in resized.err


def test_a_replay_names_shared_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    timeline = {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": str(ROOT / TWO / "node.tar.xz"),
        "kubelet": {"version": "1.36", "config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}},
        "pods": ["a=2,1Mi"],
        "events": [{"at": "0s", "admit": "a"}],
        "until": "1s",
    }
    (tmp_path / "t.yaml").write_text(json.dumps(timeline))
    result = cpuctl("replay", str(tmp_path / "t.yaml"), columns=160)
    assert "is admitted: a 0-1; CPU 0 is reserved or held by another pod" in result.out, result.err


def test_a_fleet_names_shared_cpus(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "hybrid").mkdir()
    with tarfile.open(ROOT / EIGHT / "node.tar.xz") as archive:
        archive.extractall(tmp_path / "hybrid", filter="data")
    for state in tmp_path.rglob("*_state"):
        state.unlink()
    pods = ("-T", "d=2/2,1Mi", "-T", "g=4/4,1Mi", "-T", "a=3/3,10Mi")
    result = cpuctl("fleet", "plan", str(tmp_path), *pods)
    assert "warning: pod default/a gets CPU 2 on hybrid, which is reserved or held by" in result.err
    running = pods_json(tmp_path / "running.json", {"p1": 2, "p2": 4, "p3": 3}, node="hybrid")
    result = cpuctl("fleet", "plan", str(tmp_path / "hybrid"), "--pods", running, "-T", "b=1/1,1Mi")
    assert "warning: hybrid: the exclusive CPUs of some pods are reserved or also held" in result.err


def test_a_given_state_is_not_blamed_on_cores_of_one_size(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A state file may assign a CPU twice, whatever the machine, also to a pod that no longer runs."""
    (tmp_path / "k.yaml").write_text(SINGLE)
    pods = pods_json(tmp_path / "pods.json", {"p1": 1})
    entries = {"p1": {"c": CPUSet.parse("2")}, "gone": {"c": CPUSet.parse("2")}}
    state = CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse("0-1,3-7"), entries=entries)
    (tmp_path / "cpu_manager_state").write_text(write_cpu_state(state, V36))
    node = ("-m", "synthetic:1s1n8c1t,mem=4Gi", "--kubelet-config", str(tmp_path / "k.yaml"))
    result = cpuctl("plan", *node, "--state", str(tmp_path), "--pods", pods, "-T", "a=1/1,1Mi")
    assert "also held by another pod: d/p1 (CPU 2), gone (CPU 2)\n" in result.err
    assert "differ in size" not in result.err


def test_running_pods_with_reserved_cpus_keep_the_kubelet_from_restarting(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    (tmp_path / "k.yaml").write_text(SINGLE.replace("0-1", "'0'").replace("single-numa-node", "none"))
    pods = pods_json(tmp_path / "pods.json", {"p1": 2})
    node = ("-m", f"{TWO}/node.tar.xz", "--state", "none", "--kubelet-config", str(tmp_path / "k.yaml"))
    result = cpuctl("plan", *node, "--pods", pods, "-T", "a=1/1,1Mi", "--write-state", str(tmp_path / "s"))
    assert "d/p1 (CPU 0)" in result.err
    assert "the kubelet does not restart with its own cpu_manager_state" in result.err
    verified = cpuctl(
        "checkpoint", "verify", str(tmp_path / "s"), *node[:2], *node[4:], "--kubelet-version", "1.36"
    )
    assert (verified.code, "would not start" in verified.out) == (3, True)


def test_reserved_cpus_that_may_be_assigned_are_named_with_the_consequence(cpuctl: Cpuctl) -> None:
    flags = "--cpu-manager-policy=static --reserved-cpus=0"
    node = ("-m", "synthetic:2s2n8c2t,near,offline=9", "--kubelet-args", flags)
    made = cpuctl("checkpoint", "new", *node, "--kubelet-version", "1.35", columns=400)
    assert "CPU 0 may be assigned to a pod although it is reserved: if cores or sockets" in made.out
    assert "; the kubelet then does not restart with its own cpu_manager_state" in made.out


def test_a_socket_that_counts_as_free_is_noticed(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """All cores have one thread, but a socket with four CPUs offline lowers the average to six."""
    entries, free = {"a": {"c": "0-1"}}, "2-8,13-15"
    state = {"policyName": "static", "defaultCpuSet": free, "entries": entries, "checksum": 0}
    (tmp_path / "cpu_manager_state").write_text(json.dumps(state))
    flags = "--cpu-manager-policy=static --reserved-cpus=8"
    node = ("-m", "synthetic:2s2n8c1t,mem=16Gi,offline=9-12", "--kubelet-args", flags)
    words = ("checkpoint", "verify", str(tmp_path), *node, "--kubelet-version", "1.35")
    found = {each["code"]: each["message"] for each in answer_of(cpuctl, *words)["findings"]}
    assert found["may-be-shared"].startswith("CPUs 0-1 may be assigned to a pod although they are held by")


def test_cpus_that_may_be_assigned_a_second_time_are_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """With one CPU per core on average, a core of which one CPU is free counts as free."""
    state = ("--write-state", str(tmp_path / "s"))
    node = ("-m", f"{TWO}/node.tar.xz", "--state", "none")
    assert cpuctl("plan", *node, "-T", "a=2/2,1Mi", *state).code == 0
    words = ("checkpoint", "verify", str(tmp_path / "s"), *node[:2], "--kubelet-version", "1.36")
    found = {each["code"]: each["message"] for each in answer_of(cpuctl, *words)["findings"]}
    planned = answer_of(cpuctl, "plan", *node[:2], "--state", str(tmp_path / "s"), "-T", "c=2/2,1Mi")
    shared = "CPU 2 may be assigned to a pod although it is held by another pod: if cores or sockets"
    assert found["may-be-shared"].startswith(shared)
    assert [each["takenCPUs"] for each in planned["warnings"]] == ["2"]


def test_new_files_that_their_own_kubelet_rejects_lead_to_the_plan(cpuctl: Cpuctl) -> None:
    """There is nothing to repair: the plan names the pod that got a reserved CPU."""
    flags = "--cpu-manager-policy=static --reserved-cpus=0"
    node = ("-m", "synthetic:2s2n8c2t,near,offline=9", "--kubelet-args", flags)
    made = cpuctl("checkpoint", "new", *node, "--kubelet-version", "1.35", "-T", "a=2/2,1Mi x3", columns=400)
    assert made.code == 3
    assert "or the kubelet assigned them itself (kubernetes issue 124066)" in made.out
    assert "repair" not in made.out
    command = made.out.splitlines()[-1].removeprefix("Next, to see which pods get which CPUs: ")
    planned = cpuctl(*shlex.split(command)[1:], columns=400)
    assert "pod default/a-0 gets CPU 0, which is reserved or held by another pod" in planned.out
    assert re.findall(r"^default/\S+", made.out, re.MULTILINE) == [f"default/a-{n}" for n in range(3)]
