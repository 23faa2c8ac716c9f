"""``plan -o nri`` and ``replay -o nri``: what a plugin would answer for each container."""

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


def test_running_pods_share_what_is_left(tmp_path: Path, cpuctl: Cpuctl) -> None:
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


def test_without_a_static_policy_containers_are_not_adjusted(cpuctl: Cpuctl) -> None:
    none = planned(cpuctl, "--kubelet-args", "--cpu-manager-policy=none", "-T", "a=4/4,1Gi x2")
    assert [(each["adjust"], each["update"]) for each in none["answers"]] == [({}, []), ({}, [])]


def test_pods_that_are_not_admitted_have_no_answer(cpuctl: Cpuctl) -> None:
    rejected = planned(cpuctl, *SINGLE, "-T", "wide=16/16,1Gi", "-T", "a=2/2,1Gi", code=3)
    assert list(adjusted(rejected)) == ["a"]
    refused = planned(cpuctl, "--kubelet-args", "--cpu-manager-policy=static", "-T", "a=1/1", code=3)
    assert (refused["start"]["outcome"], refused["answers"]) == ("Rejected", [])
    both = cpuctl("plan", "-m", TWO, *V36, *SINGLE, "-T", "a=1/1", "-o", "nri", "--compare", ".", "1.37")
    assert (both.code, "-o nri: cannot be used with --compare" in both.err) == (2, True)


def test_a_note_says_that_the_kubelet_also_writes_cpu_sets(cpuctl: Cpuctl) -> None:
    words = ("plan", "-m", TWO, *V36, "-o", "nri", "-T", "a=4/4,1Gi")
    assert "note: the kubelet's static policy also writes CPU sets" in cpuctl(*words, *SINGLE).err
    none = ("--kubelet-args", "--cpu-manager-policy=none")
    assert "writes CPU sets" not in cpuctl(*words, *none).err


def test_decisions_of_another_policy_can_be_applied(cpuctl: Cpuctl) -> None:
    words = (*SINGLE, "-T", "a=4/4,1Gi", "--policy", "koordinator,bind=spread")
    other = adjusted(planned(cpuctl, *words))["a"]["cpus"]
    plan = json.loads(cpuctl("plan", "-m", TWO, *V36, "-q", "-o", "json", *words).out)
    assert other == plan["pods"][0]["containers"][0]["cpus"] != "2-5"


HOURS = """\
apiVersion: cpuctl/v1alpha1
kind: Timeline
machine: synthetic:1s1n4c2t
kubelet:
  version: "1.36"
  config: {cpuManagerPolicy: static, reservedSystemCPUs: "0,4"}
pods: ["web=0.5/1,1Gi", "db=2/2,1Gi"]
events:
- {at: 0s, admit: web}
- {at: 1s, admit: db, expect: {containers: {db/db: {cpus: "1,5"}}}}
- {at: 2s, exit: {container: web/web, code: 1}}
- {at: 3s, kubelet: stop}
- {at: 4s, remove: db}
- {at: 5s, kubelet: start}
until: 20s
"""


def test_a_timeline_is_answered_event_by_event(tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "hours.yaml").write_text(HOURS)
    result = cpuctl("replay", str(tmp_path / "hours.yaml"), "-o", "nri")
    assert result.code == 0, result
    assert "note: answers follow each decision at once" in result.err
    answer = json.loads(result.out)
    follow_schema(answer, "nrireplay")
    reported = [
        (each["at"], each["event"], each.get("match", {}).get("pod", ""), cpus_of(each), updated(each))
        for each in answer["answers"]
    ]
    assert reported == [
        ("0s", "CREATE_CONTAINER", "web", "0-7", {}),
        ("1s", "CREATE_CONTAINER", "db", "1,5", {"web": "0,2-4,6-7"}),
        ("2s", "STOP_CONTAINER", "web", "", {}),
        ("2s", "CREATE_CONTAINER", "web", "0,2-4,6-7", {}),
        ("5s", "STOP_CONTAINER", "db", "", {}),
        ("5s", "UPDATE_CONTAINERS", "", "", {"web": "0-7"}),
    ]


def cpus_of(each: Any) -> str:
    return str(each["adjust"]["linux"]["resources"]["cpu"]["cpus"]) if each.get("adjust") else ""


def test_a_failed_expectation_of_a_timeline_exits_with_3(tmp_path: Path, cpuctl: Cpuctl) -> None:
    (tmp_path / "hours.yaml").write_text(HOURS.replace('cpus: "1,5"', 'cpus: "2,6"'))
    result = cpuctl("replay", str(tmp_path / "hours.yaml"), "-o", "nri", "-q")
    assert (result.code, result.err) == (3, "")
    (failure,) = json.loads(result.out)["expectations"]["failures"]
    assert (failure["expected"], failure["found"]) == ("2,6", "1,5")
    live = cpuctl("replay", str(tmp_path / "hours.yaml"), "-o", "nri", "--follow")
    assert (live.code, "-o nri" in live.err) == (2, True)
