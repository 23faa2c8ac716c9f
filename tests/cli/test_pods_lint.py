# ruff: noqa: E501  # manifests of one line each
"""``cpuctl pods lint``: everything that is wrong with manifests, where it is, and what rejects it.

Snapshots are in ``__snapshots__``; ``pytest --snapshot-update`` takes new ones, which are reviewed before
they are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Cpuctl, Result
from tests.cli.test_golden import drawn_lines
from tests.support.costs import seconds_below
from tests.support.schemas import follow_schema

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
GOOD = f"""{HEAD}  containers:
  - name: main
    resources: {{limits: {{cpu: 2, memory: 1Gi}}}}
"""
WRONG = f"""{HEAD}  resources:
    limits: {{cpu: 1, hugepages-2Mi: 3Mi}}
  containers:
  - name: main
    resources:
      requests: {{cpu: 4, memory: 100m}}
      limits: {{cpu: 2, nvidia.com/gpu: 0.5}}
  - name: main
    resource: {{}}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: prod}
spec:
  template:
    spec:
      resources: {limits: {memory: 100Gi}}
      containers:
      - {name: a, resources: {limits: {memory: 60Gi}}}
      - {name: b, resources: {limits: {memory: 60Gi}}}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
PODS_OF_NODE = """apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: odd}, spec: {containers: [{name: a, resources: {limits: {cpu: 3, memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: a, resources: {limits: {memory: 1Ti}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: half}, spec: {containers: [{name: a, resources: {limits: {cpu: 2}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: whole}, spec: {containers: [{name: a, resources: {limits: {cpu: 4, memory: 1Gi}}}]}}
"""
POD_LEVEL = f"{HEAD}  resources: {{limits: {{cpu: 2, memory: 1Gi}}}}\n  containers: [{{name: main}}]\n"
TRAINING = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: ml}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: main, resources: {limits: {cpu: 3, memory: 1Gi}}}]
"""
NO_MORE_THAN_2 = """---
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: ml}
spec: {limits: [{type: Container, max: {cpu: 2}}]}
"""
STATIC_NODE = ("-m", "synthetic:2s2n8c2t,mem=64Gi", "--kubelet-config", "static.yaml")
FILES = {
    "good.yaml": GOOD,
    "wrong.yaml": WRONG,
    "service.yaml": SERVICE,
    "deployment.yaml": DEPLOYMENT,
    "several/1-wrong.yaml": f"{SERVICE}---\n{WRONG}",
    "several/2-no-yaml.yaml": f"{GOOD}---\n\tkind: Pod\n---\n{DEPLOYMENT}",
    "several/3-good.json": json.dumps(yaml.safe_load(GOOD) | {"metadata": {"name": "other"}}),
    "repeated.yaml": f"{GOOD}    resources: {{}}\n",
    "node.yaml": PODS_OF_NODE,
    "pod-level.yaml": POD_LEVEL,
    "empty-pod-level.yaml": GOOD.replace("spec:\n", "spec:\n  resources: {}\n"),
    "fraction.yaml": GOOD.replace("cpu: 2", "cpu: 1500m").replace("1Gi", "1.5Gi"),
    "strange.yaml": GOOD.replace("name: web", r'name: "w\e[2Jb"'),
    "training.yaml": TRAINING,
    "limited.yaml": TRAINING + NO_MORE_THAN_2,
    "static.yaml": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
    'cpuManagerPolicyOptions: {full-pcpus-only: "true"}\nreservedSystemCPUs: "0,16"\n',
}

Lint = Callable[..., Result]


@pytest.fixture
def lint(tmp_path: Path, cpuctl: Cpuctl) -> Lint:
    """Return a function that runs ``cpuctl pods lint`` in a directory with the files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def call(*words: str, stdin: bytes = b"", columns: int = 120) -> Result:
        return cpuctl("pods", "lint", *words, stdin=stdin, columns=columns, cwd=tmp_path)

    return call


