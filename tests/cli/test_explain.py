"""``cpuctl explain``: which pod is meant, what people and scripts read, and suggestions that work."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cpuctl.engine.state_start import StateStart, start_on
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from tests.cli.conftest import Cpuctl, Result
from tests.support.schemas import follow_schema

NODE = ("-q", "-m", "synthetic:2s2n8c2t,mem=16Gi")
STATIC = "--cpu-manager-policy=static --reserved-cpus=0,16"
MEMORY = (
    f"{STATIC} --memory-manager-policy=Static --kube-reserved=memory=924Mi "
    "--eviction-hard=memory.available<100Mi '--reserved-memory=0:memory=512Mi;1:memory=512Mi'"
)
RESTRICTED = "--topology-manager-policy=restricted"
BEST_EFFORT = "--topology-manager-policy=best-effort"
RESIZES = "InPlacePodVerticalScalingExclusiveCPUs=true"
SINGLE = "--topology-manager-policy=single-numa-node"
ENDLESS = (
    "--cpu-manager-policy=static --reserved-cpus=0,8,16,24 "
    "--cpu-manager-policy-options=full-pcpus-only=true "
    "--cpu-manager-policy-options=distribute-cpus-across-numa=true"
)


def arguments(*flags: str) -> tuple[str, str]:
    return "--kubelet-args", " ".join(flags)


def pods(**sizes: str) -> tuple[str, ...]:
    return tuple(word for name, size in sizes.items() for word in ("-T", f"{name}={size}"))


ANSWERS: Mapping[str, tuple[str, ...]] = {
    "width from capacity": (
        *NODE,
        *arguments(STATIC, RESTRICTED),
        *pods(a="10/10,1Gi", b="10/10,1Gi", c="8/8,1Gi"),
    ),
    "policy filter": (*NODE, *arguments(STATIC, SINGLE), *pods(wide="18/18,1Gi")),
    "mask inequality": (*NODE, *arguments(MEMORY, RESTRICTED), *pods(a="2/2,20Gi")),
    "group rule": (*NODE, *arguments(MEMORY, RESTRICTED), *pods(a="1/1,256Mi", b="8/8,18Gi")),
    "group rule, wide": (
        *NODE,
        *arguments(MEMORY, RESTRICTED),
        *pods(a="1/1,256Mi", b="8/8,18Gi"),
        "-o",
        "wide",
    ),
    "node fit": (*NODE, *arguments(STATIC), *pods(a="20/20,1Gi", b="500m/500m,40Gi")),
    "endless loop": ("-q", "-m", "synthetic:2s4n16c2t", *arguments(ENDLESS), *pods(gateway="54/54,1Gi")),
    "failed before": (
        *("web", "-q", "-m", "synthetic:2s4n16c2t"),
        *arguments(ENDLESS),
        *pods(gateway="54/54,1Gi", web="2/2,1Gi"),
    ),
    "nothing helps": (
        *NODE,
        *arguments(STATIC),
        *pods(**{f"p{n}": "6/6,1Gi" for n in range(5)}, last="31/31,99Gi"),
    ),
    "many holders": (
        *NODE,
        *arguments(STATIC, RESTRICTED),
        *pods(big="20/20,1Gi"),
        "-T",
        "w=2/2,1Gi x12",
        "big",
    ),
    "admitted": (*NODE, *arguments(STATIC, RESTRICTED), *pods(a="5/5,1Gi")),
    "admitted, not aligned": (
        *("c", *NODE),
        *arguments(STATIC, "--topology-manager-policy=best-effort"),
        *pods(a="10/10,1Gi", b="10/10,1Gi", c="8/8,1Gi"),
    ),
    "admitted, shared": (*NODE, *arguments(STATIC), *pods(a="500m/1,1Gi")),
    "one container": (
        *("shop/database/server", "-q", "-m", "fixtures/machines/2s-2numa-32cpu.tar.xz"),
        *("--kubelet-config", "fixtures/kubelet/static.yaml", "-f", "fixtures/pods"),
    ),
    "devices": (
        *("-q", "-m", "fixtures/machines/2s-2numa-32cpu.tar.xz"),
        *("--kubelet-config", "fixtures/kubelet/static.yaml", *arguments(RESTRICTED)),
        *("--devices", "fixtures/devices/two-nodes.yaml", "-f", "fixtures/devices/pods.yaml"),
    ),
    "divided": (
        *NODE,
        *arguments(STATIC, RESTRICTED, "--topology-manager-scope=pod"),
        *("--feature-gates", "PodLevelResourceManagers=true", "-f", "-"),
    ),
    "undetermined": (
        "-q",
        "-m",
        "synthetic:1s1n4c2t",
        *arguments("--cpu-manager-policy=static --reserved-cpus=0"),
        "-f",
        "-",
    ),
    "a resize is pending": (
        *("shop/database", "-q", "-m", "synthetic:2s2n6c2t,mem=64Gi"),
        *arguments("--cpu-manager-policy=static --reserved-cpus=0,12", BEST_EFFORT),
        *("--kubelet-version", "1.38", "--feature-gates", RESIZES),
        *("--state", "fixtures/resize/grown", "--pods", "fixtures/resize/pending.json"),
    ),
    "not started": ("-q", "-m", "synthetic:1c", *arguments("--cpu-manager-policy=static"), *pods(a="1/1")),
}
DEVICE = b"""
apiVersion: v1
kind: Pod
metadata: {name: gpu}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 2, memory: 1Gi, example.com/gpu: 1}}
"""


DIVIDED = b"""
apiVersion: v1
kind: Pod
metadata: {name: divided}
spec:
  resources: {limits: {cpu: 4, memory: 4Gi}}
  containers:
  - name: main
    resources: {limits: {cpu: 4, memory: 2Gi}}
  - name: shared
