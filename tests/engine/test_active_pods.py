"""The total that active pods use: how often it is computed, and the other behaviour of the mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from cpuctl.engine import node_fit
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import ActivePods, Allocatable, RequestTable, Usage
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import Pod, StoredPod
from cpuctl.pods.requests import Amounts, pod_requests
from tests.engine.node.test_node import named, started
from tests.support.pods import app, init, resources, stored

PODS = 300


def large_node() -> Node:
    node = started(cpu_manager_policy="none")
    node.allocatable = Allocatable(amounts={"cpu": 1 << 30}, pods=1 << 30)
    return node


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count by UID how often a pod's requests are computed."""
    times: Counter[str] = Counter()

    def counting(pod: StoredPod, *, pod_level: bool) -> Amounts:
        times[pod.uid] += 1
        return pod_requests(pod, pod_level=pod_level)

    monkeypatch.setattr(node_fit, "pod_requests", counting)
    return times


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count by UID how often a pod's requests are looked up."""
    times: Counter[str] = Counter()
    of = RequestTable.of

    def counting(self: RequestTable, pod: StoredPod, *, pod_level: bool) -> Mapping[str, int]:
        times[pod.uid] += 1
        return of(self, pod, pod_level=pod_level)

    monkeypatch.setattr(RequestTable, "of", counting)
    return times


def test_requests_of_a_pod_are_computed_once_however_many_follow(computed: Counter[str]) -> None:
    node = large_node()
    for number in range(PODS):
        assert isinstance(node.admit(named(f"p{number}", app("cpu=10m"))).verdict, Admitted)
    assert computed == {f"p{number}": 1 for number in range(PODS)}


def test_more_pods_than_a_table_keeps_do_not_evict_each_other(
    computed: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_fit, "_FEW_ENTRIES", 10)
    node = large_node()
    for number in range(PODS):
        node.admit(named(f"p{number}", app("cpu=10m")))
    assert set(computed.values()) == {1}


def test_a_pod_is_looked_up_when_it_is_admitted_and_when_it_is_counted(looked_up: Counter[str]) -> None:
    """The work for one more pod does not grow with the number of running pods."""
    node = large_node()
    for number in range(PODS):
        node.admit(named(f"p{number}", app("cpu=10m")))
    assert max(looked_up.values()) == 2
    assert looked_up.total() == 2 * PODS - 1, "the last one is not counted yet"


def test_attempts_on_copies_do_not_count_pods_again(looked_up: Counter[str]) -> None:
    node = large_node()
    for number in range(PODS):
        node.admit(named(f"p{number}", app("cpu=10m")))
    looked_up.clear()
    another = node.copy()
    another.remove("p7")
    another.admit(named("other", app("cpu=10m")))
    assert looked_up == {"other": 1, f"p{PODS - 1}": 1}


def test_the_pod_to_be_admitted_does_not_count() -> None:
    pods, table = ActivePods(), RequestTable()
    for uid, size in (("a", "cpu=1 memory=1Ki"), ("b", "cpu=2 memory=2Ki")):
        pods[uid] = named(uid, app(size))
    for _ in range(2):
        assert pods.usage_of_others("b", table, pod_level=True) == Usage(1, {"cpu": 1000, "memory": 1024})
    assert pods.usage_of_others("c", table, pod_level=True) == Usage(2, {"cpu": 3000, "memory": 3072})
    assert pods.usage_of_others("b", table, pod_level=True) == Usage(1, {"cpu": 1000, "memory": 1024})


@pytest.mark.parametrize("pod_level", [True, False])
def test_a_replaced_pod_counts_with_its_current_requests(*, pod_level: bool) -> None:
    pods, table = ActivePods({"a": named("a", app("cpu=1"))}), RequestTable()
    assert pods.usage_of_others("", table, pod_level=pod_level).amounts == {"cpu": 1000}
    pods["a"] = named("a", app("cpu=4"))
    assert pods.usage_of_others("", table, pod_level=pod_level).amounts == {"cpu": 4000}


def test_a_pod_removed_before_it_is_counted_is_not_subtracted() -> None:
    pods = ActivePods({"a": named("a", app("cpu=1")), "b": named("b", app("cpu=2"))})
    del pods["a"]
    assert pods.usage_of_others("", RequestTable(), pod_level=False) == Usage(1, {"cpu": 2000})


def test_the_gate_for_pod_level_resources_changes_what_is_counted() -> None:
    whole = stored(Pod(name="a", uid="a", containers=(app("cpu=1"),), resources=resources("cpu=4", "cpu=4")))
    pods, table = ActivePods({"a": whole}), RequestTable()
    assert pods.usage_of_others("", table, pod_level=True).amounts == {"cpu": 4000}
    assert pods.usage_of_others("", table, pod_level=False).amounts == {"cpu": 1000}
    assert pods.usage_of_others("", table, pod_level=True).amounts == {"cpu": 4000}


def test_a_copy_is_independent() -> None:
    pods, table = ActivePods({"a": named("a", app("cpu=1"))}), RequestTable()
    pods.usage_of_others("", table, pod_level=True)
    twin = pods.copy()
    del twin["a"]
    twin["b"] = named("b", init(name="i"), app("cpu=2"))
    assert pods.usage_of_others("", table, pod_level=True) == Usage(1, {"cpu": 1000})
    assert twin.usage_of_others("", table, pod_level=True) == Usage(1, {"cpu": 2000})
    assert (pods.containers, twin.containers) == ({"a": ("main",)}, {"b": ("i", "main")})


def test_active_pods_are_a_mapping_in_insertion_order() -> None:
    first, second = named("z", app()), named("a", app())
    pods = ActivePods({"z": first})
    pods["a"] = second
    assert list(pods) == ["z", "a"]
    assert list(pods.items()) == [("z", first), ("a", second)]
    assert (len(pods), "a" in pods, "b" in pods) == (2, True, False)
    assert pods == {"z": first, "a": second}
    assert pods != {"z": first}
    with pytest.raises(KeyError):
        del pods["b"]
    assert pods.pop("z") is first
    assert list(pods.values()) == [second]


def test_the_active_pods_of_a_node_can_be_replaced() -> None:
    """Any mapping can replace them, for example to undo an admission."""
    node = large_node()
    node.allocatable = Allocatable(amounts={"cpu": 1000}, pods=3)
    node.admit(named("p", app("cpu=1")))
    node.active = {"q": named("q", app("cpu=500m"))}
    assert isinstance(node.admit(named("r", app("cpu=500m"))).verdict, Admitted)
    assert not isinstance(node.admit(named("s", app("cpu=500m"))).verdict, Admitted)
    assert list(node.active) == ["q", "r"]
