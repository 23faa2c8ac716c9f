"""``cpuctl plan --capacity``, ``--repeat`` and ``--order``: what else fits, how often, and in which order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl
from tests.support.schemas import follow_schema

STATIC = ("--kubelet-config", "fixtures/kubelet/static.yaml")
TWO_NODES = ("plan", "-q", "-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", *STATIC)
NODE = ("plan", "-q", "-m", "synthetic:2s4n32c2t,mem=64Gi", *STATIC)
RESTRICTED = ("--kubelet-args", "--topology-manager-policy=restricted")
SCATTERED = ("-T", "a=8/8,1Gi x7", "-T", "b=4/4,1Gi x2", "-T", "big=12/12,1Gi", "-T", "small=4/4,1Gi x3")
# One CPU of every NUMA node is reserved, so the kubelet looks for whole cores that it counts but cannot find.
ENDLESS = b"""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "true"}
reservedSystemCPUs: 0,8,16,24
"""

ANSWERS = {
    "shipped pods": (*TWO_NODES, "-f", "fixtures/pods", "--capacity"),
    "shipped pods, wide": (*TWO_NODES, "-f", "fixtures/pods", "--capacity", "-o", "wide"),
    "moves": (*NODE, *RESTRICTED, *SCATTERED, "-T", "huge=20/20,1Gi x2", "--capacity"),
    "evictions": (*NODE, "-T", "a=20/20,1Gi x6", "-T", "huge=30/30,1Gi", "-T", "mem=1/1,300Gi", "--capacity"),
    "impossible": (*NODE, *RESTRICTED, "-T", "odd=3/3,1Gi", "-T", "more=130/130,1Gi x5", "--capacity"),
    "one of several pods": (
        *TWO_NODES,
        *("--kubelet-args", "--topology-manager-policy=single-numa-node", "--state", "fixtures/fragmented"),
        *("--pods", "fixtures/fragmented/pods.json", "-T", "big=8/8,256Mi x2", "--capacity"),
    ),
    "no policy": (*NODE[:-2], "-T", "web=4/4,1Gi", "--capacity"),
    "caches inside nodes": (
        *("plan", "-q", "-m", "synthetic:1s2n32c2t,mem=64Gi,l3=8", *STATIC),
        *("-T", "a=6/6,1Gi x3", "--capacity"),
    ),
    "repeat": (*TWO_NODES, "-T", "db=4/4,1Gi", "-T", "web=1/2,512Mi", "--repeat", "2"),
    "repeat max": (*TWO_NODES, "-T", "db=4/4,1Gi", "-T", "web=1/2,512Mi", "--repeat", "max"),
    "repeat, refused": (*TWO_NODES, "-T", "db=10/10,1Gi", "-T", "web=2/2,512Mi", "--repeat", "4"),
    "repeat max, not once": (*TWO_NODES, "-T", "db=10/10,1Gi x4", "--repeat", "max"),
    "endless loop": (
        *("plan", "-q", "-m", "synthetic:2s4n16c2t", "--kubelet-config", "-"),
        *("-T", "gateway=54/54,1Gi", "--capacity", "--repeat", "max"),
    ),
    "not started": (
        *("plan", "-q", "-m", "synthetic:1c", *STATIC),
        *("-T", "web=1/1,1Gi", "--capacity", "--repeat", "3"),
    ),
}


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", ANSWERS)
def test_tables(name: str, width: int, cpuctl: Cpuctl, snapshot: SnapshotAssertion) -> None:
    result = cpuctl(*ANSWERS[name], columns=width, stdin=ENDLESS)
    assert result.code in (0, 3)
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]


def plan(cpuctl: Cpuctl, *words: str) -> dict[str, Any]:
    result = cpuctl(*words, "-o", "json", stdin=ENDLESS)
    assert result.out, result.err
    document: dict[str, Any] = json.loads(result.out)
    follow_schema(document, "plan")
    return document


@pytest.mark.parametrize("name", [name for name in ANSWERS if "wide" not in name])
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(name: str, cpuctl: Cpuctl) -> None:
    document = plan(cpuctl, *ANSWERS[name])
    assert yaml.safe_load(cpuctl(*ANSWERS[name], "-o", "yaml", stdin=ENDLESS).out) == document


def test_a_plan_without_these_options_has_no_capacity(cpuctl: Cpuctl) -> None:
    document = plan(cpuctl, *TWO_NODES, "-f", "fixtures/pods")
    assert not document.keys() & {"capacity", "repeat"}


@pytest.mark.parametrize("pods", [(), ("--pods", "fixtures/resize/running.json")], ids=["empty", "running"])
def test_capacity_needs_no_pods(pods: tuple[str, ...], cpuctl: Cpuctl) -> None:
    shown = cpuctl(*TWO_NODES, *pods, "--capacity")
    assert shown.code == 0
    assert "LARGEST REQUEST" in shown.out
    assert "MORE COPIES" not in shown.out
    assert not re.search(r"^POD", shown.out, re.MULTILINE)
    assert cpuctl(*TWO_NODES, *pods, "--capacity", "-o", "json").code == 0
    assert cpuctl(*TWO_NODES, *pods).code == 2
    assert cpuctl(*TWO_NODES, *pods, "--capacity", "--compare", ".", "1.37").code == 2


def test_capacity_changes_nothing_else(cpuctl: Cpuctl) -> None:
    document = plan(cpuctl, *ANSWERS["moves"])
    del document["capacity"]
    assert document == plan(cpuctl, *ANSWERS["moves"][:-1])


def series(text: str) -> dict[str, int]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: int(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_capacity_and_copies_have_metrics(cpuctl: Cpuctl) -> None:
    """Only these two options add to the kubelet's own metrics."""
    words = (*NODE, "-T", "a=6/6,1Gi", "--repeat", "3")
    found = series(cpuctl(*words, "--capacity", "-o", "prom").out)
    document = plan(cpuctl, *words, "--capacity")
    capacity = document["capacity"]
    assert found["cpuctl_plan_copies"] == document["repeat"]["fitted"] == 3
    assert found['cpuctl_plan_more_copies{pod="default/a"}'] == capacity["copies"][0]["fits"] > 0
    for each in capacity["largestRequests"]:
        policy = each["topologyManagerPolicy"]
        assert found[f'cpuctl_plan_largest_request_cpus{{topology_policy="{policy}"}}'] == each["cpus"]
    for each in capacity["numaNodes"]:
        assert found[f'cpuctl_plan_free_cpus{{numa_node="{each["id"]}"}}'] == each["free"]
        assert found[f'cpuctl_plan_largest_inside_cpus{{numa_node="{each["id"]}"}}'] == each["largest"]
    for name, each in capacity["fragmentation"].items():
        assert found[f'cpuctl_plan_fragmentation_percent{{of="{name}"}}'] == each["percent"]
    copies_only = series(cpuctl(*words, "-o", "prom").out)
    started = 'cpuctl_plan_start{outcome="Started"}'
    assert {name for name in copies_only if name.startswith("cpuctl_")} == {started, "cpuctl_plan_copies"}
    plain = series(cpuctl(*words[:-2], "-o", "prom").out)
    assert [name for name in plain if name.startswith("cpuctl_")] == [started]