"""


def explain(cpuctl: Cpuctl, *words: str, **settings: Any) -> Result:
    stdin = DIVIDED if "--feature-gates" in words else DEVICE
    return cpuctl("explain", *words, stdin=stdin, **settings)


def document(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = explain(cpuctl, *words, "-o", "json")
    assert result.out, result.err
    answer: dict[str, Any] = json.loads(result.out)
    return answer


_WHOLE = ("cpuctl explain", "The kubelet", "  see: cpuctl config check ", "Next, ")
"""Prefixes of lines that are not wrapped: commands to copy, and the kubelet's own text."""


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", ANSWERS)
def test_what_people_see(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = explain(cpuctl, *ANSWERS[name], columns=width)
    assert str(result) == snapshot
    lines = [line for line in result.out.splitlines() if not line.startswith(_WHOLE)]
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(name: str, cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS[name])
    follow_schema(answer, "explanation")
    assert yaml.safe_load(explain(cpuctl, *ANSWERS[name], "-o", "yaml").out) == answer


@pytest.mark.parametrize("name", [name for name, words in ANSWERS.items() if "-T" in words])
def test_it_agrees_with_a_plan(name: str, cpuctl: Cpuctl) -> None:
    words = ANSWERS[name][0:] if ANSWERS[name][0].startswith("-") else ANSWERS[name][1:]
    words = tuple(word for word in words if word not in ("big", "wide"))
    plan = json.loads(cpuctl("plan", *(word for word in words if word != "-o"), "-o", "json").out)
    answer = document(cpuctl, *ANSWERS[name])
    if plan["start"]["outcome"] == "Started":
        mine = [pod for pod in plan["pods"] if pod["uid"] == answer["pod"]["uid"]]
        assert [answer["pod"]] == mine


def test_memory_is_shown_as_of_admission_for_requested_resources(cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS["group rule"])
    assert [(node["numaNode"], node["group"], node["assignments"]) for node in answer["memory"]] == [
        (0, "0", 1),
        (1, "1", 0),
    ]
    (first,), (second,) = (node["resources"] for node in answer["memory"])
    assert (first["resource"], second["resource"]) == ("memory", "memory")
    assert second["free"] - first["free"] == 256 << 20
    assert document(cpuctl, *ANSWERS["admitted"])["memory"] == []


EXITS = {
    "admitted": (ANSWERS["admitted"], 0),
    "rejected": (ANSWERS["width from capacity"], 3),
    "rejected, with --exit-zero": ((*ANSWERS["width from capacity"], "--exit-zero"), 0),
    "hangs": (ANSWERS["endless loop"], 3),
    "undetermined": (ANSWERS["undetermined"], 3),
    "not started": (ANSWERS["not started"], 3),
}


@pytest.mark.parametrize("name", EXITS)
def test_exit_codes(name: str, cpuctl: Cpuctl) -> None:
    words, code = EXITS[name]
    assert explain(cpuctl, *words).code == code


@pytest.mark.parametrize(
    "name", ["width from capacity", "policy filter", "mask inequality", "group rule", "endless loop"]
)
def test_the_command_of_a_suggested_setting_admits_the_pod(name: str, cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS[name])
    commands = [each["command"] for each in answer["suggestions"] if each["kind"] == "setting"]
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[:2] == ["cpuctl", "explain"]
        again = json.loads(cpuctl(*words[1:], "-q", "-o", "json").out)["pod"]
        assert (again["uid"], again["outcome"]) == (answer["pod"]["uid"], "Admitted"), command


def test_a_request_that_is_suggested_admits_the_pod(cpuctl: Cpuctl) -> None:
    base = (*NODE, *arguments(STATIC, RESTRICTED), *pods(a="10/10,1Gi", b="10/10,1Gi"))
    answer = document(cpuctl, *base, *pods(c="8/8,1Gi"))
    (amount,) = answer["suggestions"][0]["change"]["amounts"]
    assert (amount["before"], amount["after"]) == ("8", "6")
    assert explain(cpuctl, *base, *pods(c="6/6,1Gi"), "c").code == 0
    assert explain(cpuctl, *base, *pods(c="7/7,1Gi"), "c").code == 3


def test_a_suggested_removal_has_a_command(cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS["width from capacity"])
    removals = [each["command"] for each in answer["suggestions"] if each["kind"] == "removal"]
    assert removals == ["kubectl -n default delete pod a", "kubectl -n default delete pod b"]


def test_without_a_name_the_first_pod_that_is_not_admitted_is_explained(cpuctl: Cpuctl) -> None:
    words = (*NODE, *arguments(STATIC), *pods(fits="2/2,1Gi", first="64/64,1Gi", second="64/64,1Gi"))
    assert document(cpuctl, *words)["pod"]["name"] == "first"
    assert document(cpuctl, "second", *words)["pod"]["name"] == "second"
    assert document(cpuctl, "second", *words)["query"]["podsBefore"] == 2


def test_a_pod_is_found_by_name_full_name_container_or_uid(cpuctl: Cpuctl) -> None:
    words = (*NODE, *arguments(STATIC), "-f", "fixtures/pods")
    by_name = document(cpuctl, "database", *words)
    assert by_name["pod"]["namespace"] == "shop"
    for text in ("shop/database", by_name["pod"]["uid"]):
        assert document(cpuctl, text, *words) == by_name
    assert document(cpuctl, "shop/database/server", *words)["query"]["container"] == "server"


USAGE = {
    "an unknown pod": (
        "nobody",
        'there is no pod "nobody"',
        "known pods: default/a, default/b, default/x-0, default/x-1",
    ),
    "a workload": ("x", 'there is no pod "x"', "did you mean one of default/x-0, default/x-1?"),
    "a workload's full name": (
        "default/x",
        'there is no pod "default/x"',
        "did you mean one of default/x-0, ",
    ),
    "a near name": ("x-2", 'there is no pod "x-2"', "did you mean"),
    "no such container": ("default/a/side", "pod default/a has no container 'side'", "its containers: a"),
    "too many parts": ("a/b/c/d", "expected a pod name, found 'a/b/c/d'", "write NAME"),
    "an empty part": ("/a", "expected a pod name, found '/a'", "write NAME"),
    "no name": (
        "",
        "all 4 pods are admitted: nothing to explain",
        "choose one to explain: default/a, default/b, default/x-0, default/x-1",
    ),
}


@pytest.mark.parametrize("name", USAGE)
def test_an_invalid_pod_name_is_an_error(name: str, cpuctl: Cpuctl) -> None:
    text, message, hint = USAGE[name]
    given = (*pods(a="1/1,1Gi", b="1/1,1Gi"), "-T", "x=1/1,1Gi x2")
    result = explain(cpuctl, *([text] if text else []), *NODE, *arguments(STATIC), *given)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert hint in result.err


def pod_manifest(name: str, namespace: str, cpus: int = 1, **more: str) -> dict[str, Any]:
    limits = {"cpu": cpus, "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **more},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
    }


def manifests(path: Path, *items: dict[str, Any]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def test_ambiguous_names_are_an_error(cpuctl: Cpuctl, tmp_path: Path) -> None:
    twice = pod_manifest("twin", "two")
    file = manifests(tmp_path / "pods.json", pod_manifest("twin", "one"), twice, twice)
    by_name = explain(cpuctl, "twin", *NODE, *arguments(STATIC), "-f", file)
    assert by_name.code == 2
    assert "'twin' matches 3 pods: one/twin, two/twin (UID " in by_name.err
    assert explain(cpuctl, "one/twin", *NODE, *arguments(STATIC), "-f", file).code == 0
    assert explain(cpuctl, "two/twin", *NODE, *arguments(STATIC), "-f", file).code == 2


def test_control_characters_in_names_do_not_reach_the_terminal(cpuctl: Cpuctl) -> None:
    result = explain(cpuctl, "a\x1b[31m", *NODE, *arguments(STATIC), *pods(a="1/1,1Gi"))
    assert result.code == 2
    assert "\x1b" not in result.err


def test_no_pods_at_all(cpuctl: Cpuctl) -> None:
    result = explain(cpuctl, *NODE, *arguments(STATIC))
    assert result.code == 2
    assert "no pods" in result.err


class Running:
    """A node with a state file, whose kubelet counts whole cores before it checks what a pod already has."""

    def __init__(self, cpuctl: Cpuctl, tmp_path: Path) -> None:
        flags = arguments(
            "--cpu-manager-policy=static --reserved-cpus=0,5",
            "--cpu-manager-policy-options=full-pcpus-only=true",
        )
        self.words: tuple[str, ...] = ("-q", "-m", "synthetic:1s1n5c2t,mem=64Gi", *flags)
        self.pods = manifests(
            tmp_path / "running.json",
            pod_manifest("old", "prod", 2, uid="old"),
            pod_manifest("large", "prod", 4, uid="large"),
        )
        cpuctl("plan", *self.words, "-f", self.pods, "--write-state", str(tmp_path))
        self.words += ("--state", str(tmp_path), "--pods", self.pods)


def test_a_running_pod_is_explained_as_after_a_restart(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node = Running(cpuctl, tmp_path)
    answer = document(cpuctl, "large", *node.words)
    assert answer["query"] == {"container": None, "restarted": True, "podsBefore": 1}
    assert answer["decision"]["rule"] == "freeCores"
    assert "129078" in json.dumps(answer["defects"])
    assert {each["text"] for each in answer["suggestions"]} == {
        'set cpuManagerPolicyOptions: full-pcpus-only: "false" (now "true")',
        "remove prod/old",
    }
    (command,) = [each["command"] for each in answer["suggestions"] if each["kind"] == "setting"]
    assert cpuctl(*shlex.split(command)[1:], "-q").code == 0
    assert document(cpuctl, "prod/old", *node.words)["pod"]["outcome"] == "Admitted"


def test_a_new_pod_on_a_running_node(cpuctl: Cpuctl, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    node = Running(cpuctl, tmp_path)
    result = explain(cpuctl, *node.words, *pods(new="4/4,1Gi"), columns=80)
    assert result.code == 3
    assert re.sub(r"/\S*/", "", str(result)) == snapshot
    answer = document(cpuctl, *node.words, *pods(new="4/4,1Gi"))
    assert [holder["pod"] for holder in answer["holders"]] == ["prod/old", "prod/large"]
    removals = [each["change"]["remove"] for each in answer["suggestions"] if each["kind"] == "removal"]
    assert removals == [["prod/old"], ["prod/large"]]


def test_warnings_about_the_state_are_reported_once(cpuctl: Cpuctl, tmp_path: Path) -> None:
    node = Running(cpuctl, tmp_path)
    other_pods = manifests(tmp_path / "other.json", pod_manifest("other", "prod", uid="other"))
    words = [word for word in node.words if word not in ("-q", "--pods", node.pods)]
    result = explain(cpuctl, *words, "--pods", other_pods, *pods(first="1/1,1Gi", new="8/8,1Gi"))
    assert result.err.count("the state files have pods that are not running here") == 1


def test_all_releases_start_once_if_none_is_given(
    cpuctl: Cpuctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are tried on the assumed release; whether the others start has already been checked."""
    started: list[bool] = []

    def counting(info: MachineInfo, kubelet: Kubelet, *words: Any, **named: Any) -> StateStart:
        started.append(kubelet.released)
        return start_on(info, kubelet, *words, **named)

    node = Running(cpuctl, tmp_path)
    monkeypatch.setattr("cpuctl.engine.state_start.start_on", counting)
    reported = document(cpuctl, *node.words, *pods(new="4/4,1Gi"))
    assert started.count(False) == 1
    named = document(cpuctl, *node.words, "--kubelet-version", "1.36", *pods(new="4/4,1Gi"))
    assert reported["suggestions"]
    assert [each["change"] for each in reported["suggestions"]] == [
        each["change"] for each in named["suggestions"]
    ]


PENDING = ANSWERS["a resize is pending"]


def test_a_preview_names_where_its_reference_departs_from_the_proposal(cpuctl: Cpuctl) -> None:
    """KEP-5554 lets the container shrink within its current CPUs; its reference implementation does not."""
    resize = json.loads(cpuctl("explain", *PENDING, "-o", "json").out)["resize"]
    assert resize["outcome"] == "Admitted"
    assert resize["departures"] == ["a resize that fits into baseline, current and free CPUs is done"]
    reference = resize["reference"]
    assert (reference["outcome"], reference["reason"]) == ("Deferred", "ResizeAllocateCPUsError")
    words = shlex.split(resize["command"])
    assert words[:2] == ["cpuctl", "resize"]
    (again,) = json.loads(cpuctl(*words[1:], "-q", "-o", "json").out)["pods"]
    assert {name: again[name] for name in resize if name != "command"} == {
        name: resize[name] for name in resize if name != "command"
    }


def test_a_pod_with_a_pending_resize_restarts_with_what_it_has(cpuctl: Cpuctl) -> None:
    """A kubelet admits the 16 CPUs that it has allocated, before it checks the 6 that are requested."""
    answer = json.loads(cpuctl("explain", *PENDING, "-o", "json").out)
    (container,) = answer["pod"]["containers"]
    assert (answer["pod"]["outcome"], container["cpus"]) == ("Admitted", "1-2,6-11,13-14,18-23")
    assert answer["unaligned"] == []
    assert [offer["request"] for offer in answer["rounds"][0]["offers"] if "request" in offer] == [16]


def test_a_policy_does_not_decide_on_a_pending_resize(cpuctl: Cpuctl) -> None:
    refused = cpuctl("explain", *PENDING, "--policy", "koordinator")
    assert (refused.code, "policies cannot decide on resizes" in refused.err) == (2, True)
    followed = PENDING.index("--feature-gates")
    without = (*PENDING[:followed], *PENDING[followed + 2 :], "--policy", "koordinator")
    resize = json.loads(cpuctl("explain", *without, "-o", "json").out)["resize"]
    assert resize["outcome"] == "Infeasible"
    assert "--policy koordinator" in resize["command"]
    settled = tuple(word.replace("pending.json", "running.json") for word in PENDING)
    assert cpuctl("explain", *settled, "--policy", "koordinator").code == 0


def test_without_a_pending_resize_none_is_reported(cpuctl: Cpuctl) -> None:
    settled = tuple(word.replace("pending.json", "running.json") for word in PENDING)
    assert json.loads(cpuctl("explain", *settled, "-o", "json").out)["resize"] is None
    assert json.loads(cpuctl("explain", *ANSWERS["admitted"], "-o", "json").out)["resize"] is None


def test_a_pod_that_has_ended_is_an_error(cpuctl: Cpuctl, tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    kind, spec = "apiVersion: v1, kind: Pod", "spec: {containers: [{name: c}]}"
    pods.write_text(
        f"{{{kind}, metadata: {{name: done}}, {spec}, status: {{phase: Succeeded}}}}\n---\n"
        f"{{{kind}, metadata: {{name: runs}}, {spec}}}\n"
    )
    words = ("explain", "done", "-m", "synthetic:4c,mem=8Gi", "-f", str(pods))
    refused = cpuctl(*words)
    assert (refused.code, refused.err.splitlines()[:2]) == (
        2, ["error: POD: pod default/done has ended", "hint: use --include-completed"],
    )  # fmt: skip
    assert cpuctl(*words, "--include-completed").code == 0


def test_memory_without_allocated_resources_in_the_status(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """For the Memory Manager of 1.34, such a container requests nothing, whatever its spec says."""
    amounts = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "a", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    statuses = [{"name": "a", "state": {"running": {}}}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [container]},
        "status": {"phase": "Running", "qosClass": "Guaranteed", "containerStatuses": statuses},
    }
    (tmp_path / "p.json").write_text(json.dumps(pod))
    flags = "--memory-manager-policy=Static --system-reserved=memory=1Gi --reserved-memory=0:memory=1Gi"
    words = ("-q", "-m", "synthetic:1s1n8c1t,mem=16Gi", "--pods", "p.json", "--kubelet-args", flags)
    reported = cpuctl("explain", "p", *words, "--kubelet-version", "1.34", columns=2000, cwd=tmp_path)
    assert "failed to get the default NUMA affinity" in reported.out
    assert (
        "status.allocatedResources, which has none, and the Static policy fails when there is no memory "
        "to allocate" in reported.out
    )


@pytest.mark.parametrize(
    ("kind", "references", "expected"),
    [
        ("ReplicaSet", None, "ReplicaSet/web replaces the pod immediately"),
        (
            "Pod",
            [{"kind": "ReplicaSet", "name": "web-1", "controller": True}],
            "ReplicaSet/web-1 replaces the pod immediately",
        ),
        (
            "Pod",
            [{"apiVersion": "batch.volcano.sh/v1", "kind": "Job", "name": "sum", "controller": True}],
            "Job.batch.volcano.sh/sum may replace the pod",
        ),
        ("Pod", None, "a pod without an owner is not replaced"),
    ],
)
def test_what_replaces_a_rejected_pod_is_reported(
    kind: str, references: list[dict[str, Any]] | None, expected: str, cpuctl: Cpuctl
) -> None:
    """kubernetes issue 84869: a ReplicaSet creates failed pods forever."""
    limits = {"cpu": 20, "memory": "1Gi"}
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}]}
    metadata = {"name": "web"} if references is None else {"name": "web", "ownerReferences": references}
    manifest: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if kind != "Pod":
        template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
        owner = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": owner}
    node = ("-m", "synthetic:2s2n7c2t", "--kubelet-args")
    flags = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node"
    answer = cpuctl(
        "explain", "-q", *node, flags, "-f", "-", stdin=json.dumps(manifest).encode(), columns=300
    )
    assert answer.code == 3
    assert re.search(f"^THEN +{re.escape(expected)}", answer.out, re.MULTILINE)


def test_huge_pages_that_are_missing_as_well_are_named(cpuctl: Cpuctl) -> None:
    """A pod too large for a NUMA node hears of its second problem, too, before it is made smaller."""
    kubelet = arguments(MEMORY, SINGLE)
    limits = {"cpu": "18", "memory": "1Gi", "hugepages-1Gi": "1Gi"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
    }
    for pages, lacking in ((0, ["hugepages-1Gi"]), (1, [])):
        words = ("-q", "-m", f"synthetic:2s2n8c2t,mem=16Gi,hugepages-1Gi={pages}", *kubelet, "-f", "-")
        stdin = json.dumps(pod).encode()
        answer = json.loads(cpuctl("explain", *words, "-o", "json", stdin=stdin).out)
        assert answer["decision"]["rule"] == "largerThanOneNode"
        assert answer.get("alsoMissing", []) == lacking
        assert ("ALSO " in cpuctl("explain", *words, stdin=stdin).out) == bool(lacking)


def test_a_smaller_request_that_is_aligned_is_shown(cpuctl: Cpuctl) -> None:
    answer = document(cpuctl, *ANSWERS["admitted, not aligned"])
    (smaller,) = (each for each in answer["suggestions"] if each["kind"] == "request")
    assert [(each["before"], each["after"]) for each in smaller["change"]["amounts"]] == [("8", "6")]
    assert all(each["preferred"] for each in smaller["hints"])
    assert answer["next"].startswith("cpuctl plan --capacity ")
