from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.resource_quotas import QuotaLedger, ResourceQuota, Scope, charge, pod_usage
from tests.support.pods import amounts, app, init, manifest, resources, texts

FULL = manifest(app("cpu=1 memory=1Gi", "cpu=2 memory=2Gi"), overhead="cpu=250m")
BURSTABLE = QosClass.BURSTABLE


def quota(hard: str, *scopes: Scope, used: str | None = None, name: str = "team") -> ResourceQuota:
    return ResourceQuota(
        name=name, hard=amounts(hard), used=None if used is None else amounts(used), scopes=scopes
    )


def test_amounts_that_a_pod_is_charged() -> None:
    given = manifest(app("cpu=1 hugepages-2Mi=4Mi nvidia.com/gpu=2 ephemeral-storage=1Gi", "cpu=2"))
    assert texts(pod_usage(given)) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "limits.cpu": "2",
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "ephemeral-storage": "1Gi",
        "requests.ephemeral-storage": "1Gi",
        "requests.nvidia.com/gpu": "2",
    }


def test_a_pod_that_has_ended_counts_only_as_an_object() -> None:
    assert set(pod_usage(FULL._replace(phase="Succeeded"))) == {"count/pods"}


def test_overhead_and_pod_level_amounts_are_charged() -> None:
    given = manifest(app("cpu=1"), pod_level=resources("cpu=3"), overhead="cpu=250m")
    assert texts(pod_usage(given))["requests.cpu"] == "3250m"


@dataclass(frozen=True)
class Refused:
    """The verdict of a quota on a pod."""

    name: str
    quota: ResourceQuota
    pod: Pod
    want: str = ""
    used: str = ""


