from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.errors import UsageError
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.reading.template import pods_from_template
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod


@dataclass(frozen=True)
class Template:
    """A template, the names of its pods, and requests and limits as text."""

    text: str
    names: list[str]
    requests: dict[str, str]
    limits: dict[str, str]


BOTH = {"cpu": "4", "memory": "2Gi"}
TEMPLATES = [
    Template("web=4/4,2Gi/2Gi x3", ["web-0", "web-1", "web-2"], BOTH, BOTH),
    Template("web=4/4,2Gi", ["web"], BOTH, BOTH),
    Template("web=4", ["web"], {"cpu": "4"}, {"cpu": "4"}),
    Template(
        "web=1500m/2,1Gi/2Gi", ["web"], {"cpu": "1500m", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}
    ),
    Template("web=4/", ["web"], {"cpu": "4"}, {}),
    Template("web=/4", ["web"], {}, {"cpu": "4"}),
    Template("web=,2Gi", ["web"], {"memory": "2Gi"}, {"memory": "2Gi"}),
    Template("web=", ["web"], {}, {}),
    Template("web= x1", ["web-0"], {}, {}),
    Template("web", ["web"], {}, {}),
    Template("web x2", ["web-0", "web-1"], {}, {}),
    Template("web.yaml=1/2", ["web.yaml"], {"cpu": "1"}, {"cpu": "2"}),
    Template(
        " a.b-c = 1 , 1Gi  x2 ",
        ["a.b-c-0", "a.b-c-1"],
        {"cpu": "1", "memory": "1Gi"},
        {"cpu": "1", "memory": "1Gi"},
    ),
]


@pytest.mark.parametrize("case", TEMPLATES, ids=lambda case: case.text)
def test_templates_make_pods(case: Template) -> None:
    pods = pods_from_template(case.text)
    assert [pod.name for pod in pods] == case.names
    for pod in pods:
        (container,) = pod.containers
        assert {name: str(amount) for name, amount in container.resources.requests.items()} == case.requests
        assert {name: str(amount) for name, amount in container.resources.limits.items()} == case.limits
        assert (pod.uid, str(pod.origin)) == ("", f"-T '{case.text}'")


@pytest.mark.parametrize(
    ("text", "qos"),
    [
        ("web=4/4,2Gi/2Gi", "Guaranteed"),
        ("web=/4,/2Gi", "Guaranteed"),
        ("web=1/2,1Gi/2Gi", "Burstable"),
        ("web=1/,1Gi/", "Burstable"),
        ("web=4/4", "Burstable"),
        ("web=,2Gi", "Burstable"),
        ("web", "BestEffort"),
        ("web=", "BestEffort"),
    ],
)
def test_amounts_determine_the_class(text: str, qos: str) -> None:
    (pod,) = pods_from_template(text)
    assert pod_qos(stored_pod(pod, PodRules())).qos_class == qos


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web 4", "not a pod template"),
        ("web.yaml", "this looks like a file name: use -f"),
        ("pods.json x3", "this looks like a file name: use -f"),
        ("=4", "not a pod template"),
        ("Web=4", '"Web" is not a pod name: expected lower-case letters, digits, - and .'),
        ("web=4,1Gi,3", "not a pod template"),
        ("web=4x3", 'expected a quantity, found "4x3": quantities must match'),
        ("web=4/4/4", 'expected a quantity, found "4/4": quantities must match'),
        ("web=4 x0", "expected 1 to 10000 pods, found 0"),
        ("web=4 x10001", "expected 1 to 10000 pods, found 10001"),
    ],
)
def test_other_texts_are_rejected(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        pods_from_template(text)
    assert str(caught.value).startswith(f"-T '{text}': {message}")
    assert "for example web=4/4,2Gi/2Gi x3" in caught.value.hint
