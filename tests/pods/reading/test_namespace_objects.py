"""LimitRange and ResourceQuota objects next to pods in a text."""

from __future__ import annotations

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.reading import manifests
from cpuctl.pods.reading.manifests import Manifests, decode_manifests
from cpuctl.pods.resource_quotas import Scope
from tests.support.manifests import read_pods
from tests.support.pods import texts

POD = "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: main}, {name: side}]}}\n---\n"


def read(text: str) -> Manifests:
    return read_pods(POD + text, "input")


def test_a_limit_range_is_read_with_its_defaults() -> None:
    (found,) = read(
        "kind: LimitRange\nmetadata: {name: bounds, namespace: shop}\nspec:\n  limits:\n"
        "  - {type: Container, max: {cpu: 4}, min: {memory: 64Mi}, maxLimitRequestRatio: {cpu: 2}}\n"
    ).limit_ranges
    (item,) = found.items
    assert (found.namespace, found.name, str(found.origin)) == ("shop", "bounds", "input:3")
    assert texts(dict(item.default)) == {"cpu": "4"}
    assert texts(dict(item.default_request)) == {"cpu": "4", "memory": "64Mi"}
    assert texts(dict(item.max_ratio)) == {"cpu": "2"}


def test_a_quota_is_read_with_scopes_and_usage() -> None:
    (found,) = read(
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\n"
        "spec:\n  hard: {pods: 5, requests.cpu: 1u}\n"
        "  scopes: [BestEffort]\n  scopeSelector:\n    matchExpressions:\n"
        "    - {scopeName: PriorityClass, operator: In, values: [a, b]}\nstatus: {used: {pods: 2}}\n"
    ).quotas
    assert found.scopes == (Scope("BestEffort"), Scope("PriorityClass", "In", ("a", "b")))
    assert texts(dict(found.hard)) == {"pods": "5", "requests.cpu": "1m"}
    assert found.used is not None
    assert texts(dict(found.used)) == {"pods": "2"}


def test_typed_lists_hold_them_too() -> None:
    found = read(
        "kind: ResourceQuotaList\nitems: [{metadata: {name: a}, spec: {}}, {metadata: {name: b}, spec: {}}]"
    )
    assert [quota.name for quota in found.quotas] == ["a", "b"]
    assert [quota.used for quota in found.quotas] == [None, None]


def test_objects_of_other_groups_are_ignored() -> None:
    found = read("apiVersion: example.com/v1\nkind: LimitRange\nmetadata: {name: a}")
    assert [item.kind for item in found.skipped] == ["LimitRange"]
    assert found.limit_ranges == ()


BROKEN = [
    ("kind: LimitRange\nmetadata: {name: a}", "input:3: spec is missing"),
    ("kind: LimitRange\nmetadata: {name: a}\nspec: {}", "input:5: spec: limits is missing"),
    ("kind: LimitRange\nmetadata: {name: a}\nspec: {limits: [{}]}", "spec.limits[0]: type is missing"),
    (
        "kind: LimitRange\nmetadata: {name: a}\nspec: {limits: [{type: Pod, max: {cpu: 1x}}]}",
        'input:5: spec.limits[0].max.cpu: expected a quantity, found the string "1x"',
    ),
    ("kind: ResourceQuota\nmetadata: {}\nspec: {}", "input:4: metadata: name is missing"),
    (
        "kind: ResourceQuota\nmetadata: {name: a}\nspec: {hard: [1]}",
        "spec.hard: expected a mapping, found a list",
    ),
    (
        (
            "kind: ResourceQuota\nmetadata: {name: a}\n"
            "spec: {scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Maybe}]}}"
        ),
        "expected one of Exists, DoesNotExist, In, NotIn",
    ),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_mistakes_are_reported_with_their_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)


def test_objects_without_pods_are_an_error() -> None:
    with pytest.raises(InputError) as caught:
        read_pods("kind: ResourceQuota\nmetadata: {name: a}\nspec: {}", "input")
    assert caught.value.hint == "found only ResourceQuota"


def test_checks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two containers times a quota, which counts one, and its two amounts."""
    text = "kind: ResourceQuota\nmetadata: {name: a}\nspec: {hard: {pods: 1, cpu: 1}}"
    monkeypatch.setattr(manifests, "MAX_CHECKS", 6)
    assert read(text).quotas
    monkeypatch.setattr(manifests, "MAX_CHECKS", 5)
    with pytest.raises(InputError, match=r"input: more than 5 checks of containers"):
        read(text)


def test_other_namespaces_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_CHECKS", 0)
    assert read("kind: ResourceQuota\nmetadata: {name: a, namespace: shop}\nspec: {hard: {pods: 1}}").quotas


AFFINITY = "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: b}], affinity: %s}}"
TERM = "{topologyKey: host, %s}"
REQUIRED = "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}}"
PREFERRED = (
    "{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: %s}]}}"
)


@pytest.mark.parametrize(
    ("affinity", "want"),
    [
        (REQUIRED % TERM % "namespaces: [shop]", True),
        (REQUIRED % TERM % "namespaces: []", False),
        (REQUIRED % TERM % "namespaceSelector: {}", True),
        (PREFERRED % TERM % "namespaceSelector: {}", True),
        (PREFERRED % TERM % "labelSelector: {}", False),
        ("{nodeAffinity: {}}", False),
    ],
)
def test_affinity_across_namespaces(affinity: str, want: bool) -> None:
    (found,) = decode_manifests(AFFINITY % affinity, "input").pods
    assert found.crosses_namespaces is want


@pytest.mark.parametrize(("seconds", "want"), [("0", True), ("60", True), ("null", False)])
def test_deadlines(seconds: str, want: bool) -> None:
    spec = f"{{containers: [{{name: b}}], activeDeadlineSeconds: {seconds}}}"
    (found,) = decode_manifests(f"{{kind: Pod, metadata: {{name: a}}, spec: {spec}}}", "input").pods
    assert found.has_deadline is want
