from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.consumers import ConsumedAmount, consumed_amounts
from cpuctl.pods.downward_api import DownwardContext
from cpuctl.pods.model import Pod
from cpuctl.pods.rules import DEFAULT_SERVER, NodeRules, ServerRules
from cpuctl.quantity import Quantity
from tests.support.pods import amounts, app, init, manifest, resources, sidecar


def read(
    given: Pod, rules: ServerRules | None = None, allocatable: str | None = "cpu=8 memory=16Gi"
) -> list[ConsumedAmount]:
    rules = rules or ServerRules()
    view = NodeRules(minor=rules.minor, pod_level=rules.pod_level).view(given)
    return consumed_amounts(
        given,
        rules,
        view,
        DownwardContext(rules.minor, None if allocatable is None else amounts(allocatable)),
    )


def one(found: list[ConsumedAmount], reader: str, item: str, container: str = "") -> ConsumedAmount:
    chosen = [each for each in found if (each.reader, each.item, each.container) == (reader, item, container)]
    assert len(chosen) == 1
    return chosen[0]


@dataclass(frozen=True)
class Case:
    """The HPA's and the cluster autoscaler's view of a pod's CPUs."""

    name: str
    pod: Pod
    hpa: str
    autoscaler: str
    rules: ServerRules = DEFAULT_SERVER


PLAIN = manifest(app("cpu=1", name="a"), app("cpu=2", name="b"), sidecar("cpu=500m"), init("cpu=9"))
LEVEL = manifest(app("cpu=1"), pod_level=resources("cpu=5"), overhead="cpu=1")
CASES = [
    Case("by containers", PLAIN, "3500m", "9500m"),
    Case("before sidecars", PLAIN, "3", "9500m", ServerRules(minor=28)),
    Case("by the pod", LEVEL, "6", "6"),
    Case("not in the HPA yet", LEVEL, "1", "6", ServerRules(minor=33)),
    Case("in neither yet", LEVEL, "1", "2", ServerRules(minor=32)),
    Case("with the gate off", LEVEL, "1", "2", ServerRules(pod_level=False)),
    Case(
        "a container requests nothing",
        manifest(app(name="a"), app("cpu=1", name="b")),
        "missing request for cpu in container a of Pod pod",
        "1",
    ),
    Case(
        "nor does the pod",
        manifest(app(), pod_level=resources("memory=1Gi")),
        "missing pod-level request for cpu in Pod pod",
        "",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_autoscalers(case: Case) -> None:
    found = read(case.pod, case.rules)
    hpa = one(found, "HPA", "cpu request")
    assert (hpa.error or str(hpa.amount)) == case.hpa
    if case.autoscaler:
        assert str(one(found, "cluster autoscaler", "cpu request").amount) == case.autoscaler


def test_hpa_of_one_container_ignores_the_pod() -> None:
    found = read(manifest(app("cpu=1", name="a"), app(name="b"), pod_level=resources("cpu=5")))
    assert str(one(found, "HPA", "cpu request", "a").amount) == "1"
    assert one(found, "HPA", "cpu request", "b").error == "missing request for cpu in container b of Pod pod"


def test_vpa_reads_app_containers() -> None:
    found = [each for each in read(manifest(app("cpu=1", "cpu=2"), init("cpu=9"))) if each.reader == "VPA"]
    assert [(each.item, str(each.amount)) for each in found] == [("cpu request", "1"), ("cpu limit", "2")]


@dataclass(frozen=True)
class LimitInside:
    """The value of ``limits.cpu`` in a container."""

    name: str
    pod: Pod
    minor: int
    want: str


INSIDE = [
    LimitInside("its own", manifest(app("", "cpu=1500m")), 36, "2"),
    LimitInside("the pod's", manifest(app(), pod_level=resources("", "cpu=3")), 36, "3"),
    LimitInside(
        "its own before the pod's", manifest(app("", "cpu=1"), pod_level=resources("", "cpu=3")), 36, "1"
    ),
    LimitInside("the node's before 1.34", manifest(app(), pod_level=resources("", "cpu=3")), 33, "8"),
    LimitInside("the node's", manifest(app("cpu=1")), 36, "8"),
    LimitInside("zero means no limit", manifest(app("", "cpu=0")), 36, "8"),
]


@pytest.mark.parametrize("case", INSIDE, ids=lambda case: case.name)
def test_downward_api_limits(case: LimitInside) -> None:
    assert (
        one(read(case.pod, ServerRules(minor=case.minor)), "downward API", "limits.cpu", "main").text
        == case.want
    )


def test_downward_api_requests() -> None:
    found = read(manifest(app("cpu=250m memory=1Gi"), pod_level=resources("cpu=5")))
    assert one(found, "downward API", "requests.cpu", "main").text == "1"
    assert one(found, "downward API", "requests.memory", "main").text == str(1 << 30)
    assert one(read(manifest(app())), "downward API", "requests.cpu", "main").amount == Quantity()


def test_an_unknown_node_leaves_limits_open() -> None:
    found = one(read(manifest(app()), allocatable=None), "downward API", "limits.memory", "main")
    assert (found.amount, found.text) == (None, "")


def test_downward_api_includes_storage_and_huge_pages_if_a_container_names_them() -> None:
    """Storage without a limit is the node's; huge pages are never overcommitted."""
    requested = "cpu=1 hugepages-2Mi=4Mi ephemeral-storage=1Gi"
    given = manifest(app(requested, "hugepages-2Mi=4Mi", name="a"), app("", "", name="b"))
    found = read(given, allocatable="ephemeral-storage=9Gi")
    reported = {
        (each.container, each.item): each.text
        for each in found
        if each.reader == "downward API" and not each.item.endswith(("cpu", "memory"))
    }
    assert reported == {
        ("a", "limits.hugepages-2Mi"): str(4 << 20),
        ("a", "requests.hugepages-2Mi"): str(4 << 20),
        ("a", "limits.ephemeral-storage"): str(9 << 30),
        ("a", "requests.ephemeral-storage"): str(1 << 30),
        ("b", "limits.hugepages-2Mi"): "0",
        ("b", "requests.hugepages-2Mi"): "0",
        ("b", "limits.ephemeral-storage"): str(9 << 30),
        ("b", "requests.ephemeral-storage"): "0",
    }
    plain = read(manifest(app("cpu=1")))
    assert not [each for each in plain if "hugepages" in each.item or "storage" in each.item]


def test_the_scheduler_counts_a_minimum_for_containers_without_requests_when_it_compares_nodes() -> None:
    found = read(manifest(app("cpu=1", name="a"), app(name="b"), init("cpu=2")))
    assert one(found, "scheduler", "cpu request").amount == Quantity.parse("2")
    assert not [each for each in found if each.item == "cpu for scoring"]
    assert one(found, "scheduler", "memory request").amount == Quantity()
    compared = one(found, "scheduler", "memory for scoring")
    assert compared.amount == Quantity.parse("400Mi")
    assert compared.rule == "for scoring nodes, containers without a request count as 200Mi"


def test_a_request_of_zero_stays_zero_and_the_pod_level_request_counts() -> None:
    found = read(manifest(app("cpu=0 memory=0")))
    assert not [each for each in found if each.item.endswith("nodes")]
    found = read(manifest(app(), pod_level=resources("cpu=50m memory=1Mi")))
    assert not [each for each in found if each.item.endswith("nodes")]
    assert one(found, "scheduler", "cpu request").amount == Quantity.parse("50m")
