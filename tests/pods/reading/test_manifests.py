from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.model import ContainerKind, Pod, QosClass
from cpuctl.pods.reading import manifests
from tests.support.manifests import read_pods

SPEC = "containers: [{name: main, resources: {limits: {cpu: 2}}}]"
POD = f"{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{{SPEC}}}}}"
FIXTURES = Path(__file__).parents[3] / "fixtures" / "pods"


def pods(text: str) -> tuple[Pod, ...]:
    return read_pods(text, "pods.yaml").pods


def workload(kind: str, api_version: str, spec: str) -> str:
    return f"""
apiVersion: {api_version}
kind: {kind}
metadata: {{name: web, namespace: shop}}
spec:
  {spec}
  template:
    spec: {{{SPEC}}}
"""


def test_pod_in_full() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata:
  name: db
  namespace: shop
  uid: 1-2-3
  annotations: {kubernetes.io/config.source: file}
spec:
  nodeName: worker-1
  priority: 2000001000
  priorityClassName: system-node-critical
  os: {name: linux}
  overhead: {cpu: 250m}
  resources: {limits: {cpu: 6}}
  initContainers:
    - {name: first}
    - {name: proxy, restartPolicy: Always}
    - {name: second, restartPolicy: Never}
  containers:
    - name: main
      resources:
        requests: {cpu: 0.5, example.com/dongle: 1}
        limits: {cpu: "1"}
        claims: [{name: gpu}]
  ephemeralContainers: [{name: debug}]
status: {phase: Running, qosClass: Burstable}
"""
    (pod,) = pods(text)
    assert (pod.full_name, pod.uid, pod.node_name, pod.os_name) == ("shop/db", "1-2-3", "worker-1", "linux")
    assert (pod.priority, pod.priority_class_name, pod.static) == (2000001000, "system-node-critical", True)
    assert (pod.phase, pod.terminal, pod.qos_class) == ("Running", False, QosClass.BURSTABLE)
    assert [(item.name, item.kind) for item in pod.all_containers] == [
        ("first", ContainerKind.INIT),
        ("proxy", ContainerKind.SIDECAR),
        ("second", ContainerKind.INIT),
        ("main", ContainerKind.APP),
    ]
    resources = pod.containers[0].resources
    assert {name: str(amount) for name, amount in resources.requests.items()} == {
        "cpu": "500m",
        "example.com/dongle": "1",
    }
    assert resources.claims == ("gpu",)
    assert pod.resources is not None
    assert str(pod.resources.limits["cpu"]) == "6"
    assert str(pod.overhead["cpu"]) == "250m"
    assert str(pod.origin) == "pods.yaml:2"


def test_omitted_members_have_their_defaults() -> None:
    (pod,) = pods(POD)
    assert (pod.full_name, pod.owner, pod.static, pod.qos_class) == ("default/web", "", False, None)
    assert pod.resources is None
    assert len(pod.uid) == 36


def test_empty_pod_level_resources_differ_from_missing_ones() -> None:
    (pod,) = pods(f"{{kind: Pod, metadata: {{name: web}}, spec: {{{SPEC}, resources: {{}}}}}}")
    assert pod.resources is not None
    assert not pod.has_pod_level_resources


def test_ended_pods_are_terminal() -> None:
    phases = ("Pending", "Running", "Unknown", "Succeeded", "Failed")
    found = [pods(POD[:-1] + f", status: {{phase: {phase}}}}}")[0] for phase in phases]
    assert [pod.phase for pod in found if pod.terminal] == ["Succeeded", "Failed"]


def test_generated_names_are_completed() -> None:
    (pod,) = pods(POD.replace("name: web", "generateName: job-"))
    assert pod.name == "job-0"


@dataclass(frozen=True)
class Replicas:
    """A workload and the names of its pods."""

    kind: str
    api_version: str
    spec: str
    want: list[str]


REPLICAS = [
    Replicas("Deployment", "apps/v1", "replicas: 2", ["web-0", "web-1"]),
    Replicas("Deployment", "apps/v1", "paused: true", ["web-0"]),
    Replicas("Deployment", "extensions/v1beta1", "replicas: 1", ["web-0"]),
    Replicas("ReplicaSet", "apps/v1", "replicas: 2", ["web-0", "web-1"]),
    Replicas("ReplicationController", "v1", "replicas: 1", ["web-0"]),
    Replicas("StatefulSet", "apps/v1", "replicas: 2", ["web-0", "web-1"]),
    Replicas("StatefulSet", "apps/v1", "replicas: 2\n  ordinals: {start: 5}", ["web-5", "web-6"]),
    Replicas("DaemonSet", "apps/v1", "minReadySeconds: 3", ["web-0"]),
    Replicas("Job", "batch/v1", "parallelism: 2", ["web-0", "web-1"]),
    Replicas("Job", "batch/v1", "parallelism: 5\n  completions: 2", ["web-0", "web-1"]),
]


@pytest.mark.parametrize("case", REPLICAS, ids=lambda case: f"{case.kind} {case.spec}")
def test_workloads_are_expanded(case: Replicas) -> None:
    found = pods(workload(case.kind, case.api_version, case.spec))
    assert [pod.name for pod in found] == case.want
    assert {(pod.namespace, pod.owner) for pod in found} == {("shop", f"{case.kind}/web")}
    assert len({pod.uid for pod in found}) == len(found)


def test_no_replicas_make_no_pods() -> None:
    """Scaling to zero is not an error as long as another object makes a pod."""
    found = read_pods(workload("Deployment", "apps/v1", "replicas: 0") + "---\n" + POD, "pods.yaml")
    assert [pod.name for pod in found.pods] == ["web"]


def test_lists_of_kubectl_are_read() -> None:
    item = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main"}]}}
    full = {"apiVersion": "v1", "kind": "Pod", **item}
    for kind, items in (("List", [full]), ("PodList", [item]), ("PodList", [full])):
        (pod,) = pods(json.dumps({"apiVersion": "v1", "kind": kind, "items": items}, indent=1))
        assert pod.name == "web"
        assert str(pod.origin).endswith(": items[0]")


def test_other_objects_are_skipped_and_named() -> None:
    text = f"""
