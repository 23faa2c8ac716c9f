"""``plan -o nri``: what a plug-in would answer, container by container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import ROOT, Cpuctl
from tests.support.schemas import follow_schema

TWO = str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz")
SINGLE = ("--kubelet-config", str(ROOT / "fixtures/kubelet/single-numa-node.yaml"))
V36 = ("--kubelet-version", "1.36")


def planned(cpuctl: Cpuctl, *words: str, code: int = 0) -> Any:
    result = cpuctl("plan", "-m", TWO, *V36, "-q", "-o", "nri", *words)
    assert result.code == code, result
    answer = json.loads(result.out)
    follow_schema(answer, "nriplan")
    return answer


def adjusted(answer: Any) -> dict[str, Any]:
    return {
        each["match"]["container"]: each["adjust"]["linux"]["resources"]["cpu"] if each["adjust"] else None
        for each in answer["answers"]
    }


def updated(each: Any) -> dict[str, str]:
    return {one["match"]["container"]: one["linux"]["resources"]["cpu"]["cpus"] for one in each["update"]}


def test_each_container_gets_what_the_kubelet_would_give_it(cpuctl: Cpuctl) -> None:
    answer = planned(cpuctl, *SINGLE, "-T", "a=4/4,1Gi", "-T", "b=1/2,1Gi", "-T", "c=2/2,1Gi")
    assert (answer["kind"], answer["start"]) == ("NRIPlan", {"outcome": "Started"})
    assert adjusted(answer) == {
        "a": {"cpus": "2-5", "mems": "0"},
        "b": {"cpus": "0-1,6-31"},
        "c": {"cpus": "6-7", "mems": "0"},
    }
    assert answer["answers"][0]["match"] == {"namespace": "default", "pod": "a", "container": "a"}
    assert [updated(each) for each in answer["answers"]] == [{}, {}, {"b": "0-1,8-31"}]


def test_pods_that_run_share_what_is_left(tmp_path: Path, cpuctl: Cpuctl) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
        "status": {"phase": "Running"},
        "spec": {"containers": [{"name": "app"}], "initContainers": [{"name": "first"}]},
    }
    (tmp_path / "pods.json").write_text(json.dumps(pod))
    answer = planned(cpuctl, *SINGLE, "--pods", str(tmp_path / "pods.json"), "-T", "a=4/4,1Gi")
    assert answer["answers"][0]["update"] == [
        {
            "match": {"namespace": "shop", "pod": "web", "container": "app"},
            "linux": {"resources": {"cpu": {"cpus": "0-1,6-31"}}},
        }
    ]


def test_without_a_static_policy_containers_pass_untouched(cpuctl: Cpuctl) -> None:
    none = planned(cpuctl, "--kubelet-args", "--cpu-manager-policy=none", "-T", "a=4/4,1Gi x2")
    assert [(each["adjust"], each["update"]) for each in none["answers"]] == [({}, []), ({}, [])]


def test_pods_that_are_not_admitted_have_no_answer(cpuctl: Cpuctl) -> None:
    rejected = planned(cpuctl, *SINGLE, "-T", "wide=16/16,1Gi", "-T", "a=2/2,1Gi", code=3)
    assert list(adjusted(rejected)) == ["a"]
    refused = planned(cpuctl, "--kubelet-args", "--cpu-manager-policy=static", "-T", "a=1/1", code=3)
    assert (refused["start"]["outcome"], refused["answers"]) == ("Refused", [])
    both = cpuctl("plan", "-m", TWO, *V36, *SINGLE, "-T", "a=1/1", "-o", "nri", "--compare", ".", "1.37")
    assert (both.code, "-o nri: cannot be used with --compare" in both.err) == (2, True)


def test_who_else_writes_cpu_sets_is_told(cpuctl: Cpuctl) -> None:
    words = ("plan", "-m", TWO, *V36, "-o", "nri", "-T", "a=4/4,1Gi")
    assert "note: the kubelet's static policy writes CPU sets, too" in cpuctl(*words, *SINGLE).err
    none = ("--kubelet-args", "--cpu-manager-policy=none")
    assert "writes CPU sets" not in cpuctl(*words, *none).err


def test_what_another_policy_decides_can_be_carried_out(cpuctl: Cpuctl) -> None:
    words = (*SINGLE, "-T", "a=4/4,1Gi", "--policy", "koordinator,bind=spread")
    other = adjusted(planned(cpuctl, *words))["a"]["cpus"]
    plan = json.loads(cpuctl("plan", "-m", TWO, *V36, "-q", "-o", "json", *words).out)
    assert other == plan["pods"][0]["containers"][0]["cpus"] != "2-5"
