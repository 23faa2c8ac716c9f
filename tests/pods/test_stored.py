from __future__ import annotations

import pytest

from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import Pod
from cpuctl.pods.rules import NodeRules, PodRules, ServerRules
from cpuctl.pods.stored import AmountField, AmountSource, Provenance, provenance, stored_pod
from cpuctl.records import replace
from tests.support.pods import amounts, app, manifest, resources

RULES = PodRules()
LATER = PodRules(server=ServerRules(minor=37, pod_level_limits=True), node=NodeRules(minor=37))
BOUNDS = LimitRange(
    name="bounds",
    items=(LimitRangeItem(type="Container", default=amounts("cpu=2"), default_request=amounts("cpu=1")),),
)


def reported(stored: Provenance) -> dict[str, str]:
    sources = {
        ".".join(filter(None, vars(place).values())): source for place, source in stored.sources.items()
    }
    return {place: source.rule or str(source.how) for place, source in sources.items()}


def test_every_amount_has_an_origin() -> None:
    given = manifest(app("", "cpu=1"), pod_level=resources("", "cpu=3"), overhead="cpu=1m")
    assert reported(provenance(given, RULES)) == {
        "main.limits.cpu": "written",
        "main.requests.cpu": "from its limit",
        "limits.cpu": "written",
        "requests.cpu": "the sum of the containers' requests",
        "overhead.cpu": "written",
    }


def test_pod_level_requests_follow_limits_if_containers_have_none() -> None:
    stored = provenance(manifest(app(), pod_level=resources("", "cpu=3")), RULES)
    assert stored.sources[AmountField("", "requests", "cpu")] == AmountSource(
        "defaulted", "from the pod-level limit"
    )


def test_limit_ranges_fill_in_missing_values_in_their_namespace() -> None:
    stored = provenance(manifest(app()), RULES, [BOUNDS])
    rule = "the default of LimitRange bounds"
    assert reported(stored) == {"main.requests.cpu": rule, "main.limits.cpu": rule}
    elsewhere = provenance(manifest(app())._replace(namespace="elsewhere"), RULES, [BOUNDS])
    assert elsewhere.sources == {}


@pytest.mark.parametrize(("rules", "want"), [(RULES, "4"), (LATER, "1")])
def test_pod_level_defaults_come_before_or_after_limit_ranges(rules: PodRules, want: str) -> None:
    """Up to 1.36 the pod's request is derived from its limit before any container has a request."""
    stored = provenance(manifest(app(), pod_level=resources("", "cpu=4")), rules, [BOUNDS]).pod
    assert stored.resources is not None
    assert str(stored.resources.requests["cpu"]) == want


def test_reading_from_storage_adds_defaults_of_containers() -> None:
    least = LimitRangeItem(type="Container", default_request=amounts("memory=1Gi"))
    memory = replace(BOUNDS, items=(least,))
    stored = provenance(manifest(app(), pod_level=resources("", "cpu=4")), RULES, [memory]).pod
    assert stored.resources is not None
    assert str(stored.resources.requests["memory"]) == "1Gi"


@pytest.mark.parametrize("server", [ServerRules(pod_level=False), ServerRules(minor=31, pod_level=False)])
def test_fields_dropped_by_the_server_are_reported(server: ServerRules) -> None:
    stored = provenance(manifest(app("cpu=1"), pod_level=resources("cpu=2")), PodRules(server=server))
    assert stored.pod.resources is None
    assert stored.dropped == {AmountField("", "requests", "cpu"): "dropped by the API server"}
    assert set(reported(stored)) == {"main.requests.cpu"}


def test_pods_of_the_cluster_keep_their_fields() -> None:
    running = manifest(app(), pod_level=resources("cpu=2"))._replace(phase="Running")
    stored = provenance(running, PodRules(server=ServerRules(pod_level=False)), [BOUNDS])
    assert stored.pod.resources == resources("cpu=2")
    assert stored.sources.keys() == {AmountField("", "requests", "cpu")}


SWITCHED_OFF = PodRules(server=ServerRules(pod_level=False))


@pytest.mark.parametrize(
    ("before", "want"), [("cpu=2", "cpu=3"), ("", None)], ids=["in use", "named, and empty"]
)
def test_a_resize_loses_only_fields_that_the_pod_did_not_have(before: str, want: str | None) -> None:
    """``DropDisabledPodFields``: fields that the old pod uses outlive their gate."""
    running = manifest(app(), pod_level=resources(before))._replace(phase="Running")
    wanted = running._replace(resources=resources("cpu=3"))
    stored = stored_pod(wanted, SWITCHED_OFF, before=running)
    assert stored.resources == (None if want is None else resources(want))


def test_a_resize_gets_the_defaults_of_a_new_pod() -> None:
    running = manifest(app("memory=1Gi"))._replace(phase="Running")
    wanted = running._replace(containers=(app("memory=1Gi", "memory=1.5Gi"),))
    (container,) = stored_pod(wanted, RULES, [BOUNDS], before=running).containers
    assert container.resources == resources("memory=1Gi cpu=1", "memory=1536Mi cpu=2")
    assert str(container.resources.limits["memory"]) == "1536Mi"


@pytest.mark.parametrize(("minor", "want"), [(36, "3"), (37, "")])
def test_static_pods_get_the_kubelets_defaults(minor: int, want: str) -> None:
    given = manifest(app("", "cpu=1"), pod_level=resources("", "cpu=3 memory=3"))._replace(static=True)
    rules = PodRules(server=ServerRules(pod_level=False), node=NodeRules(minor=minor))
    stored = provenance(given, rules, [BOUNDS]).pod
    assert str(stored.containers[0].resources.requests["cpu"]) == "1"
    assert stored.resources is not None
    assert str(stored.resources.requests.get("memory", "")) == want


@pytest.mark.parametrize(
    ("name", "priority", "want"),
    [
        ("system-node-critical", None, 2_000_001_000),
        ("system-cluster-critical", None, 2_000_000_000),
        ("system-node-critical", 7, 7),
        ("urgent", None, None),
    ],
)
def test_priority_classes_that_every_cluster_has(name: str, priority: int | None, want: int | None) -> None:
    given: Pod = manifest(app())._replace(priority_class_name=name, priority=priority)
    assert provenance(given, RULES).pod.priority == want
