"""Several resizes on one node: in which order and when pending ones are retried."""

from __future__ import annotations

import pytest

from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.resize.handler import ResizePath
from cpuctl.engine.resize.outcome import ResizeResult
from cpuctl.engine.resize.pending import RetriedResize, resize_all, retry_order
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import PodResize
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.records import replace
from tests.support.pods import app, resources
from tests.support.resizing import NO_POLICY, Setting, admitted, changed, guaranteed, held, pod_of, request

KUBELET = ResizePath(kubelet=ResizeRules(minor=36))


def waiting(
    name: str, to: str = "4", *, priority: int | None = None, since: str = "", burstable: bool = False
) -> PodResize:
    """Return the resize of a pod that has two CPUs."""
    container = app("cpu=2 memory=1Gi", "cpu=9 memory=2Gi", "c") if burstable else guaranteed("2")
    given = pod_of(container, name=name, priority=priority)
    wanted = changed(given, c=f"cpu={to}")
    made = PodResize(request(given, c=f"cpu={to}").running, wanted)
    return replace(made, running=replace(made.running, waiting_since=since))


def names(requests: list[PodResize]) -> list[str]:
    return [each.desired.name for each in requests]


ORDERS = {
    "in order of arrival": ([waiting("a"), waiting("b"), waiting("c")], "abc"),
    "those that request no more first": ([waiting("a", priority=9), waiting("b", "1")], "ba"),
    "then by priority": ([waiting("a"), waiting("b", priority=5), waiting("c", priority=-1)], "bac"),
    "then Guaranteed ones": ([waiting("a", burstable=True), waiting("b")], "ba"),
    "priority before class": ([waiting("a"), waiting("b", burstable=True, priority=1)], "ba"),
    "then the longest pending": (
        [
            waiting("a"),
            waiting("b", since="2026-03-01T10:00:00Z"),
            waiting("c", since="2026-03-01T09:59:59Z"),
        ],
        "cba",
    ),
    "class before time": (
        [
            waiting("a", burstable=True, since="2026-03-01T09:00:00Z"),
            waiting("b", since="2026-03-01T10:00:00Z"),
        ],
        "ba",
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_of_retries(name: str) -> None:
    given, want = ORDERS[name]
    assert names(retry_order(given, KUBELET)) == list(want)


@pytest.mark.parametrize("name", ORDERS)
def test_up_to_1_33_retries_are_in_order_of_arrival(name: str) -> None:
    given, _ = ORDERS[name]
    assert retry_order(given, ResizePath(kubelet=ResizeRules(minor=33))) == given


def test_pod_level_requests_decide_which_pod_requests_more() -> None:
    small = pod_of(app(name="c"), name="a")._replace(resources=resources("cpu=3", "cpu=4"))
    less = request(small)
    less = replace(less, desired=small._replace(resources=resources("cpu=2", "cpu=4")))
    assert names(retry_order([waiting("b"), less], KUBELET)) == ["a", "b"]
    blind = ResizePath(kubelet=ResizeRules(minor=36, pod_level_resources=False))
    assert names(retry_order([waiting("b", "2"), less], blind)) == ["b", "a"]


def by_level(requests: str, wanted: str, name: str) -> PodResize:
    """Return the resize of a pod's pod-level resources."""
    old = pod_of(app(name="c"), name=name)._replace(resources=resources(requests, requests))
    return replace(request(old), desired=old._replace(resources=resources(wanted, wanted)))


LEVEL_ORDERS = {
    "a pod that requests more at pod level comes later": (
        [by_level("cpu=3 memory=1Gi", "cpu=4 memory=1Gi", "a"), waiting("b", "1", burstable=True)],
        "ba",
        "ab",
    ),
    "a pod is Guaranteed by its own resources": (
        [waiting("a", "1", burstable=True), by_level("cpu=3 memory=1Gi", "cpu=2 memory=1Gi", "b")],
        "ba",
        "ab",
    ),
}


@pytest.mark.parametrize("name", LEVEL_ORDERS)
def test_pod_level_resources_count_if_the_kubelet_knows_them(name: str) -> None:
    given, *orders = LEVEL_ORDERS[name]
    paths = [ResizePath(kubelet=ResizeRules(pod_level_resources=level)) for level in (True, False)]
    assert [names(retry_order(given, path)) for path in paths] == [list(order) for order in orders]


def test_retries_are_ordered_from_1_34_on() -> None:
    given, want = ORDERS["then by priority"]
    assert names(retry_order(given, ResizePath(kubelet=ResizeRules(minor=34)))) == list(want)


def test_more_memory_is_also_more() -> None:
    more, less = (
        request(pod_of(guaranteed("2"), name=name), c=f"memory={memory}")
        for name, memory in (("a", "2Gi"), ("b", "1Mi"))
    )
    assert names(retry_order([more, less], KUBELET)) == ["b", "a"]


def test_pending_resizes_are_retried_when_another_pod_shrinks() -> None:
    setting = Setting(minor=36, gates={}, config=NO_POLICY)
    node = setting.node(fit=True)
    first, second, third = (admitted(node, pod_of(guaranteed("4"), name=name)) for name in "abc")
    requests = [request(first, c="cpu=6"), request(second, c="cpu=5"), request(third, c="cpu=1")]
    path = ResizePath(kubelet=setting.rules())
    done = resize_all(node, requests, path)
    assert [(each.outcome.result, each.attempts) for each in done] == [
        (ResizeResult.ADMITTED, 2),
        (ResizeResult.ADMITTED, 2),
        (ResizeResult.ADMITTED, 1),
    ]


def test_the_order_decides_which_pod_gets_freed_cpus() -> None:
    setting = Setting(minor=36, gates={}, config=NO_POLICY)
    node = setting.node(fit=True)
    pods = [
        admitted(node, pod_of(guaranteed("4"), name=name, priority=priority))
        for name, priority in (("a", 0), ("b", 7), ("c", 0))
    ]
    requests = [request(pods[0], c="cpu=6"), request(pods[1], c="cpu=6"), request(pods[2], c="cpu=2")]
    done = resize_all(node, requests, ResizePath(kubelet=setting.rules()))
    rulings = [each.outcome.result for each in done]
    assert rulings == [ResizeResult.DEFERRED, ResizeResult.ADMITTED, ResizeResult.ADMITTED]
    # It was retried after the third one's turn and after the second one's.
    assert [each.attempts for each in done] == [3, 2, 1]


def test_an_infeasible_resize_is_not_retried() -> None:
    setting = Setting(minor=36, gates={})
    node = setting.node()
    first, second = (admitted(node, pod_of(guaranteed("2"), name=name)) for name in "ab")
    done = resize_all(
        node, [request(first, c="cpu=3"), request(second, c="memory=2Gi")], setting_path(setting)
    )
    assert [(each.outcome.result, each.attempts) for each in done] == [
        (ResizeResult.INFEASIBLE, 1),
        (ResizeResult.ADMITTED, 1),
    ]


def setting_path(setting: Setting) -> ResizePath:
    return ResizePath(kubelet=setting.rules())


def departing(setting: Setting) -> RetriedResize:
    """Request fewer CPUs than the container's baseline."""
    node = setting.node()
    given = admitted(node, pod_of(guaranteed("2")))
    path = setting_path(setting)
    resize_all(node, [request(given, c="cpu=6")], path)
    (reported,) = resize_all(node, [request(node.active["p"], c="cpu=1")], path)
    return reported


def test_the_result_of_the_reference_is_included_if_it_may_differ() -> None:
    reported = departing(Setting())
    assert reported.outcome.result is ResizeResult.INFEASIBLE
    assert reported.outcome.departures == (Departure.FINAL,)
    assert reported.reference is not None
    assert reported.reference.result is ResizeResult.DEFERRED


def test_the_result_of_the_reference_is_left_out_if_both_agree() -> None:
    setting = Setting()
    node = setting.node()
    given = admitted(node, pod_of(guaranteed("2")))
    (reported,) = resize_all(node, [request(given, c="cpu=4")], setting_path(setting))
    assert (reported.outcome.departures, reported.reference, held(node)) == ((), None, "6-9")
    (own,) = resize_all(
        node,
        [request(node.active["p"], c="cpu=1")],
        replace(setting_path(setting), semantics=Semantics.REFERENCE),
    )
    assert (own.outcome.result, own.reference) == (ResizeResult.DEFERRED, None)
