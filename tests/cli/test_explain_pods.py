"""``cpuctl explain POD``: which pod is meant, running pods, and pods with a pending resize."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cpuctl.engine.state_start import StateStart, start_on
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.machine_info import MachineInfo
from tests.cli.conftest import Cpuctl
from tests.cli.test_explain import ANSWERS, NODE, STATIC, arguments, document, explain, pods
from tests.support.manifests import exclusive_manifest
from tests.support.state_files import write_pods

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
        "all 4 pods are admitted, and none is named",
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


SMALL_NODE = ("-m", "synthetic:4c,mem=8Gi")


def ended_manifests(directory: Path, **phases: str) -> str:
    """Write manifests of pods in these phases; return the file's name."""
    (directory / "pods.yaml").write_text(
        "\n---\n".join(
            f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, "
            f"spec: {{containers: [{{name: c}}]}}, status: {{phase: {phase}}}}}"
            for name, phase in phases.items()
        )
    )
    return str(directory / "pods.yaml")


def test_a_manifest_of_a_pod_that_has_ended_is_explained_as_a_new_pod(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The others that have ended stay left out."""
    pods = ended_manifests(tmp_path, done="Succeeded", failed="Failed", runs="Pending")
    result = cpuctl("explain", "failed", *SMALL_NODE, "-f", pods, "-o", "json")
    answer = json.loads(result.out)
    assert (result.code, answer["pod"]["name"], answer["query"]["restarted"]) == (0, "failed", False)
    assert "note: default/failed has ended (Failed) and is explained as a new pod\n" in result.err
    assert "warning: 1 pod that has ended is not planned: default/done (--include-completed)\n" in result.err


def test_the_only_manifest_is_explained_even_if_the_pod_has_ended(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """If the file of the running pods has it too, it is one pod."""
    pods = ended_manifests(tmp_path, failed="Failed")
    message = "Pod was rejected: Resources cannot be allocated with Topology locality"
    for words in ((), ("--pods", pods), ("failed", "--pods", pods), ("--message", message)):
        result = cpuctl("explain", *words, *SMALL_NODE, "-f", pods)
        assert (result.code, "POD     default/failed" in result.out) == (0, True), words
        assert "not planned" not in result.err


def test_of_several_pods_that_have_all_ended_one_has_to_be_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """A message is explained all the same."""
    words = (*SMALL_NODE, "-f", ended_manifests(tmp_path, done="Succeeded", failed="Failed"))
    refused = cpuctl("explain", *words)
    stated = "all pods have ended, and none is named"
    assert refused.code == 2
    assert f"error: {stated}\nhint: choose one to explain: default/done, default/failed\n" in refused.err
    about = cpuctl("explain", "--message", "default cpuset cannot be empty", *words)
    assert (about.code, stated in about.err) == (0, True)


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


def test_a_running_pod_that_no_hint_with_its_cpus_serves_is_told_so(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """What is free on other NUMA nodes does not matter: it keeps what the state file records."""
    manifests = [exclusive_manifest(name, 10, "1Gi") for name in ("a", "wide")]
    pods, state = write_pods(tmp_path / "pods.json", *manifests), tmp_path / "state"
    node = (
        "-m",
        "fixtures/machines/2s-2numa-32cpu.tar.xz",
        "--kubelet-config",
        "fixtures/kubelet/static.yaml",
    )
    assert cpuctl("plan", *node, "-f", str(pods), "--write-state", str(state)).code == 0
    single = ("--kubelet-args", "--topology-manager-policy=single-numa-node")
    words = ("explain", "default/wide", *node, *single, "--state", str(state), "--pods", str(pods))
    decision = json.loads(cpuctl(*words, "-o", "json").out)["decision"]
    assert decision["rule"] == "otherAssignment"
    assert decision["why"].startswith("it already holds CPUs 12-15,18-23, on NUMA nodes 0-1, and keeps them")


def test_a_running_pod_that_holds_some_of_its_cpus_lacks_the_others(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """In pod scope hints are only about recorded CPUs if these are all that the pod requests."""
    amounts = {"memory": "64Mi"}
    containers = [
        {"name": name, "resources": {side: {**amounts, "cpu": cpus} for side in ("limits", "requests")}}
        for name, cpus in (("a", 4), ("b", 10))
    ]
    pod = exclusive_manifest("w", 4)
    pod["spec"]["containers"] = containers
    pods = write_pods(tmp_path / "pods.json", pod, exclusive_manifest("x", 10), exclusive_manifest("y", 11))
    entries = {"w": {"a": "2-5"}, "x": {"c": "6-15"}, "y": {"c": "18-28"}}
    state = {"policyName": "static", "defaultCpuSet": "0-1,16-17,29-31", "entries": entries, "checksum": 0}
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "cpu_manager_state").write_text(json.dumps(state))
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--state", str(tmp_path / "s"))
    flags = (
        "--cpu-manager-policy=static --reserved-cpus=0-1,16-17 --topology-manager-policy=single-numa-node "
        "--topology-manager-scope=pod"
    )
    words = ("explain", "default/w", *node, "--kubelet-args", flags, "--pods", str(pods), "-o", "json")
    decision = json.loads(cpuctl(*words).out)["decision"]
    assert (decision["rule"], "already holds" in decision["why"]) == ("notEnoughFree", False)
