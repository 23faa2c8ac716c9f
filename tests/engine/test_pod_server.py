"""All reasons why a pod is not stored, together and in the API server's order."""

from __future__ import annotations

from cpuctl.engine.pod_server import PodServer
from cpuctl.pods.limit_ranges import LimitRange, LimitRangeItem
from cpuctl.pods.model import StoredPod
from cpuctl.pods.resource_quotas import ResourceQuota
from cpuctl.pods.rules import ServerRules
from tests.support.pods import amounts, app, pod

MOST = LimitRange("most", items=(LimitRangeItem(type="Container", max=amounts("cpu=2")),))
SMALL = ResourceQuota("small", hard=amounts("requests.cpu=1"))
ONE = ResourceQuota("one", hard=amounts("pods=1"))


def named(name: str, requests: str = "cpu=1", limits: str = "cpu=1") -> StoredPod:
    return pod(app(requests, limits), name=name)


def test_all_rejections_of_one_pod_are_reported_together() -> None:
    server = PodServer(ServerRules(), [MOST], [SMALL])
    found = server.create(named("wrong", "cpu=4", "cpu=3"))
    assert [text.partition(":")[0] for text in found.refusals] == [
        'Pod "wrong" is invalid',
        'pods "wrong" is forbidden',
        'pods "wrong" is forbidden',
    ]
    assert "maximum cpu usage per Container is 2" in found.refusals[1]
    assert "exceeded quota: small, requested: requests.cpu=4, used: requests.cpu=0" in found.refusals[2]


def test_a_rejected_pod_is_not_charged() -> None:
    server = PodServer(ServerRules(), [MOST], [ONE])
    assert server.create(named("wrong", "cpu=4", "cpu=3")).refusals
    assert not server.create(named("fine")).refusals
    assert server.create(named("late")).refusals


def test_copies_fill_up_independently() -> None:
    server = PodServer(ServerRules(), quotas=[ONE])
    assert not server.copy().create(named("a")).refusals
    assert not server.create(named("b")).refusals
    assert server.copy().create(named("a")).refusals


def test_a_removed_pod_makes_room() -> None:
    server = PodServer(ServerRules(), quotas=[ONE])
    server.count([named("old")])
    assert server.create(named("new")).refusals
    server.release(named("old"))
    assert not server.create(named("new")).refusals