@pytest.mark.parametrize("name", [name for name in ANSWERS if "wide" not in name])
def test_every_plan_has_metrics_or_an_error(name: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*ANSWERS[name], "-o", "prom", stdin=ENDLESS)
    assert result.code in (0, 3)
    assert ("would not start" in result.err) if name == "not started" else not result.err
    known = ("kubelet_", "resource_manager_", "cpuctl_plan_")
    assert all(name.startswith(known) for name in series(result.out))


def test_copies_reported_to_fit_are_admitted(cpuctl: Cpuctl) -> None:
    counted = plan(cpuctl, *NODE, *RESTRICTED, *SCATTERED, "--capacity")["capacity"]["copies"]
    fits = {copies["pods"][0]: copies["fits"] for copies in counted}
    for name, cpus in (("default/a-0", 8), ("default/b-0", 4), ("default/big", 12)):
        count = fits[name]
        assert count
        one_more = plan(cpuctl, *NODE, *RESTRICTED, *SCATTERED, "-T", f"new={cpus}/{cpus},1Gi x{count + 1}")
        outcomes = [pod["outcome"] for pod in one_more["pods"] if pod["name"].startswith("new")]
        assert outcomes == ["Admitted"] * count + ["Rejected"]


def test_the_same_kind_of_pod_is_counted_once(cpuctl: Cpuctl) -> None:
    copies = plan(cpuctl, *NODE, *SCATTERED, "--capacity")["capacity"]["copies"]
    assert [len(each["pods"]) for each in copies] == [7, 5, 1]


def test_bounds_are_named(cpuctl: Cpuctl) -> None:
    kinds = [word for n in range(1, 40) for word in ("-T", f"k{n}={n}m/{n}m,1Mi")]
    capacity = plan(cpuctl, *NODE, *kinds, "--capacity")["capacity"]
    assert (len(capacity["copies"]), capacity["skippedKinds"]) == (32, 7)
    assert capacity["bounds"] == {"copies": 500, "kinds": 32, "admissions": 10000, "evictions": 8}
    table = cpuctl(*NODE, *kinds, "--capacity").out
    assert "7 more kinds of pods" in table


