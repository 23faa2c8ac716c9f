"""What ``cpuctl checkpoint repair`` does for running pods: it keeps those that a kubelet can keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints.model import FROM_NODE, CPUStateFile
from tests.cli.conftest import Cpuctl
from tests.support.state_files import KUBELET, MACHINE, cpus, pod, write_pods, write_states

V36 = ("--kubelet-version", "1.36")
SINGLE = "--cpu-manager-policy=static --reserved-cpus=0,8 --topology-manager-policy=single-numa-node"


def repaired(
    directory: Path, cpuctl: Cpuctl, held: dict[str, str], requests: dict[str, int], machine: str = MACHINE
) -> Any:
    """Repair what pods of one container hold; they run in the given order."""
    whole = cpus("0-15")
    for text in held.values():
        whole -= cpus(text)
    entries = {uid: {"c": cpus(text)} for uid, text in held.items()}
    state = CPUStateFile(policy_name="static", default_cpu_set=whole, entries=entries)
    write_states(directory / "state", state, None)
    write_pods(directory / "pods.json", *(pod(name, name, "c", count, 1) for name, count in requests.items()))
    kubelet = SINGLE if machine.startswith(MACHINE) else SINGLE.replace("0,8", "0")
    words = ("-m", machine, "--kubelet-args", kubelet, *V36, "--pods", "pods.json", "-o", "json")
    answer = cpuctl("checkpoint", "repair", "state", *words, cwd=directory)
    assert answer.out, answer
    return json.loads(answer.out)


def actions(answer: Any) -> list[tuple[str, str, str, str, str]]:
    return [
        (each["kind"], each["holder"]["pod"], each["before"], each["after"], each["reason"])
        for each in answer["files"][0]["actions"]
        if each["holder"]
    ]


def rejected(answer: Any) -> dict[str, str]:
    """Return the pods that a restarted kubelet would reject, each with the fix."""
    return {
        each["message"].partition(" is running")[0]: each["fix"]
        for each in answer["proof"]["findings"]
        if each["code"] == "rejected-again"
    }


@pytest.mark.parametrize("has_other_pods", [True, False])
def test_nothing_is_repaired_for_the_pods_of_another_node(
    cpuctl: Cpuctl, tmp_path: Path, has_other_pods: bool
) -> None:
    """According to their list, every pod that holds something is gone: all entries would be removed."""
    write_states(tmp_path / "state")
    others = [pod("uid-elsewhere", "x", "c", 1, 1)] if has_other_pods else []
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": others}))
    node = ("-m", MACHINE, "--kubelet-args", KUBELET, "--kubelet-version", "1.36")
    for words in ((), ("--yes", "-q")):
        result = cpuctl("checkpoint", "repair", "state", *node, "--pods", "pods.json", *words, cwd=tmp_path)
        assert result.code == 4
        assert result.err.startswith("error: pods.json: none of these pods is in the state files\nhint: ")
    assert [*(tmp_path / "state").glob("*.bak")] == []


def test_a_pod_moves_as_a_whole_if_a_restart_would_reject_it_in_parts(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """No other CPU is free on its NUMA node: a mix of CPUs of two nodes is rejected."""
    answer = repaired(tmp_path, cpuctl, {"a": "1-3,9-11"}, {"a": 6}, f"{MACHINE},offline=3")
    why = "CPU 3 is not online; a restarted kubelet would reject the pod if it kept its other CPUs"
    assert actions(answer) == [("moved", "a", "1-3,9-11", "4-6,12-14", why)]
    assert answer["proof"]["findings"] == []


def test_a_container_that_holds_too_much_gives_up_what_another_pod_holds(
    tmp_path: Path, cpuctl: Cpuctl
) -> None:
    """Otherwise the other pod, which holds what it requests, would have to move."""
    answer = repaired(tmp_path, cpuctl, {"a": "1,4,9", "b": "4,12"}, {"a": 2, "b": 2})
    why = "CPU 4 is also held by another pod, and the container requests 2"
    assert actions(answer) == [("released", "a", "1,4,9", "1,9", why)]
    assert answer["proof"]["findings"] == []


@pytest.mark.parametrize("order", ["abc", "bac"])
def test_a_pod_makes_room_for_another_one(order: str, tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A small pod could stay, but only on the other NUMA node does it leave enough for a large one."""
    held, requests = {"a": "1-2", "b": "3-6", "c": "8-13"}, {"a": 2, "b": 4, "c": 6}
    machine = "synthetic:2s2n8c1t,offline=2+6"
    answer = repaired(tmp_path, cpuctl, held, {name: requests[name] for name in order}, machine)
    why = "CPU 2 is not online; it makes room for a pod that a restarted kubelet would reject otherwise"
    assert ("moved", "a", "1-2", "14-15", why) in actions(answer)
    assert rejected(answer) == {}


def test_pods_are_placed_as_far_as_there_is_room(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """No NUMA node has room for the large one: the small one is kept all the same."""
    held, requests = {"a": "1-2", "b": "3-7", "c": "8-12"}, {"a": 2, "b": 5, "c": 5}
    answer = repaired(tmp_path, cpuctl, held, requests, "synthetic:2s2n8c1t,offline=2+6-7")
    assert set(rejected(answer)) == {"shop/b"}


def test_pods_that_fit_only_on_an_empty_node_are_said_to(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """A repair keeps what other pods hold; on an empty node, all get their CPUs again."""
    held = {"a": "1,9", "b": "4,12", "c": "16-23"}
    removed = f"remove shop/c {FROM_NODE}, and repair again with a new list of its pods (the other pods stay)"
    drained = "drain the node and delete its state files (then all running pods fit)"
    for last, fix in ((8, f"{removed}, or {drained}"), (10, removed)):
        answer = repaired(tmp_path, cpuctl, held, {"a": 2, "b": 2, "c": last})
        assert rejected(answer) == {"shop/c": fix}


def test_the_pod_to_remove_is_the_one_without_which_most_others_stay(tmp_path: Path, cpuctl: Cpuctl) -> None:
    """Too few CPUs are left for all: without the large pod, both others keep theirs."""
    held = {"a": "1-2", "b": "3-7,13-14", "c": "8-12"}
    answer = repaired(
        tmp_path, cpuctl, held, {"a": 2, "b": 7, "c": 5}, "synthetic:2s2n8c1t,offline=6+7+14+15"
    )
    assert answer["files"][0]["fix"].startswith(
        f"remove shop/b {FROM_NODE}, list its pods again, then cpuctl checkpoint repair"
    )
