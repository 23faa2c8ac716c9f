from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.effective import effective_limits, effective_requests
from cpuctl.pods.model import Pod
from tests.support.pods import app, init, manifest, resources, sidecar


@dataclass(frozen=True)
class Case:
    """A pod, its CPUs and their origin."""

    name: str
    pod: Pod
    amount: str
    rule: str


REQUESTS = [
    Case("apps", manifest(app("cpu=1", name="a"), app("cpu=2", name="b")), "3", "sum of app containers"),
    Case(
        "with sidecars",
        manifest(app("cpu=1"), sidecar("cpu=2")),
        "3",
        "sum of app containers and sidecars",
    ),
    Case("an init container needs more", manifest(app("cpu=1"), init("cpu=5")), "5", "init container init"),
    Case(
        "together with a sidecar",
        manifest(sidecar("cpu=1"), init("cpu=5"), app("cpu=1")),
        "6",
        "init container init and the sidecars before it",
    ),
    Case(
        "before any sidecar",
        manifest(init("cpu=5"), sidecar("cpu=1"), app("cpu=1")),
        "5",
        "init container init",
    ),
    Case(
        "before a sidecar without any",
        manifest(sidecar("memory=1Gi"), init("cpu=5"), app("cpu=1")),
        "5",
        "init container init",
    ),
    Case("as much is not more", manifest(app("cpu=5"), init("cpu=5")), "5", "sum of app containers"),
    Case("the pod's own", manifest(app("cpu=5"), pod_level=resources("cpu=1")), "1", "spec.resources"),
    Case(
        "not the pod's",
        manifest(app("cpu=5"), pod_level=resources("memory=1")),
        "5",
        "sum of app containers",
    ),
    Case("overhead", manifest(app("cpu=1"), overhead="cpu=1"), "2", "sum of app containers, plus overhead"),
    Case("only overhead", manifest(app(), overhead="cpu=1"), "1", "nothing but overhead, plus overhead"),
]


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case.name)
def test_requests(case: Case) -> None:
    found = effective_requests(case.pod)["cpu"]
    assert (str(found.amount), found.rule) == (case.amount, case.rule)


LIMITS = [
    Case("all limited", manifest(app("", "cpu=1")), "1", "sum of app containers"),
    Case(
        "not all limited",
        manifest(app("", "cpu=1", name="a"), app(name="b")),
        "1",
        "sum of app containers; unlimited, as not every container has a limit",
    ),
    Case("the pod's own", manifest(app(), pod_level=resources("", "cpu=3")), "3", "spec.resources"),
    Case(
        "no overhead without a request",
        manifest(app("", "cpu=0"), overhead="cpu=1"),
        "0",
        "sum of app containers; unlimited, as not every container has a limit",
    ),
]


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case.name)
def test_limits(case: Case) -> None:
    found = effective_limits(case.pod)["cpu"]
    assert (str(found.amount), found.rule) == (case.amount, case.rule)