def test_moves_start_from_the_state_file(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """For an owner that is not described, it is unknown what it would get elsewhere."""
    words = ("plan", "-q", "-m", "synthetic:1s2n8c1t,mem=64Gi")
    args = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node"
    (tmp_path / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-1,3-4,6-7","entries":{"u":{"c":"2"},"v":{"c":"5"}},"checksum":0}'
    )
    node = (*words, "--kubelet-args", args, "--state", str(tmp_path), "-T", "new=4/4,1Gi", "--capacity")
    (unknown,) = plan(cpuctl, *node)["capacity"]["remedies"]
    assert (unknown["remedy"], [each["uid"] for each in unknown["evicted"]]) == ("evictions", ["v"])
    running = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": uid, "uid": uid},
                "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]},
            }
            for uid in ("u", "v")
        ],
    }
    (tmp_path / "running.json").write_text(json.dumps(running))
    (known,) = plan(cpuctl, *node, "--pods", str(tmp_path / "running.json"))["capacity"]["remedies"]
    assert (known["remedy"], known["cpus"]) == ("moves", "4-7")
    assert known["evicted"] == [{"pod": "default/v", "uid": "v", "cpus": "5", "cpusAfter": "1"}]


def test_planned_copies_are_in_the_state_files(cpuctl: Cpuctl, tmp_path: Path) -> None:
    document = plan(cpuctl, *TWO_NODES, "-T", "db=4/4,1Gi", "--repeat", "max", "--write-state", str(tmp_path))
    state = json.loads((tmp_path / "cpu_manager_state").read_text())
    assert set(state["entries"]) == {pod["uid"] for pod in document["pods"]}
    assert len(state["entries"]) == document["repeat"]["fitted"] == 6


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-T", "a=4/4,1Gi", "--repeat", "max"), 0),
        (("-T", "a=4/4,1Gi", "--repeat", "3"), 0),
        (("-T", "a=4/4,1Gi", "--repeat", "9"), 3),
        (("-T", "a=40/40,1Gi", "--repeat", "max"), 3),
        (("-T", "a=40/40,1Gi", "--capacity"), 3),
    ],
)
def test_the_exit_code_depends_on_how_many_copies_fit(
    words: tuple[str, ...], code: int, cpuctl: Cpuctl
) -> None:
    assert cpuctl(*TWO_NODES, *words).code == code


def test_pods_are_planned_in_the_given_order(cpuctl: Cpuctl) -> None:
    pods = ("-T", "small=2/2,1Gi", "-T", "none=", "-T", "large=8/8,1Gi", "-T", "part=1/2,1Gi")
    names = {
        order: [pod["name"] for pod in plan(cpuctl, *TWO_NODES, *pods, "--order", order)["pods"]]
        for order in ("given", "priority", "qos", "largest-first")
    }
    assert names == {
        "given": ["small", "none", "large", "part"],
        "priority": ["small", "none", "large", "part"],
        "qos": ["small", "large", "part", "none"],
        "largest-first": ["large", "small", "part", "none"],
    }


def test_an_unknown_priority_class_is_reported(cpuctl: Cpuctl) -> None:
    pod = (
        b"{apiVersion: v1, kind: Pod, metadata: {name: x}, "
        b"spec: {priorityClassName: gold, containers: [{name: c}]}}"
    )
    words = ("plan", "-m", "synthetic:4c", "-f", "-")
    reported = cpuctl(*words, "--order", "priority", stdin=pod)
    assert "warning: the value of priority class gold is unknown" in reported.err
    assert "gold" not in cpuctl(*words, stdin=pod).err


def test_an_unknown_order_names_the_known_ones(cpuctl: Cpuctl) -> None:
    result = cpuctl(*TWO_NODES, "-T", "a=1/1", "--order", "size")
    assert result.code == 2
    assert "largest-first" in result.err


@pytest.mark.parametrize("text", ["0", "-1", "2001", "x", "1.5", "max ", "\u0663", "9" * 5000])
def test_an_invalid_number_of_copies_is_rejected(text: str, cpuctl: Cpuctl) -> None:
    result = cpuctl(*TWO_NODES, "-T", "a=1/1", f"--repeat={text}")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --repeat: expected 1 to 2000, or max, found ")


def test_there_must_be_pods_to_repeat(cpuctl: Cpuctl, tmp_path: Path) -> None:
    result = cpuctl(*TWO_NODES, "--state", str(tmp_path), "--repeat", "max")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: --repeat: found no pods to repeat")


POD_OF_CARD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {own}
  containers: [{{name: main, resources: {{limits: {{cpu: 1, memory: 1Gi, x.com/card: 1}}}}}}]
