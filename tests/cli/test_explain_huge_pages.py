"""Missing huge pages: how many more, on which NUMA node, would admit the pod."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cpuctl
from tests.cli.test_schemas import check

STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
ALIGNED = (
    f"{STATIC} --memory-manager-policy=Static --kube-reserved=memory=1Gi --reserved-memory=0:memory=1Gi "
    "--topology-manager-policy=single-numa-node"
)


def explained(
    cpuctl: Cpuctl, directory: Path, pages: str, kubelet: str, machine: str, size: str = "1Gi"
) -> dict[str, Any]:
    limits = {"cpu": "2", "memory": "1Gi", f"hugepages-{size}": pages}
    spec = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hp"}, "spec": spec}
    (directory / "pod.json").write_text(json.dumps(pod))
    words = ("explain", "-q", "-m", machine, "--kubelet-args", kubelet, "-f", str(directory / "pod.json"))
    document: dict[str, Any] = json.loads(cpuctl(*words, "-o", "json").out)
    check(document)
    shown = cpuctl(*words, "-o", "wide", columns=80).out.splitlines()
    for each in document.get("hugePages", ()):
        assert each["command"] in shown
    return document


@pytest.mark.parametrize(
    ("pages", "kubelet", "now", "want"),
    [
        ("4Gi", ALIGNED, 2, {0: 4, 1: 4}),
        ("6Gi", STATIC, 2, {0: 4, 1: 4}),
        ("1Gi", ALIGNED, 0, {0: 1, 1: 1}),
        ("2Gi", ALIGNED, 2, {}),
    ],
    ids=["on one node", "on the node as a whole", "none at all", "there are enough"],
)
def test_the_fewest_more_pages_are_named(
    cpuctl: Cpuctl, tmp_path: Path, pages: str, kubelet: str, now: int, want: dict[int, int]
) -> None:
    machine = "synthetic:2s2n4c2t,mem=32Gi"
    document = explained(
        cpuctl, tmp_path, pages, kubelet, f"{machine},hugepages-1Gi={now}" if now else machine
    )
    found = document.get("hugePages", [])
    assert {each["numaNode"]: each["after"] for each in found} == want
    for each in found:
        rows = [str(each["after"] if node == each["numaNode"] else now) for node in (0, 1)]
        more = f"{machine},hugepages-1Gi={'/'.join(rows)}"
        again = explained(cpuctl, tmp_path, pages, kubelet, more)
        assert again["pod"]["outcome"] == "Admitted"
        assert each["command"].endswith(f"node{each['numaNode']}/hugepages/hugepages-1048576kB/nr_hugepages")


def test_pages_that_do_not_help_are_not_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    document = explained(cpuctl, tmp_path, "40Gi", ALIGNED, "synthetic:2s2n4c2t,mem=32Gi,hugepages-1Gi=2")
    assert "hugePages" not in document


RUNNING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "runs", "uid": "u-runs"},
    "spec": {
        "containers": [
            {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi", "hugepages-1Gi": "1Gi"}}}
        ]
    },
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize("kubelet", [STATIC, ALIGNED], ids=["no manager counts", "the Memory Manager counts"])
def test_pages_are_named_next_to_running_pods(cpuctl: Cpuctl, tmp_path: Path, kubelet: str) -> None:
    """A memory_manager_state with other page counts is repaired, which keeps the memory of running pods."""
    machine = "synthetic:2s2n4c2t,mem=32Gi,hugepages-1Gi="
    running, requested = tmp_path / "running.json", tmp_path / "pod.json"
    running.write_text(json.dumps(RUNNING))
    limits = {"cpu": "2", "memory": "1Gi", "hugepages-1Gi": "2Gi"}
    spec = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
    requested.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hp"}, "spec": spec})
    )
    words = ("-q", "-m", f"{machine}1", "--kubelet-args", kubelet)
    state = tmp_path / "state"
    assert cpuctl("plan", *words, "-f", str(running), "--write-state", str(state)).code == 0
    given = (*words, "--state", str(state), "--pods", str(running), "-f", str(requested))
    document = json.loads(cpuctl("explain", "hp", *given, "-o", "json").out)
    check(document)
    assert {each["numaNode"]: each["after"] for each in document["hugePages"]} == (
        {0: 3, 1: 2} if kubelet == ALIGNED else {0: 2, 1: 2}
    )
    shown = cpuctl("explain", "hp", *given, columns=400).out
    repaired = "after memory_manager_state is repaired and the kubelet restarts"
    steps = "(running pods keep their memory): sudo cpuctl checkpoint repair --kubelet-args "
    assert (repaired in shown, steps in shown, "\nThen start the kubelet.\n" in shown) == (
        (kubelet == ALIGNED,) * 3
    )
    for each in document["hugePages"]:
        assert ("repairCommand" in each, each["removesMemoryState"]) == (kubelet == ALIGNED, False)
        pages = "/".join(str(each["after"] if node == each["numaNode"] else 1) for node in (0, 1))
        more, files = (*given[:2], f"{machine}{pages}", *given[3:5]), str(state)
        if kubelet == ALIGNED:
            files = str(tmp_path / f"repaired{each['numaNode']}")
            of_release = ("--kubelet-version", "1.36", "--pods", str(running))
            requested_repair = ("checkpoint", "repair", str(state), *more, *of_release)
            assert cpuctl(*requested_repair, "--write-state", files).code == 0
        asked = ("plan", *more, "--state", files, "--pods", str(running), "-f", str(requested))
        plan = json.loads(cpuctl(*asked, "-o", "json").out)
        assert plan["pods"][0]["outcome"] == "Admitted"


def memory_pod(name: str, memory: str, pages: str = "") -> dict[str, Any]:
    limits = {"cpu": "500m", "memory": memory} | ({"hugepages-1Gi": pages} if pages else {})
    spec = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": f"u-{name}"}, "spec": spec}


def test_the_memory_state_is_removed_if_running_pods_have_to_move(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Both nodes hold too much for the pages; without the file, both running pods fit on one of them."""
    running, requested, state = (tmp_path / name for name in ("running.json", "hp.json", "state"))
    pods = [memory_pod("small", "3Gi"), memory_pod("large", "4500Mi")]
    running.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    requested.write_text(json.dumps(memory_pod("hp", "100Mi", "5Gi")))
    words = ("-q", "-m", "synthetic:2s2n4c2t,mem=8Gi,hugepages-1Gi=0", "--kubelet-args", ALIGNED)
    assert cpuctl("plan", *words, "-f", str(running), "--write-state", str(state)).code == 0
    for pod in pods:
        pod["status"] = {"phase": "Running"}
    running.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    given = (*words, "--state", str(state), "--pods", str(running), "-f", str(requested))
    document = json.loads(cpuctl("explain", "hp", *given, "-o", "json").out)
    check(document)
    found = [(each["removesMemoryState"], "repairCommand" in each) for each in document["hugePages"]]
    assert set(found) == {(True, False)}
    assert (
        "after memory_manager_state is removed and the kubelet" in cpuctl("explain", *given, columns=400).out
    )


