"""Nodes that a kubelet could not distinguish, and what makes others odd."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cpuctl.fleet.collection import Recording
from cpuctl.fleet.facts import content_digest
from cpuctl.fleet.listing import NodeLister, fleet_document
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.pods import load_pods
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import Planning, PlanningInputs
from tests.capture.node_texts import written
from tests.machine.sysfs_writer import without_memory

STATIC = "--cpu-manager-policy=static --reserved-cpus=0-1"


def document(*sources: str, pods: tuple[str, ...] = (), arguments: str = STATIC) -> Any:
    kubelet = KubeletInputs(arguments=arguments)
    ask = NodeLister(kubelet)
    rows = [ask(Recording(f"n{number}", source)) for number, source in enumerate(sources, 1)]
    return fleet_document(rows, PlanningInputs(kubelet=kubelet), load_pods([], pods, Sources(), needed=False))


def groups(answer: Any) -> list[list[str]]:
    return [group["nodes"] for group in answer["groups"]]


def differences(answer: Any, place: int = 1) -> dict[str, tuple[str, str]]:
    return {each["fact"]: (each["here"], each["there"]) for each in answer["groups"][place]["differences"]}


def test_the_largest_group_comes_first_and_others_are_compared_with_it() -> None:
    answer = document("synthetic:2s2n8c1t", "synthetic:2s2n8c2t", "synthetic:2s2n8c2t")
    assert groups(answer) == [["n2", "n3"], ["n1"]]
    assert answer["summary"] == {
        "nodes": 3,
        "groups": 2,
        "outliers": 1,
        "wouldNotStart": 0,
        "undetermined": 0,
        "unreadable": 0,
    }
    assert answer["groups"][0]["comparedWith"] is None
    assert answer["groups"][1]["comparedWith"] == "n2"
    assert differences(answer)["CPUs"] == ("16", "32")


@pytest.mark.parametrize(
    ("odd", "fact", "here", "there"),
    [
        ("synthetic:2s2n8c2t,hugepages-1Gi=2", "NUMA node 0 hugepages-1Gi", "2", ""),
        ("synthetic:2s2n8c2t,mem=32Gi", "memory", "68719476736", "137438953472"),
        ("synthetic:2s2n8c2t,near", "cores", "0-1 2-3", "0,16 1,17"),
        ("synthetic:2s2n8c2t,l3=4", "L3 0 CPUs", "0-3,16-19", ""),
        ("synthetic:2s2n8c2t,distances=10+31/31+10", "NUMA node 0 distances", "10 31", "10 21"),
    ],
)
def test_every_fact_that_a_kubelet_sees_makes_a_difference(
    odd: str, fact: str, here: str, there: str
) -> None:
    usual = "synthetic:2s2n8c2t,mem=64Gi" if "mem" in odd else "synthetic:2s2n8c2t"
    answer = document(usual, usual, odd)
    assert groups(answer) == [["n1", "n2"], ["n3"]]
    found = differences(answer)[fact]
    assert (found[0].startswith(here), found[1].startswith(there)) == (True, True), found


def test_memory_that_varies_between_boots_is_the_same() -> None:
    answer = document(
        "synthetic:2s2n8c2t,mem=65536Mi", "synthetic:2s2n8c2t,mem=65530Mi", "synthetic:2s2n8c2t,mem=64000Mi"
    )
    assert groups(answer) == [["n1", "n2"], ["n3"]]


def test_nodes_without_local_memory_are_the_same() -> None:
    nodes = document(*["synthetic:2s2n8c2t,mem=64Gi/0"] * 2)
    assert groups(nodes) == [["n1", "n2"]]


def test_a_group_is_compared_with_the_most_similar_one() -> None:
    answer = document(
        *["synthetic:1s1n4c1t"] * 3, *["synthetic:2s8n32c2t"] * 2, "synthetic:2s8n32c2t,hugepages-1Gi=4"
    )
    assert [group["comparedWith"] for group in answer["groups"]] == [None, "n1", "n4"]
    assert list(differences(answer, 2)) == [f"NUMA node {node} hugepages-1Gi" for node in range(8)]


def test_different_placements_of_pods_are_detected() -> None:
    fleet = ("synthetic:2s2n8c2t", "synthetic:2s2n8c2t", "synthetic:2s2n8c2t,near")
    placed = document(*fleet, pods=("a=2/2,1Gi",))["groups"][1]["placements"]
    assert placed == {"differ": True, "pods": ["default/a"]}
    shared = document(*fleet, pods=("a=1/2,1Gi",))["groups"][1]["placements"]
    assert shared == {"differ": False, "pods": []}


def test_if_it_is_unknown_whether_kubelets_start_placements_are_unknown_too(tmp_path: Path) -> None:
    unknown = [str(written(without_memory(each), tmp_path / each)) for each in ("1s1n8c1t", "1s1n4c1t")]
    reserved = f"{STATIC} --kube-reserved=memory=1Gi"
    answer = document(*unknown, pods=("a=2/2,1Gi",), arguments=reserved)
    assert answer["summary"]["undetermined"] == 2
    assert answer["groups"][1]["placements"] == {"differ": None, "pods": []}
    answer = document("synthetic:1s1n8c1t", unknown[0], pods=("a=2/2,1Gi",), arguments=reserved)
    assert answer["groups"][1]["placements"]["differ"] is None


def test_a_kubelet_that_does_not_start_is_counted() -> None:
    answer = document("synthetic:1s1n1c1t", "synthetic:1s1n8c1t")
    assert answer["summary"]["wouldNotStart"] == 1
    assert answer["nodes"][0]["free"] is None
    assert answer["nodes"][1]["free"] == {"exclusiveCPUs": 6, "cpuList": "2-7", "largestOnOneNode": 6}


def test_a_configuration_that_cannot_be_loaded_is_reported_as_refused() -> None:
    answer = document("synthetic:1s1n8c1t", arguments="--no-such-flag=1 --cpu-manager-policy=static")
    (node,) = answer["nodes"]
    assert (node["start"]["outcome"], node["kubelet"]) == ("Rejected", None)
    assert node["machine"]["cpus"] == 8


def test_equal_nodes_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from cpuctl.fleet import listing

    decided: list[object] = []
    once = listing._decide

    def counting(planning: Planning) -> object:
        decided.append(planning)
        return once(planning)

    monkeypatch.setattr(listing, "_decide", counting)
    document(*["synthetic:2s2n8c2t"] * 5)
    assert len(decided) == 1


def test_equal_content_has_the_same_digest_in_every_process() -> None:
    """Class decisions and answer keys must not depend on how strings are stored or hashed."""
    text = (
        "from cpuctl.fleet.facts import content_digest as d; b = str(123); s = frozenset(map(str, range(9)))"
    )
    one, other = (
        subprocess.run(
            [sys.executable, "-c", f"{text}; print(d((s, {pair})))"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, pair in (("1", "b, b"), ("2", "b, str(123)"))
    )
    assert one == other
    assert content_digest({1, 2}) != content_digest({1, 3})