"""


def test_pod_level_huge_pages_unknown_to_a_release_are_not_a_shortage(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """Kubelets before 1.34 do not know pod-level huge pages: what is missing is the card."""
    own = "resources: {limits: {cpu: 1, memory: 1Gi, hugepages-2Mi: 4Mi}}"
    pods = [POD_OF_CARD.format(name="a", own=""), POD_OF_CARD.format(name="b", own=own)]
    devices, manifests = tmp_path / "devices.yaml", tmp_path / "pods.yaml"
    devices.write_text('{apiVersion: cpuctl/v1alpha1, kind: Devices, resources: {x.com/card: {"0": 1}}}')
    manifests.write_text("---".join(pods))
    words = (
        "--kubelet-version",
        "1.33",
        "--feature-gates",
        "PodLevelResources=true",
        "--skip-apiserver",
        "--capacity",
        "-o",
        "json",
    )
    result = cpuctl(
        "plan", "-m", "synthetic:1s1n16c1t", "-f", str(manifests), "--devices", str(devices), *words
    )
    assert result.code == 3, result.err
    (refused,) = json.loads(result.out)["capacity"]["remedies"]
    assert (refused["remedy"], [each["pod"] for each in refused["evicted"]]) == ("evictions", ["default/a"])


@pytest.mark.parametrize(
    ("release", "until"), [("1.31", "until another pod is admitted"), ("1.36", "CPU Manager reconciles")]
)
def test_what_a_rejected_pod_holds_is_told(release: str, until: str, cpuctl: Cpuctl) -> None:
    """Free CPUs before and after its release differ, and the answer says why."""
    node = ("-m", "fixtures/machines/2s-2numa-32cpu.tar.xz", "--kubelet-version", release)
    words = ("plan", "-q", *node, "--kubelet-config", "fixtures/kubelet/single-numa-node.yaml")
    pods = ("-f", "fixtures/telco/du.yaml", "--devices", "fixtures/telco/devices.yaml")
    document = json.loads(cpuctl(*words, *pods, "-o", "json").out)
    follow_schema(document, "plan")
    (held,) = document["after"]["heldByRejected"]
    assert (held["name"], held["cpus"]) == ("du", "18-29")
    assert held["devices"] == [{"resource": "openshift.io/fronthaul", "numaNodes": "1", "count": 2}]
    assert {each["resource"]: each["bytes"] for each in held["memory"]} == {
        "hugepages-1Gi": 1 << 30,
        "memory": 1 << 30,
    }
    shown = cpuctl(*words, *pods, "--capacity").out
    assert "\nThe rejected pod telco/du keeps CPUs 18-29" in shown
    assert until in held["until"]
    assert f" {held['until']}\n" in shown
    others = held["othersUntil"]
    assert others == ("until another pod is admitted" if release == "1.31" else "until the next pod arrives")
    memory = "1Gi of hugepages-1Gi (node 1) and 1Gi of memory (node 1)"
    assert f"\nThe rejected pod telco/du keeps {memory} {others}\n" in shown
    assert f"\nThe rejected pod telco/du keeps 2 devices of openshift.io/fronthaul {others}\n" in shown
    assert "\nOnce rejected pods have released what they keep:\n" in shown
    free = json.loads(cpuctl(*words, "-T", "a=2/2,1Gi", "-o", "json").out)
    assert "heldByRejected" not in free["after"]


def test_a_rejected_pod_keeps_devices_without_the_static_policy(cpuctl: Cpuctl, tmp_path: Path) -> None:
    """The device manager allocates them before the kubelet finds that the pod's CPUs do not fit."""
    devices, manifest = tmp_path / "devices.yaml", tmp_path / "pods.yaml"
    devices.write_text('{apiVersion: cpuctl/v1alpha1, kind: Devices, resources: {x.com/card: {"0": 2}}}')
    manifest.write_text(POD_OF_CARD.format(name="big", own="").replace("cpu: 1", "cpu: 9"))
    words = ("plan", "-q", "-m", "synthetic:1s1n4c1t", "--devices", str(devices), "-f", str(manifest))
    document = json.loads(cpuctl(*words, "-o", "json").out)
    follow_schema(document, "plan")
    (held,) = document["after"]["heldByRejected"]
    assert (held["cpus"], held["until"], "memory" in held) == ("", "until the next pod arrives", False)
    shown = cpuctl(*words).out
    assert "\nThe rejected pod default/big keeps 1 device of x.com/card until the next pod" in shown
    assert "keeps CPU" not in shown


def test_capacity_without_the_static_policy_and_pods_says_what_to_specify(cpuctl: Cpuctl) -> None:
    words = ("plan", "-q", "-m", "synthetic:1s1n4c1t", "--capacity")
    assert "\nCapacity: CPU Manager policy none assigns no exclusive CPUs; to see " in cpuctl(*words).out
    assert "Capacity:" not in cpuctl(*words, "-T", "a=1/1,1Gi").out
