"""What would make a rejected pod fit."""

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
    """Request two equal pods: the remedy names both and is found with the first."""
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
    """Run a pod with one CPU on each of these CPUs."""
    node = node_with(*(exclusive(f"p{n}", 1) for n in range(15)), reported=kubelet(policy))
    for uid, cpus in held(node).items():
        if cpus.bit_length() - 1 not in keep:
            node.remove(uid)
    return node


def test_a_pod_that_fits_now_needs_no_remedy() -> None:
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


def test_two_pods_move_if_one_is_not_enough() -> None:
    found = remedy(scattered(1, 2, 4, 5, 8, 9, 12, 13), exclusive("a", 4))
    assert (found.kind, found.fewest, found.excluded, len(found.leaving)) == (RemedyKind.MOVES, True, 1, 2)


def test_small_pods_move_if_the_large_one_fits_nowhere_else() -> None:
    """Node 1 is full, nodes 2 and 3 have one free CPU each."""
    node = node_with(
        *(exclusive("n0", 3), exclusive("large", 2), exclusive("s1", 1), exclusive("s2", 1)),
        *(exclusive("n2", 3), exclusive("n3", 3)),
        reported=kubelet("single-numa-node"),
    )
    found = remedy(node, exclusive("a", 2))
    assert (found.kind, found.fewest, found.excluded) == (RemedyKind.MOVES, True, 1)
    assert leaving(found) == {"s1": ("6", "11"), "s2": ("7", "15")}


def test_a_pod_is_evicted_if_none_can_move() -> None:
    node = node_with(exclusive("a", 8), exclusive("b", 4), exclusive("c", 3))
    found = remedy(node, exclusive("new", 4))
    assert (found.kind, found.fewest, found.excluded) == (RemedyKind.EVICTIONS, True, 0)
    assert leaving(found) == {"b": ("4-7", None)}
    assert found.immovable is None


def test_what_the_whole_node_is_short_of_takes_evictions() -> None:
    node = node_with(shared("small", "cpu=1"), shared("large", "cpu=9"), shared("middle", "cpu=4"))
    found = remedy(node, exclusive("new", 8))
    assert (found.kind, found.fewest, set(leaving(found))) == (RemedyKind.EVICTIONS, True, {"large"})
    assert found.immovable is None


def test_the_fewest_evictions_are_proven_by_adding_up() -> None:
    node = node_with(*(shared(f"s{n}", "cpu=1") for n in range(15)))
    found = remedy(node, shared("new", "cpu=5"), budget=40)
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 5)


def test_a_node_with_its_maximum_of_pods_needs_one_eviction() -> None:
    node = node_with(shared("a"), shared("b"), reported=kubelet(max_pods=2))
    found = remedy(node, shared("new"))
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 1)


def test_running_more_pods_than_allowed_is_taken_into_account() -> None:
    """A kubelet whose maxPods is lowered keeps the pods it has: at least three have to leave.

    Runs: the node as it is, the empty node, without those three, and without each two of them.
    """
    node = node_with(*(shared(f"s{number}") for number in range(4)))
    assert node.allocatable is not None
    node.allocatable = Allocatable(amounts=node.allocatable.amounts, pods=2)
    found = remedy(node, shared("new"))
    assert (found.kind, found.fewest, len(found.leaving), found.runs) == (RemedyKind.EVICTIONS, True, 3, 6)


def test_pod_level_requests_are_freed_by_evictions() -> None:
    """CPU is short, memory is not: the small pod frees too little CPU, and the large one enough."""
    node = node_with(
        *(pod_level("small", "cpu=2 memory=1Gi"), pod_level("large", "cpu=11 memory=1Gi")),
        *(shared("memory", "memory=9Gi"), shared("more", "memory=9Gi")),
    )
    found = remedy(node, exclusive("new", 8))
    assert (found.kind, list(leaving(found)), found.runs) == (RemedyKind.EVICTIONS, ["large"], 4)


def test_pod_level_requests_do_not_count_without_their_gate() -> None:
    """Such pods keep running if the gate is turned off later; two of the others have to leave."""
    config = replace(kubelet().config, feature_gates={"PodLevelResources": False})
    node = node_with(reported=Kubelet(version=KubeletVersion(34), config=config))
    whole_pod = named("whole", app("cpu=1"))._replace(resources=resources("cpu=11"))
    node.resume([whole_pod, shared("middle", "cpu=5"), shared("large", "cpu=9")])
    found = remedy(node, exclusive("new", 10))
    assert (found.kind, list(leaving(found)), found.runs) == (RemedyKind.EVICTIONS, ["large", "middle"], 5)


