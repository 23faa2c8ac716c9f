from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.eviction_rank import eviction_order, eviction_request
from cpuctl.pods.model import Pod
from tests.support.pods import app, manifest, resources

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
    Order("nobody measured first", [(named("a"), 1), (named("b"), None)], "b a"),
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