@dataclass(frozen=True)
class Case:
    """A command line and its exit code."""

    name: str
    words: tuple[str, ...]
    code: int = 0
    stdin: bytes = field(default=b"")


ANSWERS = [
    Case("clean", ("-f", "good.yaml")),
    Case("several mistakes", ("-f", "wrong.yaml"), 3),
    Case("several mistakes, exit zero", ("-f", "wrong.yaml", "--exit-zero")),
    Case("a directory", ("-f", "several"), 3),
    Case("from stdin", ("-f", "-"), 3, WRONG.encode()),
    Case("pods rejected later", ("-f", "deployment.yaml"), 3),
    Case("a repeated key", ("-f", "repeated.yaml"), 3),
    Case("warnings", ("-f", "empty-pod-level.yaml")),
    Case("warnings, strict", ("-f", "empty-pod-level.yaml", "--strict"), 3),
    Case("warnings as errors", ("-f", "empty-pod-level.yaml", "--strict"), 3),
    Case("notes, strict", ("-f", "fraction.yaml", "--strict")),
    Case("a static pod", ("-f", "fraction.yaml", "--static")),
    Case("a known node", ("-f", "node.yaml", *STATIC_NODE), 3),
    Case("a known configuration", ("-f", "node.yaml", "-f", "fraction.yaml", *STATIC_NODE[2:])),
    Case(
        "an API server without pod-level resources", ("-f", "pod-level.yaml", "--apiserver-version=1.31"), 3
    ),
    Case(
        "an API server that drops pod-level resources",
        ("-f", "pod-level.yaml", "--apiserver-version=1.33", "--kubelet-version=1.34"),
    ),
    Case(
        "a kubelet that ignores pod-level resources",
        ("-f", "pod-level.yaml", "--kubelet-version=1.33", "--apiserver-version=1.34"),
        0,
    ),
    Case(
        "gates of both",
        (
            *("-f", "pod-level.yaml", "--kubelet-version=1.34", "--feature-gates=PodLevelResources=false"),
            "--apiserver-feature-gates=PodLevelResources=true",
        ),
        3,
    ),
    Case("gates that prevent a start", ("-f", "good.yaml", "--feature-gates=PodLevelResources=false")),
    Case("cgroup v1", ("-f", "pod-level.yaml", "--cgroup-version=1")),
    Case("control characters", ("-f", "strange.yaml"), 3),
    Case("other kinds next to a pod", ("-f", "service.yaml", "-f", "good.yaml")),
]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
@pytest.mark.parametrize("form", ["table", "wide", "jsonl"])
def test_answers(case: Case, form: str, lint: Lint, snapshot: SnapshotAssertion) -> None:
    result = lint(*case.words, "-o", form, stdin=case.stdin)
    assert result.code == case.code
    assert str(result) == snapshot
    assert not [line for line in result.out.splitlines() if line != line.rstrip()]
    assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_tables_fit_a_narrow_terminal(case: Case, lint: Lint) -> None:
    result = lint(*case.words, "-o", "wide", stdin=case.stdin, columns=80)
    assert [line for line in drawn_lines(result.out) if len(line) > 80] == []


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case.name)
def test_json_and_yaml_are_the_same_answer_and_follow_the_schema(case: Case, lint: Lint) -> None:
    result = lint(*case.words, "-o", "json", stdin=case.stdin)
    document = json.loads(result.out)
    assert result.code == case.code
    follow_schema(document)
    assert document == yaml.safe_load(lint(*case.words, "-o", "yaml", stdin=case.stdin).out)
    lines = lint(*case.words, "-o", "jsonl", stdin=case.stdin).out.splitlines()
    assert [json.loads(line) for line in lines] == document["findings"]
    counted: dict[str, Any] = document["summary"]
    severities = [finding["severity"] for finding in document["findings"]]
    assert {word: severities.count(word) for word in ("error", "warning", "note")}.items() <= counted.items()