apiVersion: v1
kind: Service
metadata: {{name: web}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: train}}
---
kind: IngressClassParams
---
{POD}
"""
    found = read_pods(text, "pods.yaml")
    assert [item.kind for item in found.skipped] == ["Service", "Job", "IngressClassParams"]


@dataclass(frozen=True)
class Refusal:
    """A manifest that cannot be planned, and the complete message."""

    name: str
    text: str
    want: str


def pod_with(spec: str) -> str:
    return f"kind: Pod\nmetadata: {{name: web}}\nspec:\n  {spec}\n"


LONG = "x" * 254

REFUSALS = [
    Refusal(
        "no pods",
        "kind: Service",
        "pods.yaml: no pods: expected a Pod, a list of pods or a workload",
    ),
    Refusal("no kind", "a: 1", "pods.yaml:1: kind is missing: expected a Kubernetes object"),
    Refusal("a list", "- 1", "pods.yaml:1: expected a mapping, found a list"),
    Refusal("no metadata", "kind: Pod", "pods.yaml:1: metadata is missing"),
    Refusal(
        "no name",
        "kind: Pod\nmetadata: {}\nspec: {containers: [{name: a}]}",
        "pods.yaml:2: metadata: name is missing",
    ),
    Refusal("no spec", "kind: Pod\nmetadata: {name: a}", "pods.yaml:1: spec is missing"),
    Refusal("no containers", pod_with("os: {}"), "pods.yaml:3: spec: containers is missing"),
    Refusal(
        "empty containers",
        pod_with("containers: []"),
        "pods.yaml:4: spec.containers: expected at least one container, found none",
    ),
    Refusal(
        "no container name", pod_with("containers: [{}]"), "pods.yaml:4: spec.containers[0]: name is missing"
    ),
    Refusal(
        "empty container name",
        pod_with("containers: [{name: ''}]"),
        "pods.yaml:4: spec.containers[0].name: expected a container name, found an empty string",
    ),
    Refusal(
        "two of one name",
        pod_with("initContainers: [{name: a}]\n  containers: [{name: b}, {name: a}]"),
        'pods.yaml:5: spec.containers[1].name: two containers are called "a"',
    ),
    Refusal(
        "bad quantity",
        pod_with("containers: [{name: a, resources: {limits: {nvidia.com/gpu: [1]}}}]"),
        'pods.yaml:4: spec.containers[0].resources.limits["nvidia.com/gpu"]: expected a quantity,'
        " found a list",
    ),
    Refusal(
        "bad QoS class",
        POD[:-1] + ", status: {qosClass: Best}}",
        "pods.yaml:1: status.qosClass: expected one of Guaranteed, Burstable, BestEffort,"
        ' found the string "Best"',
    ),
    Refusal(
        "too many replicas",
        workload("Deployment", "apps/v1", "replicas: 10001"),
        "pods.yaml:6: spec.replicas: expected a whole number of at most 10000, found the number 10001",
    ),
    Refusal(
        "too large an ordinal",
        workload("StatefulSet", "apps/v1", "ordinals: {start: 1e300}"),
        "pods.yaml:6: spec.ordinals.start: expected a whole number of at most 2147483647,"
        " found the number 1e+300",
    ),
    Refusal(
        "long name",
        POD.replace("name: web", f"name: {LONG}"),
        "pods.yaml:1: metadata.name: expected a name of at most 253 characters, found 254",
    ),
    Refusal(
        "long prefix of names",
        POD.replace("name: web", f"generateName: {LONG}"),
        "pods.yaml:1: metadata.generateName: expected a name of at most 253 characters, found 254",
    ),
    Refusal(
        "long namespace",
        POD.replace("name: web", f"name: web, namespace: {LONG}"),
        "pods.yaml:1: metadata.namespace: expected a name of at most 253 characters, found 254",
    ),
    Refusal(
        "long uid",
        POD.replace("name: web", f"name: web, uid: {LONG}"),
        "pods.yaml:1: metadata.uid: expected a name of at most 253 characters, found 254",
    ),
    Refusal(
        "long container name",
        pod_with(f"containers: [{{name: {LONG}}}]"),
        "pods.yaml:4: spec.containers[0].name: expected a name of at most 253 characters, found 254",
    ),
    Refusal(
        "two pods of one uid",
        "\n---\n".join(POD.replace("name: web", f"name: {name}, uid: u") for name in "ab"),
        "pods.yaml: pods default/a (pods.yaml:1) and default/b (pods.yaml:3) have the same UID u",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.name)
def test_errors_name_place_and_reason(case: Refusal) -> None:
    with pytest.raises(InputError) as caught:
        read_pods(case.text, "pods.yaml")
    assert str(caught.value) == case.want


def test_multiplying_manifests_are_stopped() -> None:
    text = "\n---\n".join([workload("Deployment", "apps/v1", "replicas: 10000")] * 11)
    with pytest.raises(InputError, match="more than 100,000 pods"):
        read_pods(text, "pods.yaml")


AMOUNTS = ", ".join(f"example.com/r{n}: 1" for n in range(250))
MULTIPLIED = {
    "containers": "containers: [" + ", ".join(f"{{name: c{n}}}" for n in range(250)) + "]",
    "limits": f"containers: [{{name: a, resources: {{limits: {{{AMOUNTS}}}}}}}]",
    "overhead": f"containers: [{{name: a}}], overhead: {{{AMOUNTS}}}",
    "pod-level requests": f"containers: [{{name: a}}], resources: {{requests: {{{AMOUNTS}}}}}",
}


@pytest.mark.parametrize("spec", MULTIPLIED.values(), ids=MULTIPLIED)
def test_replicas_multiply_containers_and_amounts(spec: str) -> None:
    """Each replica gets its own defaults later, so the template's size counts once per replica."""
    text = workload("Deployment", "apps/v1", "replicas: 10000").replace(SPEC, spec)
    with pytest.raises(InputError, match=r"^pods.yaml:2: more than 2,000,000 containers, amounts and other"):
        read_pods(text, "pods.yaml")


def test_objects_that_are_not_pods_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_PARTS", 100)
    text = "kind: List\nitems:\n- &a {kind: List, items: [&b {kind: X}, *b, *b]}\n" + "- *a\n" * 40
    with pytest.raises(InputError, match="more than 100 containers, amounts and other objects"):
        read_pods(text, "pods.yaml")


def test_without_a_pod_the_hint_names_the_objects_found() -> None:
    with pytest.raises(InputError) as caught:
        read_pods("kind: Service\n---\nkind: ConfigMap", "pods.yaml")
    assert caught.value.hint == "found only ConfigMap, Service"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_manifests_are_read(path: Path) -> None:
    assert read_pods(path.read_bytes(), path.name).pods
