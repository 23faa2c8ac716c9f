from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.model import Pod
from cpuctl.pods.out_of_memory import eviction_order, eviction_request, oom_score
from cpuctl.pods.qos import pod_qos
from tests.support.pods import app, init, manifest, resources, sidecar

MEMORY = 100 << 30
CRITICAL = 2_000_000_000


def scores(given: Pod, memory: int | None = MEMORY) -> list[int | None]:
    qos = pod_qos(given).qos_class
    return [oom_score(given, each, qos, memory).value for each in given.all_containers]


@dataclass(frozen=True)
class Case:
    """A pod and the scores of its containers, init containers first."""

    name: str
    pod: Pod
    want: list[int]


PLAIN = manifest(app("memory=1Gi"))
TWO = (app("memory=1Gi", name="a"), app("memory=1Gi", name="b"))
CASES = [
    Case("best effort", manifest(app()), [1000]),
    Case(
        "guaranteed",
        manifest(app("", ""), pod_level=resources("cpu=1 memory=1Gi", "cpu=1 memory=1Gi")),
        [-997],
    ),
    Case("by request", PLAIN, [990]),
    Case("nothing requested", manifest(app("cpu=1")), [999]),
    Case("more than the node has", manifest(app("memory=200Gi")), [3]),
    Case("less than a thousandth", manifest(app("memory=1Mi")), [999]),
    Case(
        "the pod's rest is shared out",
        manifest(*TWO, sidecar(), pod_level=resources("memory=5Gi")),
        [980, 980, 980],
    ),
    Case(
        "ended init containers have a share",
        manifest(app(), init(), pod_level=resources("memory=10Gi")),
        [950, 950],
    ),
    Case("no pod-level memory, no rest", manifest(*TWO, pod_level=resources("cpu=1")), [990, 990]),
    Case("limits leave no rest", manifest(*TWO, pod_level=resources("", "memory=5Gi")), [990, 990]),
    Case("a sidecar outlives the apps", manifest(app("memory=10Gi"), sidecar("memory=1Gi")), [900, 900]),
    Case(
        "a sidecar by its own request",
        manifest(app("memory=1Gi", name="a"), app(name="b"), sidecar("memory=4Gi")),
        [960, 990, 999],
    ),
    Case("an init container is not a sidecar", manifest(app("memory=10Gi"), init("memory=1Gi")), [990, 900]),
    Case(
        "node-critical", PLAIN._replace(priority=CRITICAL, priority_class_name="system-node-critical"), [-997]
    ),
    Case("node-critical by name only", PLAIN._replace(priority_class_name="system-node-critical"), [990]),
    Case(
        "cluster-critical",
        PLAIN._replace(priority=CRITICAL, priority_class_name="system-cluster-critical"),
        [990],
    ),
    Case(
        "static, node-critical",
        PLAIN._replace(static=True, priority_class_name="system-node-critical"),
        [-997],
    ),
    Case("static", PLAIN._replace(static=True), [990]),
    Case(
        "less for the pod than for its containers",
        manifest(*TWO, pod_level=resources("memory=1Gi")),
        [995, 995],
    ),
    Case(
        "far less",
        manifest(app("memory=1Gi", name="a"), app(name="b"), pod_level=resources("memory=1Mi")),
        [995, 1004],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_scores(case: Case) -> None:
    assert scores(case.pod) == case.want


def test_burstable_scores_take_the_nodes_memory() -> None:
    assert scores(PLAIN, None) == [None]
    assert scores(PLAIN, 0) == [None]
    assert scores(manifest(app()), None) == [1000]


@pytest.mark.parametrize(
    ("given", "want"),
    [(PLAIN, False), (PLAIN._replace(static=True), True), (PLAIN._replace(priority=CRITICAL), True)],
)
def test_critical(given: Pod, want: bool) -> None:
    assert given.critical is want


MI = 1 << 20


def named(name: str, memory: str = "", priority: int | None = None) -> Pod:
    return manifest(app(memory and f"memory={memory}"), name=name)._replace(priority=priority)


@dataclass(frozen=True)
class Order:
    """Pods with their use in Mi, and the names in the order of eviction."""

    name: str
    pods: list[tuple[Pod, int | None]]
    want: str


ORDERS = [
    Order("unmeasured pods first", [(named("a"), 1), (named("b"), None)], "b a"),
    Order("more than requested first", [(named("a", "100Mi"), 99), (named("b", "10Mi"), 11)], "b a"),
    Order(
        "then lower priority",
        [(named("a", "1Mi", 10), 2), (named("b", "1Mi", -5), 2), (named("c", "1Mi"), 2)],
        "b c a",
    ),
    Order("then the larger excess", [(named("a", "1Mi"), 5), (named("b", "1Mi"), 9)], "b a"),
    Order("as little below its request", [(named("a", "10Mi"), 5), (named("b", "10Mi"), 9)], "b a"),
    Order("best effort exceeds with anything", [(named("a", "1Mi"), 1), (named("b"), 1)], "b a"),
    Order("equals stay in order", [(named("a"), 1), (named("b"), 1)], "a b"),
    Order("unmeasured ones by priority", [(named("a", "", 1), None), (named("b", "9Mi", 0), None)], "b a"),
    Order("and by nothing else", [(named("a", "9Mi"), None), (named("b", "1Mi"), None)], "a b"),
]


@pytest.mark.parametrize("case", ORDERS, ids=lambda case: case.name)
def test_order(case: Order) -> None:
    pods = [(each, None if usage is None else usage * MI) for each, usage in case.pods]
    assert " ".join(ranked.pod.name for ranked in eviction_order(pods)) == case.want


def test_critical_pods_are_spared_and_keep_their_place() -> None:
    first, second = eviction_order([(named("a", "1Mi"), 5 * MI), (named("b")._replace(static=True), 9 * MI)])
    assert [(first.pod.name, first.spared), (second.pod.name, second.spared)] == [("b", True), ("a", False)]
    assert first.reason == "uses more than it requests, priority 0"


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (manifest(app("memory=1Mi"), overhead="memory=1Mi"), 2 * MI),
        (manifest(app("cpu=1"), overhead="memory=1Mi"), 0),
        (manifest(app("memory=1Mi"), pod_level=resources("memory=3Mi")), 3 * MI),
        (manifest(app("memory=1Mi"), pod_level=resources("cpu=1")), 0),
        (manifest(app("memory=1Mi"), pod_level=resources()), MI),
    ],
)
def test_what_counts_as_requested(given: Pod, want: int) -> None:
    assert eviction_request(given) == want