def test_findings_of_a_file_are_in_the_order_of_its_lines(lint: Lint) -> None:
    found = json.loads(lint("-f", "several", "-o", "json").out)["findings"]
    places = [(finding["file"], finding["line"], finding["column"]) for finding in found]
    assert places == sorted(places)
    assert len({finding["file"] for finding in found}) == 2


@dataclass(frozen=True)
class Misuse:
    """A command line that is invalid, or input that cannot be read."""

    words: tuple[str, ...]
    code: int
    want: str


MISUSES = [
    Misuse((), 2, "found no manifests to check"),
    Misuse(("-f", "-", "--kubelet-config", "-"), 2, "standard input (-) is used twice"),
    Misuse(
        ("-f", "good.yaml", "--apiserver-version=9"),
        2,
        "--apiserver-version: expected a version from 1.27 to 1.38, found '9'",
    ),
    Misuse(
        ("-f", "good.yaml", "--apiserver-feature-gates=A"),
        2,
        "--apiserver-feature-gates: expected GATE=true or GATE=false",
    ),
    Misuse(("-f", "good.yaml", "--cgroup-version=3"), 2, "--cgroup-version: expected 1 or 2"),
    Misuse(("-f", "service.yaml"), 4, "service.yaml: no pods: expected a Pod"),
    Misuse(("-f", "none.yaml"), 4, "none.yaml: cannot be read: no such file or directory"),
    Misuse(("-f", "good.yaml", "--kubelet-config", "good.yaml"), 4, "good.yaml"),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: " ".join(misuse.words) or "nothing")
def test_misuse_is_explained(misuse: Misuse, lint: Lint) -> None:
    result = lint(*misuse.words)
    assert (result.code, result.out) == (misuse.code, "")
    assert misuse.want in result.err


def test_thousands_of_pods_take_seconds(lint: Lint) -> None:
    """Locations are looked up in a text that is read once, however many documents it has."""
    many = "---\n".join([WRONG.replace("name: web", f"name: web-{n}") for n in range(1000)])
    with seconds_below(60):
        result = lint("-f", "-", "-o", "json", stdin=many.encode())
    document = json.loads(result.out)
    assert document["summary"]["objects"] == 1000
    assert document["findings"][-1]["line"] > 11_000


def test_a_pod_with_too_many_containers_is_rejected(lint: Lint) -> None:
    containers = [{"name": f"c{n}"} for n in range(1001)]
    pod = yaml.safe_load(GOOD) | {"spec": {"containers": containers}}
    result = lint("-f", "-", stdin=json.dumps(pod).encode())
    assert result.code == 4
    assert "<stdin>:1: more than 1,000 containers in one pod" in result.err


