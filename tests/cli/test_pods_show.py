"""``cpuctl pods show`` and ``pods diff``: what the kubelet makes of pods, and how pods differ.

Snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, which are reviewed before
they are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.schemas import follow_schema

GATEWAY = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: telco}
spec:
  replicas: 3
  template:
    spec:
      priorityClassName: urgent
      resources:
        requests: {cpu: 6, memory: 3Gi}
        limits: {cpu: 7, memory: 6Gi}
      overhead: {cpu: 250m, memory: 64Mi}
      initContainers:
      - {name: warm-up, resources: {limits: {cpu: 2, memory: 1Gi}}}
      - {name: ship-log, restartPolicy: Always, resources: {requests: {cpu: 100m}}}
      containers:
      - {name: forwarder, resources: {limits: {cpu: 1500m, memory: 1Gi, hugepages-2Mi: 4Mi}}}
      - {name: agent}
"""
BOUNDS = """---
apiVersion: v1
kind: LimitRange
metadata: {name: bounds, namespace: telco}
spec:
  limits:
  - {type: Container, default: {memory: 512Mi}, max: {cpu: 4}}
  - {type: Pod, max: {cpu: 8}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: refused, namespace: telco}
spec:
  limits:
  - {type: Container, default: {memory: 128Mi}, max: {cpu: 1}}
  - {type: Pod, default: {cpu: 1}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: telco}
spec: {hard: {pods: 10, requests.cpu: 14}}
status: {used: {pods: 1, requests.cpu: 1}}
"""
LEVELS = """
apiVersion: v1
kind: Pod
metadata: {name: row-10}
spec:
  resources: {requests: {cpu: 5, memory: 5Gi}}
  containers:
  - {name: a, resources: {limits: {cpu: 2, memory: 2Gi}}}
  - {name: b, resources: {limits: {cpu: 2, memory: 2Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: empty}
spec:
  resources: {}
  containers:
  - {name: a, resources: {limits: {cpu: 2, memory: 2Gi}}}
"""
PLAIN = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - {name: server, resources: {requests: {cpu: %s, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}
"""
SIDECAR = """
apiVersion: v1
kind: Pod
metadata: {name: beside}
spec:
  initContainers:
  - {name: proxy, restartPolicy: Always, resources: {requests: {cpu: 100m}}}
  containers:
  - {name: server, resources: {requests: {cpu: 1}}}
"""
KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
"""
FILES = {
    "gateway.yaml": GATEWAY,
    "shop/gateway.yaml": GATEWAY + BOUNDS,
    "levels.yaml": LEVELS,
    "web.yaml": PLAIN % "1500m",
    "web-whole.yaml": PLAIN % "2",
    "sidecar.yaml": SIDECAR,
    "kubelet.yaml": KUBELET,
    "memory.yaml": KUBELET + "featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation\n",
    "usage.yaml": "telco/gateway-0: 2Gi\ntelco/gateway-1: 512Mi\ngone: 1Gi\n",
}
NODE = ("-m", "synthetic:2s2n8c2t", "--kubelet-config", "kubelet.yaml")
QUOTA_KEPT = "DisableCPUQuotaWithExclusiveCPUs=false"
LEVEL_OFF = "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"

Pods = Callable[..., Result]


@pytest.fixture
def pods(tmp_path: Path, cpuctl: Cpuctl) -> Pods:
    """Return a function that runs ``cpuctl pods`` in a directory with the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("pods", *words, stdin=stdin, columns=columns, cwd=tmp_path)

    return call


@dataclass(frozen=True)
class Case:
    """A command line and its exit code."""

    name: str
    words: tuple[str, ...]
    code: int = 0
    stdin: bytes = b""


SIDECARS = ("--feature-gates", "SidecarContainers=true")
ANSWERS = [
    Case("show a template", ("show", "-T", "web=500m/1,1Gi x3")),
    Case("show on a node", ("show", "-f", "gateway.yaml", *NODE)),
    Case("show with limit range and quota", ("show", "-f", "shop", *NODE)),
    Case("show pod-level resources", ("show", "-f", "levels.yaml", "--memory", "100Gi")),
    Case("show for cgroup v1", ("show", "-f", "gateway.yaml", "--cgroup-version", "1")),
    Case(
        "show a known runtime",
        ("show", "-f", "web.yaml", "--oci-runtime", "runc-1.2.6", "--kubelet-config", "memory.yaml"),
    ),
    Case("show exclusive CPUs", ("show", "-f", "web-whole.yaml", "-f", "web.yaml", *NODE)),
    Case("show an old kubelet", ("show", "-f", "levels.yaml", "--kubelet-version", "1.31")),
    Case(
        "show a kubelet with the gate off",
        (
            *("show", "-f", "levels.yaml", "--feature-gates", LEVEL_OFF),
            *("--apiserver-version", "1.35", "--apiserver-feature-gates", "PodLevelResources=true"),
        ),
    ),
    Case(
        "show a server with the gate off",
        ("show", "-f", "levels.yaml", "--apiserver-feature-gates", LEVEL_OFF),
    ),
    Case("show the order of eviction", ("show", "-f", "gateway.yaml", "--usage", "usage.yaml")),
    Case("show from stdin", ("show", "-f", "-"), stdin=FILES["web.yaml"].encode()),
    Case("diff two manifests", ("diff", "web.yaml", "web-whole.yaml", *NODE)),
    Case(
        "diff two releases",
        ("diff", "levels.yaml", "--kubelet-version=1.36", "--to=1.37", *NODE),
    ),
    Case(
        "diff gates",
        ("diff", "web-whole.yaml", "--to-feature-gates", QUOTA_KEPT, "--exit-code", *NODE),
        3,
    ),
    Case("diff the same", ("diff", "web.yaml", "web.yaml", "--exit-code")),
    Case("diff other pods", ("diff", "levels.yaml", "gateway.yaml")),
    Case(
        "diff what only autoscalers read",
        ("diff", "sidecar.yaml", "--kubelet-version", "1.28", "--to", "1.29", *SIDECARS),
    ),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
@pytest.mark.parametrize("form", ["table", "wide"])
def test_answers(case: Case, form: str, pods: Pods, snapshot: SnapshotAssertion) -> None:
    result = pods(*case.words, "-o", form, stdin=case.stdin)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
@pytest.mark.parametrize("form", ["table", "wide"])
def test_tables_fit_a_narrow_terminal(case: Case, form: str, pods: Pods) -> None:
    result = pods(*case.words, "-o", form, stdin=case.stdin, columns=80)
    assert [line for line in drawn_lines(result.out) if len(line) > 80] == []


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, pods: Pods) -> None:
    result = pods(*case.words, "-o", "json", stdin=case.stdin)
    document = json.loads(result.out)
    assert result.code == case.code
    follow_schema(document)
    assert document == yaml.safe_load(pods(*case.words, "-o", "yaml", stdin=case.stdin).out)


def answer(result: Result) -> Any:
    assert result.code == 0
    return json.loads(result.out)


def test_replicas_are_listed_one_by_one_for_scripts(pods: Pods) -> None:
    document = answer(pods("show", "-f", "gateway.yaml", "-o", "json"))
    assert [pod["name"] for pod in document["pods"]] == ["gateway-0", "gateway-1", "gateway-2"]


@pytest.mark.parametrize("words", [("show", "-f", "gateway.yaml"), ("diff", "gateway.yaml", "gateway.yaml")])
def test_streams_have_one_pod_per_line(words: tuple[str, ...], pods: Pods) -> None:
    lines = pods(*words, "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == answer(pods(*words, "-o", "json"))["pods"]
    assert len(lines) == 3


def test_quotas_charge_pods_in_their_order(pods: Pods) -> None:
    document = answer(pods("show", "-f", "shop", *NODE, "-o", "json"))
    assert [len(pod["quotas"][0]["rejections"]) for pod in document["pods"]] == [0, 0, 1]
    (quota,) = document["quotas"]
    assert (quota["usedBefore"]["pods"], quota["used"]["pods"]) == ("1", "3")
    assert [bool(each["problems"]) for each in document["limitRanges"]] == [False, True]


def test_gates_that_prevent_a_start_are_reported(pods: Pods) -> None:
    words = ("show", "-f", "web.yaml", "--feature-gates", "PodLevelResources=false")
    result = pods(*words, "--apiserver-feature-gates", "Strange=true")
    assert result.code == 0
    assert "warning: kubelet 1.36 would not start with these gates: InPlacePodLevel" in result.err
    assert "warning: API server 1.36 would not start with these gates: unrecognized" in result.err


def test_a_plan_applies_limit_ranges_and_quotas(pods: Pods, cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "limited.yaml").write_text(
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: all}\n"
        "spec: {limits: [{type: Container, default: {cpu: 2, memory: 1Gi}}]}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec: {containers: [{name: main}]}\n"
    )
    planned = cpuctl("plan", "-m", "synthetic:2c", "-f", "limited.yaml", "-o", "json", cwd=tmp_path)
    assert json.loads(planned.out)["pods"][0]["qosClass"] == "Guaranteed"
    words = ("plan", "-m", "synthetic:1s1n32c,hugepages-2Mi=512", "-f", "shop", "-o", "json")
    result = cpuctl(*words, cwd=tmp_path)
    assert result.code == 3
    document = json.loads(result.out)
    assert [pod["outcome"] for pod in document["pods"]] == ["Admitted", "Admitted", "Forbidden"]
    (refusal,) = document["pods"][2]["rejections"]
    assert refusal == (
        'pods "gateway-2" is forbidden: exceeded quota: team, requested: requests.cpu=6250m, '
        "used: requests.cpu=13500m, limited: requests.cpu=14"
    )
    requested = json.loads(cpuctl(*words, "--skip-apiserver", cwd=tmp_path).out)
    assert [pod["outcome"] for pod in requested["pods"]] == ["Admitted"] * 3


def test_a_pod_that_is_rejected_before_is_not_left_to_the_kubelet(cpuctl: Cpuctl, tmp_path: Path) -> None:
    resources = "{limits: {cpu: 2, memory: 1Gi, hugepages-1Gi: 1500Mi}}"
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: typo}\n"
        f"spec: {{containers: [{{name: app, resources: {resources}}}]}}\n"
    )
    node = ("-m", "synthetic:1s1n8c2t", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0,8")
    shown = cpuctl("pods", "show", "-f", str(tmp_path / "pod.yaml"), *node, "-q").out
    assert "The API server rejects the pod: " in shown
    assert "\napp: 2 exclusive CPUs if the pod were accepted\n" in shown


def test_usage_of_missing_pods_is_reported(pods: Pods) -> None:
    result = pods("show", "-f", "gateway.yaml", "--usage", "usage.yaml")
    assert "warning: usage is given for pods that are missing: default/gone\n" in result.err


def test_every_command_has_help(pods: Pods) -> None:
    bare = pods()
    assert bare.code == 0
    assert {"show", "diff", "lint"} <= set(bare.out.split())
    for verb in ("show", "diff"):
        text = pods(verb, "--help", columns=80).out
        assert "Examples:" in text
        assert "Exit codes:" in text
        assert max(map(len, text.splitlines())) <= 80


def test_control_characters_do_not_reach_the_terminal(pods: Pods) -> None:
    manifest = {
        "kind": "Pod",
        "metadata": {"name": "we\x1b[31mb", "namespace": "a\nb"},
        "spec": {"containers": [{"name": "\x07", "resources": {"limits": {"cp\x1bu": "1"}}}]},
    }
    result = pods("show", "-f", "-", stdin=json.dumps(manifest).encode())
    assert result.code == 0
    assert "\x1b" not in result.out
    assert "\x07" not in result.out


MISUSE = [
    (("show",), 2, "error: no pods to show\n"),
    (("show", "-T", "a=1", "--memory", "much"), 2, "error: --memory: expected a quantity, found 'much'"),
    (
        ("show", "-T", "a=1", "--memory", "0"),
        2,
        "error: --memory: expected a quantity from 1 to 8Ei, found '0'",
    ),
    (
        ("show", "-T", "a=1", "--memory", "1Gi", "-m", "synthetic:2c"),
        2,
        "error: --memory: -m selects a machine",
    ),
    (("show", "-T", "a=1", "--oci-runtime", "kata-3"), 2, "error: --oci-runtime: expected runc or crun"),
    (("show", "-T", "a=1", "--cgroup-version", "3"), 2, "error: --cgroup-version: expected 1 or 2"),
    (("show", "-T", "a=1", "--apiserver-version", "2.1"), 2, "error: --apiserver-version:"),
    (("show", "-T", "a=1", "--apiserver-feature-gates", "X=maybe"), 2, "error: --apiserver-feature-gates: "),
    (("show", "-f", "-", "--usage", "-"), 2, "error: standard input (-) is used twice"),
    (("show", "-T", "a=1", "--usage", "none.yaml"), 4, "error: none.yaml: cannot be read"),
    (("diff", "web.yaml"), 2, "error: found nothing to compare with\n"),
    (("diff", "none.yaml", "web.yaml"), 4, "error: none.yaml: cannot be read"),
]


@pytest.mark.parametrize(("words", "code", "message"), MISUSE, ids=lambda value: str(value)[:60])
def test_misuse(words: tuple[str, ...], code: int, message: str, pods: Pods) -> None:
    result = pods(*words)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(message)


DEBUGGED = """
apiVersion: v1
kind: Pod
metadata: {name: web, uid: "1"}
spec:
  containers: [{name: app, resources: {limits: {cpu: 2, memory: 1Gi}}}]
  ephemeralContainers: [{name: debugger, image: busybox}]
status: {phase: Running}
"""


@pytest.mark.parametrize(
    ("words", "cpus"),
    [
        ((), "on all CPUs, because the CPU Manager policy is none"),
        (
            ("--kubelet-config", "fixtures/kubelet/static.yaml"),
            "in the shared pool as of its start: the CPU Manager never updates its CPUs",
        ),
    ],
    ids=["none", "static"],
)
def test_ephemeral_containers(words: tuple[str, ...], cpus: str, cpuctl: Cpuctl) -> None:
    given = ("pods", "show", "-q", "-f", "-", *words)
    document = json.loads(cpuctl(*given, "-o", "json", stdin=DEBUGGED.encode()).out)
    follow_schema(document, "podsshow")
    (pod,) = document["pods"]
    assert pod["apiServer"]["rejections"] == []
    (found,) = pod["ephemeralContainers"]
    assert (found["name"], found["cpus"], found["oomScoreAdj"]) == ("debugger", cpus, -997)
    assert (found["cgroup"]["cpuShares"], found["cgroup"]["cpuQuota"]) == (2, None)
    out = cpuctl(*given, stdin=DEBUGGED.encode(), columns=300).out
    assert f"debugger (ephemeral): {cpus}" in out


def test_an_unsupported_release_is_attributed_to_its_option(cpuctl: Cpuctl) -> None:
    refused = cpuctl("pods", "diff", "fixtures/pods/web.yaml", "--to", "1.25")
    assert refused.err.startswith("error: --to: kubelet 1.25 is not supported: ")


IN_WHOLE_CORES = (
    *("-m", "synthetic:2s2n8c2t", "-q", "--kubelet-args"),
    "--cpu-manager-policy=static --reserved-cpus=0,16 --cpu-manager-policy-options=full-pcpus-only=true",
)


@pytest.mark.parametrize(("cpus", "whole"), [("100m", 2), ("2500m", 4)])
def test_a_node_that_allocates_whole_cores_admits_what_is_advised(
    cpus: str, whole: int, cpuctl: Cpuctl
) -> None:
    node = IN_WHOLE_CORES
    shown = json.loads(cpuctl("pods", "show", "-T", f"web={cpus}/{cpus},1Gi", *node, "-o", "json").out)
    advised = shown["pods"][0]["containers"][0]["exclusiveCPUs"]
    assert {each["after"] for each in advised["changes"]} == {str(whole)}
    assert advised["countAfter"] == whole
    assert cpuctl("plan", "-T", f"web={whole}/{whole},1Gi", *node).code == 0
    assert cpuctl("plan", "-T", f"web={whole - 1}/{whole - 1},1Gi", *node).code == 3


def test_advice_covers_every_container_that_would_get_a_part_of_a_core(cpuctl: Cpuctl) -> None:
    """The change makes the pod Guaranteed, and with it the other container's odd number of CPUs exclusive."""

    def resources(requests: str, limits: str) -> dict[str, dict[str, str]]:
        return {
            side: {"cpu": cpus, "memory": "64Mi"}
            for side, cpus in (("requests", requests), ("limits", limits))
        }

    containers = [
        {"name": "a", "image": "x", "resources": resources("100m", "200m")},
        {"name": "b", "image": "x", "resources": resources("3", "3")},
    ]
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "two"},
        "spec": {"containers": containers},
    }
    given = json.dumps(manifest).encode()
    words = ("pods", "show", "-f", "-", *IN_WHOLE_CORES, "-o", "json")
    for container in json.loads(cpuctl(*words, stdin=given).out)["pods"][0]["containers"]:
        changed = json.loads(given)
        for change in container["exclusiveCPUs"]["changes"]:
            found = re.fullmatch(r"spec\.containers\[(\d)\]\.resources\.(\w+)\.(\w+)", change["path"])
            assert found
            place = changed["spec"]["containers"][int(found[1])]["resources"]
            place[found[2]][found[3]] = change["after"]
        assert changed != json.loads(given)
        assert cpuctl("plan", "-f", "-", *IN_WHOLE_CORES, stdin=json.dumps(changed).encode()).code == 0
