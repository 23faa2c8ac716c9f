"""What would let a refused pod in."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.probe import no_progress
from cpuctl.engine.capacity.remedy import Remedy, RemedyKind, remedy_for
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.capacity_nodes import exclusive, held, kubelet, named, node_with, shared, whole
from tests.support.changed import changed
from tests.support.pods import app, resources

BUDGET = 2000


def remedy(node: Node, pod: StoredPod, budget: int = BUDGET) -> Remedy:
    """Ask for two pods that are alike: it is told of both, and found with the first."""
    pods = (pod, pod._replace(name=f"{pod.name} again", uid=f"{pod.uid} again"))
    found = remedy_for(node, pods, budget, no_progress)
    assert found.pods == pods
    return found


def leaving(found: Remedy) -> dict[str, tuple[str, str | None]]:
    return {
        each.pod.name: (
            str(CPUSet(each.before)),
            None if each.after is None else str(CPUSet(each.after)),
        )
        for each in found.leaving
    }


def scattered(*keep: int, policy: str = "single-numa-node") -> Node:
    """Run one pod of one CPU on each of some CPUs."""
    node = node_with(*(exclusive(f"p{n}", 1) for n in range(15)), reported=kubelet(policy))
    for uid, cpus in held(node).items():
        if cpus.bit_length() - 1 not in keep:
            node.remove(uid)
    return node


def test_a_pod_that_has_room_now_needs_nothing() -> None:
    found = remedy(node_with(), exclusive("a", 4))
    assert (found.kind, found.fewest, found.leaving) == (RemedyKind.NOTHING, True, ())
    assert (found.cpus.bit_count(), found.verdict, found.runs) == (4, Admitted(), 1)


def test_one_pod_moves_out_of_the_way() -> None:
    found = remedy(scattered(1, 4, 8, 12), exclusive("a", 4))
    assert (found.kind, found.fewest, found.excluded) == (RemedyKind.MOVES, True, 0)
    assert (found.verdict, found.immovable) == (Admitted(), 0)
    ((before, after),) = leaving(found).values()
    assert (found.cpus.bit_count(), before in ("4", "8", "12")) == (4, True)
    assert after is not None
    assert not CPUSet.parse(after).mask & found.cpus


def test_two_pods_move_where_one_is_not_enough() -> None:
    found = remedy(scattered(1, 2, 4, 5, 8, 9, 12, 13), exclusive("a", 4))
    assert (found.kind, found.fewest, found.excluded, len(found.leaving)) == (RemedyKind.MOVES, True, 1, 2)


def test_small_pods_move_where_the_large_one_finds_no_other_place() -> None:
    """Node 1 is full, nodes 2 and 3 have one free CPU each."""
    node = node_with(
        *(exclusive("n0", 3), exclusive("large", 2), exclusive("s1", 1), exclusive("s2", 1)),
        *(exclusive("n2", 3), exclusive("n3", 3)),
        reported=kubelet("single-numa-node"),
    )
    found = remedy(node, exclusive("a", 2))
    assert (found.kind, found.fewest, found.excluded) == (RemedyKind.MOVES, True, 1)
    assert leaving(found) == {"s1": ("6", "11"), "s2": ("7", "15")}


def test_a_pod_goes_where_none_can_move() -> None:
    node = node_with(exclusive("a", 8), exclusive("b", 4), exclusive("c", 3))
    found = remedy(node, exclusive("new", 4))
    assert (found.kind, found.fewest, found.excluded) == (RemedyKind.EVICTIONS, True, 0)
    assert leaving(found) == {"b": ("4-7", None)}
    assert found.immovable is None


def test_what_the_node_lacks_in_all_only_comes_from_pods_that_go() -> None:
    node = node_with(shared("small", "cpu=1"), shared("large", "cpu=9"), shared("middle", "cpu=4"))
    found = remedy(node, exclusive("new", 8))
    assert (found.kind, found.fewest, set(leaving(found))) == (RemedyKind.EVICTIONS, True, {"large"})
    assert found.immovable is None


def test_the_fewest_that_bring_enough_are_proven_by_adding_up() -> None:
    node = node_with(*(shared(f"s{n}", "cpu=1") for n in range(15)))
    found = remedy(node, shared("new", "cpu=5"), budget=40)
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 5)


def test_a_full_node_needs_one_pod_less() -> None:
    node = node_with(shared("a"), shared("b"), reported=kubelet(max_pods=2))
    found = remedy(node, shared("new"))
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 1)


def test_more_than_a_pod_too_many_are_known_to_be_too_many() -> None:
    """A kubelet that is told to run fewer pods goes on with those it has: three have to go at least.

    It takes the pod as it is, on the empty node, after those three, and after each two of them.
    """
    node = node_with(*(shared(f"s{number}") for number in range(4)))
    assert node.allocatable is not None
    node.allocatable = Allocatable(amounts=node.allocatable.amounts, pods=2)
    found = remedy(node, shared("new"))
    assert (found.kind, found.fewest, len(found.leaving), found.runs) == (RemedyKind.EVICTIONS, True, 3, 6)


def test_what_pods_request_as_a_whole_comes_back_when_they_go() -> None:
    """Pods may ask on behalf of all their containers: the first has little, of the second there is enough."""
    node = node_with(
        *(pod_level("small", "cpu=2 memory=1Gi"), pod_level("large", "cpu=11 memory=1Gi")),
        *(shared("memory", "memory=9Gi"), shared("more", "memory=9Gi")),
    )
    found = remedy(node, exclusive("new", 8))
    assert (found.kind, list(leaving(found)), found.runs) == (RemedyKind.EVICTIONS, ["large"], 4)


def test_what_pods_request_as_a_whole_is_nothing_to_a_kubelet_that_does_not_look_at_it() -> None:
    """It runs such pods on if it was told so while they ran; it takes two of the others to make room."""
    config = replace(kubelet().config, feature_gates={"PodLevelResources": False})
    node = node_with(reported=Kubelet(version=KubeletVersion(34), config=config))
    whole_pod = named("whole", app("cpu=1"))._replace(resources=resources("cpu=11"))
    node.resume([whole_pod, shared("middle", "cpu=5"), shared("large", "cpu=9")])
    found = remedy(node, exclusive("new", 10))
    assert (found.kind, list(leaving(found)), found.runs) == (RemedyKind.EVICTIONS, ["large", "middle"], 5)


def pod_level(name: str, requests: str) -> StoredPod:
    return named(name, app())._replace(resources=resources(requests))


def test_pods_go_that_use_what_is_missing() -> None:
    """Of those that do not, nothing comes back."""
    node = node_with(
        *(shared("cpus", "cpu=1"), shared("less", "cpu=1 memory=10Gi"), shared("most", "memory=20Gi"))
    )
    found = remedy(node, shared("new", "memory=14Gi"))
    assert (found.kind, found.fewest, list(leaving(found))) == (RemedyKind.EVICTIONS, True, ["most"])


@pytest.mark.parametrize(
    ("container", "reason"),
    [(whole(5), "TopologyAffinityError"), (whole(1, memory="64Gi"), "OutOfmemory")],
)
def test_what_the_empty_node_refuses_is_impossible(container: Container, reason: str) -> None:
    node = node_with(exclusive("r", 3), reported=kubelet("single-numa-node"))
    found = remedy(node, named("new", container))
    assert found.kind is RemedyKind.IMPOSSIBLE
    assert isinstance(found.verdict, Rejected)
    assert (found.verdict.reason, found.cpus, found.runs) == (reason, 0, 2)


def memory_node() -> Node:
    """Start a Memory Manager on two NUMA nodes of 16 GiB; both hold 6 GiB of a pod without exclusive CPUs."""
    config = replace(
        kubelet("single-numa-node").config,
        memory_manager_policy="Static",
        kube_reserved={"memory": "1Gi"},
        reserved_memory=(ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
    )
    info = read_machine("synthetic:1s2n8c1t,mem=16Gi").info
    node = start_node(info, Kubelet(version=KubeletVersion(36), config=config), fit=True)
    assert isinstance(node, Node), node
    for name, gigabytes in (("first", 6), ("filler", 9), ("second", 6)):
        amounts = f"cpu=500m memory={gigabytes}Gi"
        assert isinstance(node.admit(named(name, app(amounts, amounts))).verdict, Admitted)
    node.remove("filler")
    return node


def test_pods_that_hold_memory_move_as_those_that_hold_cpus() -> None:
    found = remedy(memory_node(), named("new", whole(2, memory="14Gi")))
    assert (found.kind, found.fewest, list(leaving(found))) == (RemedyKind.MOVES, True, ["first"])


def test_memory_that_would_not_come_back_does_not_move() -> None:
    node = memory_node()
    for name in ("first", "second"):
        node.active[name] = named(name, Container(name="main"))
    found = remedy(node, named("new", whole(2, memory="14Gi")))
    assert (found.kind, list(leaving(found))) == (RemedyKind.EVICTIONS, ["first"])


def test_pods_of_which_the_requests_are_not_known_do_not_move() -> None:
    """A state file names owners, not what they ask for: moved, they would come back without CPUs."""
    node = scattered(1, 4, 8, 12)
    node.active = {uid: named(uid, Container(name="main")) for uid in node.active}
    found = remedy(node, exclusive("a", 4))
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 1)


@pytest.mark.parametrize(
    ("keep", "budget", "immovable"), [((1, 4, 8, 12), BUDGET, None), ((1, 2, 4, 5, 8, 9, 12, 13), 60, 1)]
)
def test_pods_go_where_it_is_not_proven_that_none_can_move(
    keep: tuple[int, ...], budget: int, immovable: int | None
) -> None:
    """All sets of four pods can be tried; of eight, thirty runs are enough for those of one only."""
    node = scattered(*keep)
    node.active = {uid: named(uid, Container(name="main")) for uid in node.active}
    reported: list[tuple[str, int, int]] = []
    found = remedy_for(node, (exclusive("a", 4),), budget, lambda *words: reported.append(words))
    assert (found.kind, found.fewest, found.immovable) == (RemedyKind.EVICTIONS, True, immovable)
    assert {total for _, _, total in reported} == {budget // 2}
    # One admission as the node is and one on the empty node go before those that are told.
    assert found.runs == len(reported) + 2


def test_only_exclusive_cpus_are_told() -> None:
    """Another container of the pod has no CPUs of its own."""
    both = "cpu=500m memory=1Gi"
    found = remedy(node_with(), named("a", whole(2), app(both, both, "shared")))
    assert str(CPUSet(found.cpus)) == "1-2"


def test_pods_move_on_a_node_of_which_the_totals_are_not_known() -> None:
    """What a node has for pods depends on more than its CPUs."""
    node = changed(scattered(1, 4, 8, 12), allocatable=None)
    found = remedy(node, exclusive("a", 4))
    assert (found.kind, len(found.leaving)) == (RemedyKind.MOVES, 1)


def test_a_search_that_ends_early_says_how_far_it_came() -> None:
    node = scattered(1, 2, 4, 5, 8, 9, 12, 13)
    pods = (exclusive("a", 4), exclusive("b", 4))
    found = remedy_for(node, pods, 6, no_progress)
    assert found == Remedy(pods=pods, kind=RemedyKind.UNKNOWN, verdict=Admitted(), immovable=0, runs=8)


def test_answers_are_words_that_scripts_look_for() -> None:
    assert [*RemedyKind] == ["nothing", "moves", "evictions", "impossible", "unknown"]


def test_searching_changes_nothing() -> None:
    node = scattered(1, 2, 4, 5, 8, 9, 12, 13)
    before = node.copy()
    remedy(node, exclusive("a", 4))
    assert (node.state, node.active) == (before.state, before.active)