EXCEEDED = "exceeded quota: team, requested: {}, used: {}, limited: {}"
REFUSED = [
    Refused("room enough", quota("requests.cpu=2"), FULL),
    Refused(
        "too much",
        quota("requests.cpu=1"),
        FULL,
        EXCEEDED.format("requests.cpu=1250m", "requests.cpu=600m", "requests.cpu=1"),
        "requests.cpu=600m",
    ),
    Refused(
        "two at once, by name",
        quota("requests.cpu=1 pods=3 memory=10Gi"),
        FULL,
        EXCEEDED.format("pods=1,requests.cpu=1250m", "pods=3,requests.cpu=0", "pods=3,requests.cpu=1"),
        "pods=3",
    ),
    Refused("no request never exceeds a quota", quota("requests.cpu=0"), manifest(app("cpu=0"))),
    Refused(
        "a container without the amount",
        quota("cpu=9 limits.memory=9Gi"),
        manifest(app("cpu=1", name="b"), app(name="a"), init(name="c")),
        "failed quota: team: must specify cpu for: a,c; limits.memory for: a,b,c",
    ),
    Refused("pod-level amounts are enough", quota("cpu=9"), manifest(app(), pod_level=resources("cpu=1"))),
    Refused("huge pages need not be given", quota("hugepages-2Mi=1Gi"), manifest(app())),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refusals(case: Refused) -> None:
    found = charge(case.quota, case.pod, amounts(case.used))
    assert found.refusals == ((case.want,) if case.want else ())


@dataclass(frozen=True)
class Scoped:
    """Whether a quota with one scope counts a pod."""

    name: str
    scope: Scope
    pod: Pod
    qos: QosClass = BURSTABLE
    want: bool = True


URGENT = FULL._replace(priority_class_name="urgent")
CLASSES = ("urgent", "calm")
SCOPED = [
    Scoped("running for long", Scope("NotTerminating"), FULL),
    Scoped("running for long, other scope", Scope("Terminating"), FULL, want=False),
    Scoped("with a deadline", Scope("Terminating"), FULL._replace(has_deadline=True)),
    Scoped("best effort", Scope("BestEffort"), FULL, QosClass.BEST_EFFORT),
    Scoped("not best effort", Scope("NotBestEffort"), FULL, QosClass.BEST_EFFORT, want=False),
    Scoped("other namespaces", Scope("CrossNamespacePodAffinity"), FULL._replace(crosses_namespaces=True)),
    Scoped("has a class", Scope("PriorityClass"), URGENT),
    Scoped("has no class", Scope("PriorityClass", "DoesNotExist"), FULL),
    Scoped("one of classes", Scope("PriorityClass", "In", CLASSES), URGENT),
    Scoped("not in classes", Scope("PriorityClass", "NotIn", CLASSES), URGENT, want=False),
    Scoped("without a class, not in classes", Scope("PriorityClass", "NotIn", CLASSES), FULL),
    Scoped("without a class, one of classes", Scope("PriorityClass", "In", CLASSES), FULL, want=False),
    Scoped("an unknown scope", Scope("Sometimes"), FULL, want=False),
]


@pytest.mark.parametrize("case", SCOPED, ids=lambda case: case.name)
def test_scopes(case: Scoped) -> None:
    assert quota("pods=1", case.scope).matches(case.pod, case.qos) is case.want


@pytest.mark.parametrize("hard", ["services=1", "requests.storage=1Gi", "count/configmaps=1", ""])
def test_quotas_that_pods_do_not_count_against(hard: str) -> None:
    assert not quota(hard).matches(FULL, BURSTABLE)


def named(name: str, **more: Any) -> Pod:
    return FULL._replace(name=name, **more)


def test_pods_are_charged_one_after_the_other() -> None:
    ledger = QuotaLedger([quota("pods=2")])
    found = [ledger.create(named(name), BURSTABLE) for name in "abc"]
    assert [bool(each[0].refusals) for each in found] == [False, False, True]
    assert texts(dict(ledger.used[0])) == {"pods": "2"}


def test_a_pod_that_one_quota_rejects_is_charged_to_none() -> None:
    ledger = QuotaLedger([quota("pods=0", name="none"), quota("pods=5")])
    ledger.create(named("a"), BURSTABLE)
    assert ledger.used == ({}, {})


def test_a_pod_rejected_for_another_reason_gets_all_messages_and_is_not_charged() -> None:
    ledger = QuotaLedger([quota("pods=0")])
    (found,) = ledger.create(named("a"), BURSTABLE, valid=False)
    assert found.refusals
    ledger = QuotaLedger([quota("pods=1")])
    ledger.create(named("a"), BURSTABLE, valid=False)
    assert ledger.used == ({},)


def test_pods_of_the_cluster_count_as_used() -> None:
    ledger = QuotaLedger([quota("pods=2")])
    for name in ("old", "older"):
        ledger.count(named(name), BURSTABLE)
    assert "used: pods=2" in ledger.create(named("new"), BURSTABLE)[0].refusals[0]
    assert ledger.create(named("old"), BURSTABLE) == ()


def test_the_status_counts_them_already() -> None:
    ledger = QuotaLedger([quota("pods=2", used="pods=1")])
    ledger.count(named("old"), BURSTABLE)
    ledger.create(named("new"), BURSTABLE)
    assert texts(dict(ledger.used[0])) == {"pods": "2"}
    ledger.release(named("old"))
    assert texts(dict(ledger.used[0])) == {"pods": "1"}


def test_other_namespaces_and_static_pods_are_not_charged() -> None:
    ledger = QuotaLedger([quota("pods=0")])
    assert ledger.create(named("a", namespace="elsewhere"), BURSTABLE) == ()
    assert ledger.create(named("a", static=True), BURSTABLE) == ()


def test_copies_are_independent() -> None:
    ledger = QuotaLedger([quota("pods=1")])
    ledger.copy().create(named("a"), BURSTABLE)
    assert not ledger.create(named("b"), BURSTABLE)[0].refusals


def test_resizes_are_charged_for_growth() -> None:
    small, large = (named("a", containers=(app(f"cpu={n}", f"cpu={n}"),)) for n in (1, 3))
    ledger = QuotaLedger([quota("requests.cpu=3500m pods=1")])
    ledger.create(small, BURSTABLE)
    words = EXCEEDED.format("requests.cpu=2", "requests.cpu=1250m", "requests.cpu=3")
    assert QuotaLedger([quota("requests.cpu=3", used="requests.cpu=1250m")]).resize(
        small, large, BURSTABLE
    ) == (words,)
    assert ledger.resize(small, large, BURSTABLE) == ()
    assert texts(dict(ledger.used[0])) == {"pods": "1", "requests.cpu": "3250m"}
    # Requested once more, as when the kubelet tries again: nothing grows any longer.
    assert ledger.resize(small, large, BURSTABLE) == ()
    assert ledger.resize(large, small, BURSTABLE) == ()
    assert texts(dict(ledger.used[0])) == {"pods": "1", "requests.cpu": "1250m"}
