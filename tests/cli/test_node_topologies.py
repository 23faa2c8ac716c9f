"""NodeResourceTopologies as output and input: ``-o nrt``, ``--nrt``, ``--scheduler-plugin``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cpuctl.schemas import schema_text
from tests.cli.conftest import ROOT, Cpuctl

FLEET = ROOT / "fixtures/fleet"
SINGLE = ("--kubelet-config", str(ROOT / "fixtures/kubelet/single-numa-node.yaml"))
V36 = ("--kubelet-version", "1.36")
TWO = str(ROOT / "fixtures/machines/2s-2numa-32cpu.tar.xz")
EIGHT = str(ROOT / "fixtures/machines/2s-8numa-64cpu.tar.xz")
PLUGIN = "noderesourcetopologymatch"


def read(text: str) -> Any:
    return yaml.safe_load(text)


def available(zones: Any, name: str) -> list[str]:
    return [
        resource["available"] for zone in zones for resource in zone["resources"] if resource["name"] == name
    ]


@pytest.mark.parametrize(("machine", "nodes"), [(TWO, 2), (EIGHT, 8)])
def test_an_object_is_accepted_by_kubectl_apply(machine: str, nodes: int, cpuctl: Cpuctl) -> None:
    shown = cpuctl("topology", "show", "-m", machine, *SINGLE, *V36, "-o", "nrt")
    assert shown.code == 0
    assert "note: ownerReferences are skipped: the UID of the Node is unknown\n" in shown.err
    topology = read(shown.out)
    assert (topology["apiVersion"], topology["kind"]) == (
        "topology.node.k8s.io/v1alpha2",
        "NodeResourceTopology",
    )
    assert topology["metadata"]["name"] == Path(machine).name.removesuffix(".tar.xz")
    assert [zone["name"] for zone in topology["zones"]] == [f"node-{number}" for number in range(nodes)]
    assert all(len(zone["costs"]) == nodes for zone in topology["zones"])
    quiet = cpuctl("topology", "show", "-m", machine, *SINGLE, *V36, "-o", "nrt", "-q")
    assert (quiet.out, quiet.err) == (shown.out, "")


def test_a_published_plan_subtracts_what_its_pods_take(cpuctl: Cpuctl) -> None:
    words = ("plan", "-m", TWO, *SINGLE, *V36, "-q", "-o", "nrt")
    fresh = read(cpuctl("topology", "show", *words[1:]).out)
    planned = cpuctl(*words, "-T", "a=4/4,1Gi")
    taken = read(planned.out)
    assert (available(fresh["zones"], "cpu"), available(taken["zones"], "cpu")) == (
        ["14", "14"],
        ["10", "14"],
    )
    assert taken["attributes"][0]["value"] != fresh["attributes"][0]["value"]
    rejected = cpuctl(*words, "-T", "a=16/16,1Gi")
    assert (rejected.code, read(rejected.out)) == (3, fresh)
    other = read(cpuctl(*words, "-T", "a=4/4,1Gi", "--publisher", "nfd").out)
    assert other["topologyPolicies"] == ["SingleNUMANodeContainerLevel"]
    assert "annotations" not in other["metadata"]


@pytest.mark.parametrize("form", ["nrt", "nri"])
def test_pods_omitted_from_an_object_are_named(form: str, cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Otherwise exit code 3 would be unexplained."""
    container = {"name": "c", "image": "x", "resources": {"limits": {"cpu": 2, "memory": "1Gi", "a.b/c": 1}}}
    gpu = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gpu"},
        "spec": {"containers": [container]},
    }
    (tmp_path / "gpu.json").write_text(json.dumps(gpu))
    pods = ("-T", "big=40/40,1Gi", "-T", "a=4/4,1Gi", "-f", str(tmp_path / "gpu.json"))
    words = ("plan", "-m", TWO, *SINGLE, *V36, *pods, "-o", form)
    planned = cpuctl(*words)
    assert planned.code == 3
    big, gpu_line = sorted(line for line in planned.err.splitlines() if "is omitted" in line)
    assert big.startswith("warning: default/big is omitted: ")
    assert gpu_line.startswith("warning: default/gpu is omitted: undetermined: requests a.b/c")
    quiet = cpuctl(*words, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (3, planned.out, "")


def test_a_publisher_requires_output_as_objects(cpuctl: Cpuctl) -> None:
    for words in (("plan", "-T", "a"), ("topology", "show"), ("fleet", "list")):
        machine = (TWO,) if words[0] == "fleet" else ("-m", TWO)
        alongside = cpuctl(*words, *machine, "--publisher", "nfd")
        assert (alongside.code, alongside.err.splitlines()[0]) == (
            2,
            "error: --publisher: requires -o nrt",
        )
        bad = cpuctl(*words, *machine, "--publisher", "rte,", "-o", "nrt")
        assert bad.code == 2
        assert "found 'rte,'" in bad.err


def test_file_names_become_valid_object_names(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "My_Node 1.tar.xz").write_bytes(Path(TWO).read_bytes())
    listed = read(cpuctl("fleet", "list", str(tmp_path), *SINGLE, *V36, "-q", "-o", "nrt").out)
    assert [each["metadata"]["name"] for each in listed["items"]] == ["my-node-1"]


def test_nothing_is_published_if_the_exporter_or_the_kubelet_would_fail(cpuctl: Cpuctl) -> None:
    sparse = cpuctl("topology", "show", "-m", "synthetic:2s2n4c1t,nodes=0-3/2:4-7", *V36, "-o", "nrt", "-q")
    assert (sparse.code, sparse.out) == (4, "")
    assert sparse.err.splitlines()[-1] == "hint: use node-feature-discovery instead (--publisher nfd)"
    refused = cpuctl(
        "topology",
        "show",
        "-m",
        TWO,
        *V36,
        "--kubelet-args",
        "--cpu-manager-policy=static",
        "-o",
        "nrt",
        "-q",
    )
    assert (refused.code, refused.out) == (3, "")
    assert "would not start" in refused.err
    unknown = cpuctl("topology", "show", "-m", TWO, "-o", "nrt", "--publisher", "other")
    assert (unknown.code, "--publisher: expected rte, nfd" in unknown.err) == (2, True)


def test_a_fleet_is_published_as_a_list(cpuctl: Cpuctl) -> None:
    words = ("fleet", "list", str(FLEET / "recordings"), *SINGLE, *V36, "-o", "nrt")
    listed = cpuctl(*words)
    objects = read(listed.out)
    assert (objects["kind"], [each["metadata"]["name"] for each in objects["items"]]) == (
        "List",
        ["dense-1", "worker-1", "worker-2", "worker-3", "worker-4"],
    )
    assert "note: dense-1, worker-1, worker-2 and 2 more: ownerReferences are skipped" in listed.err
    policy = ("--kubelet-args", "--cpu-manager-policy=static")
    refused = cpuctl("fleet", "list", str(FLEET / "recordings/worker-1.tar.xz"), *policy, *V36, "-o", "nrt")
    assert refused.err.startswith("worker-1: The kubelet would not start"), "its name is shown once"


@pytest.fixture
def objects(tmp_path: Path, cpuctl: Cpuctl) -> Path:
    """Write objects of a node with small NUMA nodes and of one with large ones, as ``kubectl get`` does.

    Their Nodes are the same, so that the plugin alone decides.
    """
    items, nodes = [], []
    for name, machine in (
        ("small", "synthetic:2s2n4c1t,mem=64Gi"),
        ("large", "synthetic:8s8n8c1t,mem=64Gi"),
    ):
        published = cpuctl("plan", "-m", machine, *V36, "-T", "a=1/1,1Gi", "-o", "nrt", "-q", *FLAGS)
        items.append({**read(published.out), "metadata": {"name": name}})
        status = {"allocatable": {"cpu": "63", "memory": "30Gi", "pods": "110"}}
        nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})
    (tmp_path / "nrt.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    return tmp_path


ARGUMENTS = (
    "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node "
    "--memory-manager-policy=Static --kube-reserved=memory=100Mi --reserved-memory=0:memory=100Mi"
)
FLAGS = ("--kubelet-args", ARGUMENTS)


def scheduled(objects: Path, cpuctl: Cpuctl, *words: str, plugin: str = "") -> Any:
    result = cpuctl(
        *("fleet", "plan", "--nodes", str(objects / "nodes.json"), "--nrt", str(objects / "nrt.json")),
        *("--scheduler-plugin", f"{PLUGIN}{plugin}", "-q", "-o", "json", *words),
    )
    answer = json.loads(result.out)
    jsonschema.validate(answer, json.loads(schema_text("fleetplan")))
    return answer


@pytest.mark.parametrize(
    ("plugin", "node"),
    [
        ("", "large"),
        (",strategy=LeastAllocated,cpu=100", "large"),
        (",strategy=LeastAllocated,memory=100", "small"),
        (",strategy=MostAllocated", "small"),
        (",strategy=BalancedAllocation", "large"),
        (",strategy=LeastNUMANodes", "small"),
        (",strategy=MostAllocated,cpu=100,memory=1", "small"),
        (",strategy=MostAllocated,cpu=1,memory=1,cache=reserve", "small"),
    ],
)
def test_strategies_and_weights_choose_a_node(plugin: str, node: str, objects: Path, cpuctl: Cpuctl) -> None:
    """If both score the same, as with LeastNUMANodes, the first is taken."""
    answer = scheduled(objects, cpuctl, "-T", "web=2/2,1Gi", plugin=plugin)
    assert [(pod["outcome"], pod["node"]) for pod in answer["pods"]] == [("Scheduled", node)]
    assert [row["source"] for row in answer["nodes"]] == ["", ""]


PODS = {
    "container": ({}, "cannot align container", "c"),
    "init": (
        {"initContainers": [{"name": "i", "resources": {"limits": {"cpu": "9", "memory": "1Gi"}}}]},
        "cannot align init container",
        "i",
    ),
    "sidecar": (
        {
            "initContainers": [
                {
                    "name": "s",
                    "restartPolicy": "Always",
                    "resources": {"limits": {"cpu": "9", "memory": "1Gi"}},
                }
            ]
        },
        "cannot align sidecar container",
        "s",
    ),
}


@pytest.mark.parametrize(("spec", "message", "container"), PODS.values(), ids=PODS)
def test_the_message_names_what_cannot_be_aligned(
    spec: dict[str, Any], message: str, container: str, objects: Path, cpuctl: Cpuctl
) -> None:
    size = "9" if container == "c" else "1"
    app = {"name": "c", "resources": {"limits": {"cpu": size, "memory": "1Gi"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [app], **spec},
    }
    (objects / "pod.json").write_text(json.dumps(pod))
    answer = scheduled(objects, cpuctl, "-f", str(objects / "pod.json"))
    (found,) = answer["pods"]
    assert found["message"] == f"0/2 nodes are available: 2 {message}."
    assert found["plugin"]["filtered"] == [
        {"message": message, "container": container, "resource": "cpu", "nodes": 2}
    ]
    published = (objects / "nrt.json").read_text()
    (objects / "nrt.json").write_text(published.replace('"value": "container"', '"value": "pod"'))
    (whole,) = scheduled(objects, cpuctl, "-f", str(objects / "pod.json"))["pods"]
    assert whole["message"] == "0/2 nodes are available: 2 cannot align pod."
    assert whole["plugin"]["filtered"][0]["container"] == ""


def test_objects_are_read_from_stdin_and_from_mixed_lists(objects: Path, cpuctl: Cpuctl) -> None:
    """``kubectl get nodes,noderesourcetopologies -o json`` prints a list of both kinds."""
    both = [json.loads((objects / name).read_text())["items"] for name in ("nodes.json", "nrt.json")]
    (objects / "all.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*both[0], *both[1]]})
    )
    words = ("-q", "-T", "a=4/4,1Gi", "--scheduler-plugin", PLUGIN)
    text = (objects / "all.json").read_bytes()
    piped = cpuctl("fleet", "plan", "--nodes", str(objects / "all.json"), "--nrt", "-", *words, stdin=text)
    assert (piped.code, piped.out.splitlines()[0].split()) == (
        0,
        ["POD", "NODE", "OUTCOME", "CPUS", "PLUGIN"],
    )
    assert piped.out.splitlines()[1].endswith("accepts all")
    assert "no recordings: only the scheduler's decision, no kubelet was asked" in piped.out
    text = text.replace(b'"available": "', b'"available": "0.00')
    pending = cpuctl("fleet", "plan", "--nodes", str(objects / "all.json"), "--nrt", "-", *words, stdin=text)
    assert pending.out.splitlines()[-3:] == [
        "no recordings: only the scheduler's decision, no kubelet was asked",
        "1 pod on 2 nodes: 0 scheduled, 1 pending",
        "Next, on each node, to ask its kubelet as well: sudo cpuctl capture NODE.tar.gz",
    ]
    twice = cpuctl("fleet", "plan", "--nodes", "-", "--nrt", "-", *words, stdin=text)
    assert (twice.code, "used twice" in twice.err) == (2, True)


def test_both_headlines_count_pods_and_give_the_reason(cpuctl: Cpuctl) -> None:
    """The object of one node is wrong; on the others the Memory Manager does not report memory."""
    words = (
        *("fleet", "plan", str(FLEET / "recordings"), "--nodes", str(FLEET / "nodes.json")),
        *("-f", str(FLEET / "new.yaml"), "--scheduler-plugin", PLUGIN, "-q"),
    )
    passed = cpuctl(*words, *SINGLE, "--nrt", str(FLEET / "nrt.json"))
    assert "the plugin accepts" in passed.out
    assert "the object has policy none" in passed.out
    assert (
        "the scheduler, which is not aware of this, binds the replacement to the same node again: "
        "failed pods accumulate" in passed.out
    )
    assert "NodeResourceTopologyMatch" not in passed.out
    filtered = cpuctl(
        *words,
        *("--kubelet-config", str(ROOT / "fixtures/kubelet/static.yaml")),
        *("--kubelet-args", "--topology-manager-policy=single-numa-node"),
    )
    assert "  the plugin filters out 3 nodes" in filtered.out
    assert "no zone lists memory" in filtered.out
    assert "pods that the plugin keeps off a node whose kubelet would admit them: 2" in filtered.out