def test_pages_are_named_for_a_pod_that_is_not_admitted_again(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:2s2n4c2t,mem=32Gi,hugepages-1Gi=0"
    running = tmp_path / "running.json"
    running.write_text(json.dumps(RUNNING))
    words = ("-q", "-m", machine, "--kubelet-args", STATIC, "--pods", str(running), "-o", "json")
    document = json.loads(cpuctl("explain", "runs", *words).out)
    assert {each["numaNode"]: each["after"] for each in document["hugePages"]} == {0: 1, 1: 1}


def test_pages_for_which_a_node_has_no_memory_are_not_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """With more pages than memory, the kubelet's sum for pods wraps around, and nearly everything fits."""
    machine = "synthetic:2s2n4c2t,mem=6Gi,hugepages-1Gi=2"
    words = (cpuctl, tmp_path, "4Gi", ALIGNED.replace("memory=1Gi", "memory=1536Mi"))
    document = explained(*words, machine)
    overdrawn = explained(*words, "synthetic:2s2n4c2t,mem=6Gi,hugepages-1Gi=5/2")
    assert overdrawn["pod"]["outcome"] == "Admitted"
    assert {each["numaNode"]: each["after"] for each in document.get("hugePages", ())} == {1: 4}


def test_the_command_that_allocates_pages_is_one_line(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:2s2n4c2t,mem=32Gi,hugepages-1Gi=2"
    document = explained(cpuctl, tmp_path, "4Gi", ALIGNED, machine)
    words = ("-q", "-m", machine, "--kubelet-args", ALIGNED, "-f", str(tmp_path / "pod.json"))
    shown = cpuctl("explain", *words, columns=80).out.splitlines()
    assert any(line.endswith(f": {document['hugePages'][0]['command']}") for line in shown)


def test_numbers_of_pages_that_were_tried_in_vain_are_shown(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:2s2n4c2t,mem=4Gi/2Gi,hugepages-1Gi=1"
    document = explained(cpuctl, tmp_path, "4Gi", ALIGNED, machine)
    assert {each["numaNode"]: each["after"] for each in document["triedHugePages"]} == {0: 3, 1: 2}
    words = ("-q", "-m", machine, "--kubelet-args", ALIGNED, "-f", str(tmp_path / "pod.json"))
    shown = " ".join(cpuctl("explain", *words, columns=400).out.split())
    assert (
        "more 1Gi pages on one NUMA node "
        "not admitted with up to 3 on node 0, 2 on node 1; more were not tried" in shown
    )


def test_thousands_of_small_pages_are_counted_exactly(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:2s2n4c2t,mem=32Gi,hugepages-2Mi="
    document = explained(cpuctl, tmp_path, "5002Mi", ALIGNED, f"{machine}100", "2Mi")
    assert {each["numaNode"]: each["after"] for each in document["hugePages"]} == {0: 2501, 1: 2501}
    for count, outcome in ((2500, "Rejected"), (2501, "Admitted")):
        again = explained(cpuctl, tmp_path, "5002Mi", ALIGNED, f"{machine}{count}/100", "2Mi")
        assert again["pod"]["outcome"] == outcome


def test_which_of_many_numbers_were_tried_in_vain_is_shown(cpuctl: Cpuctl, tmp_path: Path) -> None:
    machine = "synthetic:2s2n4c2t,mem=4Gi,hugepages-2Mi=100"
    document = explained(cpuctl, tmp_path, "8Gi", ALIGNED, machine, "2Mi")
    tried = [(each["numaNode"], each["after"], each["allUpTo"]) for each in document["triedHugePages"]]
    assert tried == [(0, 1536, 164), (1, 2048, 164)]
    words = ("-q", "-m", machine, "--kubelet-args", ALIGNED, "-f", str(tmp_path / "pod.json"))
    shown = " ".join(cpuctl("explain", *words, columns=400).out.split())
    assert (
        "not admitted with up to 1536 on node 0, 2048 on node 1; "
        "more were not tried, nor was every number above 164" in shown
    )


def test_pods_that_pages_do_not_help_or_that_they_harm_are_named(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The second replica needs a page of its own, and the memory of the pages is no longer for other pods."""
    limits = {"cpu": "2", "memory": "100Mi", "hugepages-1Gi": "1Gi"}
    spec = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hp"},
        "spec": {"replicas": 2, "template": {"spec": spec}},
    }
    (tmp_path / "hp.json").write_text(json.dumps(workload))
    words = ("explain", "-q", "-m", "synthetic:2s2n4c2t,mem=4Gi", "--kubelet-args", STATIC)
    pods = ("-T", "large=1/1,7500Mi", "-f", str(tmp_path / "hp.json"), "default/hp-0")
    document = json.loads(cpuctl(*words, *pods, "-o", "json").out)
    check(document)
    assert [(each["lost"], each["stillRejected"]) for each in document["hugePages"]] == [
        (["default/large"], ["default/hp-1"])
    ] * 2
    shown = cpuctl(*words, *pods, columns=300).out
    assert "restarts; no longer admitted: default/large; still rejected: default/hp-1\n" in shown
    assert "to allocate the huge pages until" not in shown
    assert "to allocate the huge pages until" in cpuctl(*words, *pods[2:], columns=300).out


def test_no_pages_are_tried_if_those_of_a_node_are_free(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """CPUs are short here: more pages would only help by leaving less memory to other pods."""
    limits = {"cpu": "9", "memory": "1Gi", "hugepages-1Gi": "2Gi"}
    spec = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hp"}, "spec": spec}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    machine = "synthetic:2s2n4c2t,mem=32Gi,hugepages-1Gi="
    for free, is_tried in ((2, False), (1, True)):
        words = ("-m", f"{machine}{free}", "--kubelet-args", ALIGNED, "-f", str(tmp_path / "pod.json"))
        document = json.loads(cpuctl("explain", *words, "-q", "-o", "json").out)
        assert document["pod"]["outcome"] == "Rejected"
        assert ("triedHugePages" in document) == is_tried
