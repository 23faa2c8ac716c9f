"""The examples of KEP-2837 with figures: derived amounts, rejections, cgroups and OOM scores."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_facts import NodeOfPods, PodFacts, pod_facts
from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.cgroups.files import CgroupHost, WeightFormula, v2_files
from cpuctl.pods.cgroups.values import CgroupValues
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.rules import PodRules, ServerRules
from cpuctl.pods.stored import provenance
from tests.support.pods import app, manifest, resources

GI = 1 << 30
NODE = NodeOfPods(memory=1000 * GI)
SERVER = ServerRules()


def using(request: int = 0, limit: int = 0, name: str = "a") -> Container:
    """Return a container with its memory in Gi; 0 leaves an amount unset."""
    requests, limits = (f"memory={amount}Gi" if amount else "" for amount in (request, limit))
    return app(requests, limits, name)


def whole(request: int, limit: int, *containers: Container) -> Pod:
    """Return a pod with its pod-level memory in Gi; 0 leaves an amount unset."""
    requests, limits = (f"memory={amount}Gi" if amount else "" for amount in (request, limit))
    return manifest(*containers, pod_level=resources(requests, limits))


def stored(facts: PodFacts) -> tuple[str, str]:
    """Return the pod-level request and limit as they are stored."""
    own = facts.stored.pod.resources
    assert own is not None
    return str(own.requests.get("memory", "")), str(own.limits.get("memory", ""))


def file(values: CgroupValues, name: str) -> str:
    return v2_files(values, WeightFormula.LINEAR, CgroupHost())[name].text


def limits(facts: PodFacts) -> list[str]:
    """Return ``memory.max`` of the pod and its containers, in Gi."""
    texts = [file(each, "memory.max") for each in (facts.cgroup, *(one.cgroup for one in facts.containers))]
    return [text if text == "max" else str(int(text) // GI) for text in texts]


DERIVED = {
    "row 5, a limit for the pod alone": (
        whole(0, 100, using(), using(name="b")),
        "100Gi",
        ["100", "100", "100"],
    ),
    "row 7, requests in all containers": (
        whole(0, 100, using(50), using(50, name="b")),
        "100Gi",
        ["100", "100", "100"],
    ),
    "requests and limits in one container": (
        whole(0, 100, using(50, 50), using(name="b")),
        "50Gi",
        ["100", "50", "100"],
    ),
    "requests in three containers": (
        whole(0, 100, using(10), using(20, name="b"), using(20, name="c")),
        "50Gi",
        ["100", "100", "100", "100"],
    ),
}


@pytest.mark.parametrize(("given", "request_", "maxima"), DERIVED.values(), ids=DERIVED)
def test_a_request_is_derived_and_the_pods_limit_only_applies_to_cgroups(
    given: Pod, request_: str, maxima: list[str]
) -> None:
    facts = pod_facts(given, NODE)
    assert stored(facts) == (request_, "100Gi")
    assert limits(facts) == maxima
    # The limits that a container runs with are not written into its manifest.
    kept = [each.resources.limits for each in facts.stored.pod.containers]
    assert kept == [each.resources.limits for each in given.containers]


UNBOUNDED = {
    "nothing in containers": whole(100, 0, using(), using(name="b")),
    "a limit in one container": whole(100, 0, using(0, 60), using(name="b")),
}


@pytest.mark.parametrize("given", UNBOUNDED.values(), ids=UNBOUNDED)
def test_without_limits_of_all_containers_the_pod_has_no_limit(given: Pod) -> None:
    facts = pod_facts(given, NODE)
    assert stored(facts)[1] == ""
    assert limits(facts)[0] == limits(facts)[2] == "max"


def test_containers_without_resources_have_the_lowest_weight_and_no_quota() -> None:
    facts = pod_facts(manifest(app(), app(name="b"), pod_level=resources("cpu=2")), NODE)
    for each in facts.containers:
        assert (file(each.cgroup, "cpu.weight"), file(each.cgroup, "cpu.max")) == ("1", "max 100000")


BEYOND = {
    "row 6": whole(0, 100, using(0, 60), using(0, 60, name="b")),
    "row 10": whole(100, 0, *[using(0, 60)] * 2),
}


@pytest.mark.parametrize("given", BEYOND.values(), ids=BEYOND)
def test_limits_that_become_requests_may_exceed_the_pods_resources(given: Pod) -> None:
    text = "must be greater than or equal to aggregate container requests of 120Gi"
    found = PodServer(SERVER).create(provenance(given, PodRules(server=SERVER)).pod).refusals
    if given.resources and not given.resources.requests:
        # The request is the sum of the containers' requests, and exceeds the pod-level limit.
        text = "must be less than or equal to memory limit of 100Gi"
    assert any(text in each for each in found), found


SCORES = {
    "nothing requested, pod": (whole(180, 0, *[using()] * 3), [940, 940, 940]),
    "requests, no pod": (manifest(using(50), using(100), using()), [950, 900, 999]),
    "requests, pod": (whole(180, 0, using(50), using(100), using()), [940, 890, 990]),
}


@pytest.mark.parametrize(("given", "scores"), SCORES.values(), ids=SCORES)
def test_a_pod_level_request_beyond_the_containers_lowers_all_scores(given: Pod, scores: list[int]) -> None:
    """If the KEP has 1000, kubelets have 999: see docs/keps.md."""
    assert [each.oom.value for each in pod_facts(given, NODE).containers] == scores
