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


@pytest.mark.parametrize(
    ("machine", "policy", "size", "wanted"),
    [
        ("synthetic:2s2n8c2t", SINGLE, "2/2,1Gi", "{0} {1}"),
        ("synthetic:2s2n8c2t", SINGLE, "18/18,1Gi", "{0-1}"),
        ("synthetic:2s2n8c2t", RESTRICTED, "18/18,1Gi", "{0-1}"),
        ("synthetic:11s11n2c2t", SINGLE, "2/2,1Gi", "{0} {1} {2} {3} {4} {5} +5"),
        ("synthetic:11s11n2c2t", SINGLE, "6/6,1Gi", "any 2 nodes"),
        ("synthetic:11s11n2c2t", RESTRICTED, "6/6,1Gi", "any 2 nodes"),
        ("synthetic:11s11n2c2t", RESTRICTED, "64/64,1Gi", "-"),
    ],
)
def test_preferred_hints_are_those_of_the_provider(
    machine: str, policy: str, size: str, wanted: str, cpuctl: Cpuctl
) -> None:
    """The policy single-numa-node filters the hints later: the kubelet logs them as preferred, too."""
    many = "--topology-manager-policy-options=max-allowable-numa-nodes=11"
    kubelet = arguments(STATIC, policy, many)
    table = explain(cpuctl, "-q", "-m", machine, *kubelet, *pods(a=size), columns=200).out.splitlines()
    (row,) = (number for number, line in enumerate(table) if " PREFERRED " in line)
    start, end = (table[row].index(name) for name in ("PREFERRED", "MERGED"))
    assert table[row + 1][start:end].strip() == wanted


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


def test_the_removal_of_running_pods_has_a_command(cpuctl: Cpuctl) -> None:
    """Pods of manifests may not exist yet, or have other names."""
    answer = document(cpuctl, *ANSWERS["width from capacity"])
    removals = [each["command"] for each in answer["suggestions"] if each["kind"] == "removal"]
    assert removals == [None, None]
    node = ("-m", "synthetic:2s2n8c2t,near", "--kubelet-config", "fixtures/kubelet/static.yaml")
    running = ("--state", "fixtures/fragmented", "--pods", "fixtures/fragmented/pods.json")
    answer = document(cpuctl, *node, *running, *pods(big="20/20,1Gi"))
    removals = [each["command"] for each in answer["suggestions"] if each["kind"] == "removal"]
    assert removals
    assert all(each.startswith("kubectl -n shop delete pod ") for each in removals)


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


@pytest.mark.parametrize(("cpus", "loops"), [("7", True), ("8", False)])
def test_no_replacement_is_bound_to_a_node_that_is_too_full_for_the_scheduler(
    cpus: str, loops: bool, cpuctl: Cpuctl
) -> None:
    """The CPU Manager rejects first, but the scheduler sees as well that 8 of the 15 CPUs are requested."""
    node = ("-m", "synthetic:1s2n4c2t", "--kubelet-args")
    flags = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node"
    limits = {"cpu": cpus, "memory": "1Gi"}
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    owner = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": owner}
    answer = cpuctl(
        *(
            "explain",
            "default/web-0",
            "-q",
            "-o",
            "json",
            *node,
            flags,
            "-T",
            "one=4/4,1Gi",
            "-T",
            "two=4/4,1Gi",
        ),
        *("-f", "-"),
        stdin=json.dumps(manifest).encode(),
    )
    found = json.loads(answer.out)
    assert found["pod"]["outcome"] == "Rejected"
    assert (found["replacement"] is not None) == loops


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


@pytest.mark.parametrize(
    ("machine", "reserved", "rule"),
    [
        ("synthetic:1s1n8c2t", "0,8", "14 CPUs are free, 16 are requested"),
        (
            "synthetic:1s1n8c2t",
            "0",
            (
                "with full-pcpus-only, CPUs on cores with reserved CPUs do not count: 14 CPUs are free, "
                "16 are requested"
            ),
        ),
    ],
)
def test_what_does_not_count_as_a_free_core_is_named(
    machine: str, reserved: str, rule: str, cpuctl: Cpuctl
) -> None:
    flags = f"--cpu-manager-policy=static --reserved-cpus={reserved}"
    flags += " --cpu-manager-policy-options=full-pcpus-only=true"
    result = cpuctl("explain", "-q", "-m", machine, "--kubelet-args", flags, "-T", "a=16/16,1Gi", columns=200)
    assert f"too few free cores (container a): {rule}\n" in result.out