GOVERNED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template: {spec: {containers: [{name: app, image: app}]}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: filled}
spec: {limits: [{type: Container, default: {cpu: "1"}, min: {cpu: "1"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {limits.cpu: "2"}}
"""


def errors(answer: str) -> list[dict[str, Any]]:
    return [each for each in json.loads(answer)["findings"] if each["severity"] == "error"]


def test_quotas_count_pods_of_workloads_with_limit_range_defaults(cpuctl: Cpuctl) -> None:
    result = cpuctl("pods", "lint", "-q", "-f", "-", "-o", "json", stdin=GOVERNED.encode())
    (finding,) = errors(result.out)
    assert result.code == 3
    assert finding["message"] == (
        'pods "web-2" is forbidden: exceeded quota: small, requested: limits.cpu=1, used: limits.cpu=2, '
        "limited: limits.cpu=2"
    )
    assert finding["note"] == "the API server accepts the Deployment, but rejects 1 of its 3 pods"


def test_lists_of_quotas_are_read(cpuctl: Cpuctl) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "app"}]},
    }
    listed = {"apiVersion": "v1", "kind": "ResourceQuotaList", "items": [quota]}
    result = cpuctl(
        "pods", "lint", "-q", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all([pod, listed]).encode()
    )
    assert [each["code"] for each in errors(result.out)] == ["resource-quota"]


def test_invalid_limit_ranges_are_reported(cpuctl: Cpuctl) -> None:
    text = GOVERNED.replace('min: {cpu: "1"}', 'min: {cpu: "3"}').replace(
        "kind: ResourceQuota", "kind: LimitRange"
    )
    result = cpuctl("pods", "lint", "-q", "-f", "-", "-o", "json", stdin=text.encode())
    codes = [each["code"] for each in errors(result.out)]
    # It is not applied to the pods: no API server stores it.
    assert codes == ["bad-limit-range", "bad-limit-range", "bad-limit-range"]
    static = cpuctl("pods", "lint", "-q", "-f", "-", "--static", "-o", "json", stdin=text.encode())
    assert {each["code"] for each in errors(static.out)} == {"static-kind"}


def test_pod_templates_of_custom_resources_are_checked(lint: Lint) -> None:
    """The kubelet and LimitRanges are applied to the pods of each; what is not checked is reported once."""
    result = lint("-f", "limited.yaml", *STATIC_NODE, "-o", "json")
    answer = json.loads(result.out)
    assert (result.code, answer["summary"]["objects"], answer["summary"]["others"]) == (3, 1, 0)
    where = "spec.pytorchReplicaSpecs.Worker.template.spec"
    found = {each["code"]: each for each in answer["findings"] if each["severity"] == "error"}
    assert {code: (each["line"], each["path"]) for code, each in found.items()} == {
        "smt-alignment": (14, f"{where}.containers[0].resources"),
        "limit-range": (13, where),
    }
    assert found["limit-range"]["note"] == (
        "the API server rejects its pods, even if it accepts the PyTorchJob itself"
    )
    assert result.err.count("PyTorchJob") == 1
    reported = "only the pod templates of PyTorchJob.kubeflow.org/train are checked, not their own schemas"
    assert reported in result.err


def test_the_kubelet_rejects_a_static_custom_resource_once(lint: Lint) -> None:
    answer = json.loads(lint("-f", "training.yaml", "--static", "-o", "json").out)
    assert [each["code"] for each in answer["findings"]] == ["static-kind"]


def test_a_second_pod_of_one_name_is_not_created(lint: Lint) -> None:
    """Unless the first one is rejected."""
    found = json.loads(lint("-f", "good.yaml", "-f", "several/2-no-yaml.yaml", "-o", "json").out)["findings"]
    again = [each for each in found if each["code"] == "name-exists"]
    assert [(each["file"], each["path"], each["message"]) for each in again] == [
        ("several/2-no-yaml.yaml", "metadata.name", 'pods "web" already exists')
    ]
    found = json.loads(lint("-f", "wrong.yaml", "-f", "good.yaml", "-o", "json").out)["findings"]
    assert "name-exists" not in {each["code"] for each in found}


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ("", "set memory of main to 1Gi, in requests and limits"),
        (
            " --cpu-manager-policy-options=full-pcpus-only=true",
            "set cpu of main to 4, memory of main to 1Gi, in requests and limits",
        ),
    ],
)
def test_a_fix_requests_whole_cores_where_the_node_allocates_them(
    options: str, fix: str, cpuctl: Cpuctl, tmp_path: Path
) -> None:
    amounts = "{requests: {cpu: 3, memory: 1G}, limits: {cpu: 3, memory: 1Gi}}"
    (tmp_path / "pod.yaml").write_text(f"{HEAD}  containers: [{{name: main, resources: {amounts}}}]\n")
    node = (
        "-m",
        "synthetic:1s1n8c2t",
        "--kubelet-args",
        f"--cpu-manager-policy=static --reserved-cpus=0,8{options}",
    )
    found = json.loads(cpuctl("pods", "lint", "-f", str(tmp_path / "pod.yaml"), *node, "-o", "json").out)
    assert [each["fix"] for each in found["findings"]] == [fix]