def pod_level(name: str, requests: str) -> StoredPod:
    return named(name, app())._replace(resources=resources(requests))


def test_pods_that_use_what_is_missing_are_evicted() -> None:
    """Evicting the others frees nothing that the pod needs."""
    node = node_with(
        *(shared("cpus", "cpu=1"), shared("less", "cpu=1 memory=10Gi"), shared("most", "memory=20Gi"))
    )
    found = remedy(node, shared("new", "memory=14Gi"))
    assert (found.kind, found.fewest, list(leaving(found))) == (RemedyKind.EVICTIONS, True, ["most"])


@pytest.mark.parametrize(
    ("container", "reason"),
    [(whole(5), "TopologyAffinityError"), (whole(1, memory="64Gi"), "OutOfmemory")],
)
def test_what_the_empty_node_rejects_is_impossible(container: Container, reason: str) -> None:
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


def test_pods_that_hold_memory_move_like_those_that_hold_cpus() -> None:
    found = remedy(memory_node(), named("new", whole(2, memory="14Gi")))
    assert (found.kind, found.fewest, list(leaving(found))) == (RemedyKind.MOVES, True, ["first"])


def test_pods_whose_memory_would_not_fit_again_do_not_move() -> None:
    node = memory_node()
    for name in ("first", "second"):
        node.active[name] = named(name, Container(name="main"))
    found = remedy(node, named("new", whole(2, memory="14Gi")))
    assert (found.kind, list(leaving(found))) == (RemedyKind.EVICTIONS, ["first"])


def test_pods_with_unknown_requests_do_not_move() -> None:
    """A state file names owners, not their requests: after a move they would come back without CPUs."""
    node = scattered(1, 4, 8, 12)
    node.active = {uid: named(uid, Container(name="main")) for uid in node.active}
    found = remedy(node, exclusive("a", 4))
    assert (found.kind, found.fewest, len(found.leaving)) == (RemedyKind.EVICTIONS, True, 1)


@pytest.mark.parametrize(
    ("keep", "budget", "immovable"), [((1, 4, 8, 12), BUDGET, None), ((1, 2, 4, 5, 8, 9, 12, 13), 60, 1)]
)
def test_pods_are_evicted_even_without_proof_that_none_can_move(
    keep: tuple[int, ...], budget: int, immovable: int | None
) -> None:
    """All sets of four pods can be tried; of eight pods, thirty runs cover only sets of one."""
    node = scattered(*keep)
    node.active = {uid: named(uid, Container(name="main")) for uid in node.active}
    reported: list[tuple[str, int, int]] = []
    found = remedy_for(node, (exclusive("a", 4),), budget, lambda *words: reported.append(words))
    assert (found.kind, found.fewest, found.immovable) == (RemedyKind.EVICTIONS, True, immovable)
    assert {total for _, _, total in reported} == {budget // 2}
    # One admission on the node as it is and one on the empty node precede the reported ones.
    assert found.runs == len(reported) + 2


def test_only_exclusive_cpus_are_reported() -> None:
    """The pod's other container has no exclusive CPUs."""
    both = "cpu=500m memory=1Gi"
    found = remedy(node_with(), named("a", whole(2), app(both, both, "shared")))
    assert str(CPUSet(found.cpus)) == "1-2"


def test_pods_move_on_a_node_with_unknown_totals() -> None:
    """What is allocatable on a node depends on more than its CPUs."""
    node = changed(scattered(1, 4, 8, 12), allocatable=None)
    found = remedy(node, exclusive("a", 4))
    assert (found.kind, len(found.leaving)) == (RemedyKind.MOVES, 1)


def test_a_search_that_ends_early_reports_how_far_it_got() -> None:
    node = scattered(1, 2, 4, 5, 8, 9, 12, 13)
    pods = (exclusive("a", 4), exclusive("b", 4))
    found = remedy_for(node, pods, 6, no_progress)
    assert found == Remedy(pods=pods, kind=RemedyKind.UNKNOWN, verdict=Admitted(), immovable=0, runs=8)


def test_the_words_of_answers_are_stable() -> None:
    assert [*RemedyKind] == ["nothing", "moves", "evictions", "impossible", "unknown"]


def test_searching_changes_nothing() -> None:
    node = scattered(1, 2, 4, 5, 8, 9, 12, 13)
    before = node.copy()
    remedy(node, exclusive("a", 4))
    assert (node.state, node.active) == (before.state, before.active)