def test_cpus_of_its_init_container_do_not_count_as_free_cores(cpuctl: Cpuctl, tmp_path: Path) -> None:
    size = {"limits": {"cpu": "3", "memory": "1Gi"}}
    spec = {
        "initContainers": [{"name": "i", "resources": size}],
        "containers": [{"name": "c", "resources": size}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    flags = "--cpu-manager-policy=static --reserved-cpus=0 --cpu-manager-policy-options=full-pcpus-only=true"
    words = ("-m", "synthetic:1s1n4c", "--kubelet-args", flags, "-f", str(tmp_path / "pod.json"))
    rule = (
        "with full-pcpus-only, CPUs that the pod already has do not count: 0 CPUs are free, 3 are requested"
    )
    assert rule in cpuctl("explain", "-q", *words, columns=200).out


def test_memory_that_other_pods_leave_is_tried(cpuctl: Cpuctl) -> None:
    """The sizes of NUMA nodes alone exceed it, or take CPUs away that are not missing."""
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "-q", "-o", "json", "--kubelet-config")
    pods = ("-T", "b=1/,5Gi", "-T", "a=4/4,4Gi")
    cases = (
        (("explain", "default/a", *node, "fixtures/kubelet/single-numa-node.yaml", *pods), "a", "1264Mi"),
        (
            (
                *("explain", "default/pool", *node, "fixtures/pod-level/kubelet.yaml"),
                *("-f", "fixtures/pod-level/sharing.yaml"),
            ),
            None,
            "1648Mi",
        ),
    )
    for words, container, amount in cases:
        document = json.loads(cpuctl(*words).out)
        (change,) = [each["change"] for each in document["suggestions"] if each["kind"] == "request"]
        changed = [(each["container"], each["resource"], each["after"]) for each in change["amounts"]]
        assert changed == [(container, "memory", amount)]


def test_a_table_of_placements_that_is_too_wide_has_two_parts(cpuctl: Cpuctl) -> None:
    kubelet = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    machine = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
    words = ("explain", "telco/packet-gateway", *machine, *kubelet, "-f", "fixtures/pods")
    lines = cpuctl(*words, "-o", "wide", columns=80).out.splitlines()
    headings = [line.split() for line in lines if line.startswith("POD ") and "CONTAINER" in line]
    assert [heading[-1] for heading in headings] == ["MEMORY", "HOW"]


def test_how_cpus_were_chosen_is_readable_in_a_narrow_terminal(cpuctl: Cpuctl) -> None:
    """The pod and its QoS class are above the table, and a kind is only shown if there are several."""
    kubelet = ("--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    machine = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz")
    words = ("explain", "telco/packet-gateway", *machine, *kubelet, "-f", "fixtures/pods")
    lines = cpuctl(*words, columns=80).out.splitlines()
    (heading,) = [line for line in lines if line.startswith("CONTAINER") and "CPUS" in line]
    assert heading.split() == ["CONTAINER", "CPUS", "CORE", "L3", "NUMA", "SOCKET", "MEMORY", "HOW"]
    assert max(map(len, lines)) <= 80
    assert lines[lines.index(heading) + 1].endswith(" whole cores:")


def test_replicas_get_the_largest_request_even_if_less_does_not_fit(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Six CPUs of each NUMA node are free: 9 to 12 need two nodes, while 7 and 8 must not get two."""
    (tmp_path / "k.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
        "reservedSystemCPUs: 0-1,8-9,16-17,24-25,32-33,40-41,48-49,56-57\ntopologyManagerPolicy: restricted\n"
    )
    words = ("-m", "fixtures/machines/2s-8numa-64cpu.tar.xz", "--kubelet-config", str(tmp_path / "k.yaml"))
    answer = document(cpuctl, *words, "-T", "a=18/18,64Mi x3")
    found = [each["change"]["amounts"] for each in answer["suggestions"] if each["kind"] == "request"]
    assert [[each["after"] for each in amounts] for amounts in found] == [["12"]]
    assert cpuctl("plan", *words, "-T", "a=12/12,64Mi x3").code == 0
    assert cpuctl("plan", *words, "-T", "a=8/8,64Mi x3").code == 3


def test_the_option_for_reserved_cpus_is_for_a_node_that_has_state_files(
    cpuctl: Cpuctl, tmp_path: Path
) -> None:
    """With its state files, the kubelet would not start with this option until they are repaired."""
    node = (*NODE, *arguments(STATIC), "--kubelet-version", "1.34")
    state = str(tmp_path / "s")
    assert cpuctl("plan", *node, *pods(a="3/3,4Gi"), "--write-state", state).code == 0
    shown = {
        files: " ".join(cpuctl("explain", *node, "--state", files, "-T", "be=1/2,1Gi").out.split())
        for files in (state, "none")
    }
    assert "run sudo cpuctl checkpoint repair --yes, and start the kubelet again" in shown[state]
    assert "before the kubelet first starts" in shown["none"]
