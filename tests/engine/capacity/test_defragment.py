"""The fewest moves that make room: found from how nodes are filled, and the same as by trying everything."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cpuctl.engine.capacity.capacity import most_requested
from cpuctl.engine.capacity.defragment import Moves, Step, fewest_moves, immovable_pods, largest_after_moves
from cpuctl.engine.capacity.probe import allocations, exclusive_pod, no_progress, settled
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.capacity_nodes import exclusive, held, kubelet, named, node_with, shared, whole

# NUMA node 0 has 3 CPUs for pods, each of the others 4; with this policy a pod is on one of them.
ONE_NODE = kubelet("single-numa-node")


def filled(sizes: str, leave: str = "", critical: str = "") -> Node:
    """Admit pods a, b, ... of these sizes one after the other, then remove some."""
    pods = [exclusive(name, int(size)) for name, size in zip("abcdefghijklmno", sizes, strict=False)]
    pods = [pod._replace(priority=2_000_000_000) if pod.name in critical else pod for pod in pods]
    node = node_with(*pods, reported=ONE_NODE)
    for name in leave:
        node.remove(name)
    node.clean_up()
    return node


def moves_for(node: Node, pod: StoredPod, budget: int = 20_000) -> Moves:
    before = held(node)
    found = fewest_moves(node, pod, budget, no_progress)
    assert held(node) == before, "the node stays as it is"
    if found.steps is not None:
        replay(node, found.steps, pod)
    return found


def replay(node: Node, steps: Iterable[Step], pod: StoredPod) -> None:
    """Run a plan on the engine: in the end all pods are there, with as much as before."""
    node = settled(node)
    wanted = {each.name: allocations(node, each) for each in node.active.values()}
    for step in steps:
        if step.kind == "evict":
            assert held(node).get(step.pod.uid, 0) == step.cpus
            node.remove(step.pod.uid)
            node.clean_up()
        else:
            assert isinstance(node.admit(step.pod).verdict, Admitted)
            assert held(node).get(step.pod.uid, 0) == step.cpus
    after = {each.name: allocations(node, each) for each in node.active.values()}
    assert after.pop(pod.name)
    assert after == wanted


def test_a_pod_that_fits_needs_no_move() -> None:
    found = moves_for(filled("322", leave="c"), exclusive("new", 2))
    assert (found.evictions, found.ended) == (0, "all")


def test_two_half_free_nodes_need_one_move() -> None:
    """Nodes 1 and 2 have 2 free CPUs each, so 4 do not fit; moving one pod of 2 empties one of them."""
    found = moves_for(filled("3222222", leave="ce"), exclusive("new", 4))
    assert (found.evictions, found.excluded, found.ended) == (1, 0, "all")
    assert isinstance(found.now, Rejected)


def test_two_pods_that_fit_on_two_nodes_need_two_moves() -> None:
    """Node 1 has two pods of 1 CPU, the nodes 2 and 3 have 1 CPU free each, and their pods fit nowhere else.

    After one move, either a CPU of node 1 is still taken or a pod of 3 CPUs has no place.
    """
    found = moves_for(filled("3111133", leave="bc"), exclusive("new", 4))
    assert (found.evictions, found.excluded, found.ended) == (2, 1, "all")


def test_there_may_be_no_solution() -> None:
    """3, 3, 3 and 2 CPUs do not fit on three nodes, one of which has 3 and two have 4."""
    found = moves_for(four_with_a_cpu_free(), exclusive("new", 4))
    assert (found.steps, found.why_not, found.ended) == (None, None, "all")


def four_with_a_cpu_free() -> Node:
    return filled("2333")


def test_what_the_whole_node_is_short_of_is_reported_at_once() -> None:
    node = node_with(exclusive("a", 11))
    found = moves_for(node, exclusive("new", 5))
    assert isinstance(found.why_not, Rejected)
    assert found.why_not.reason == "OutOfcpu"
    assert (found.steps, found.tried, found.ended) == (None, 1, "all")


def test_no_move_helps_a_pod_that_an_empty_node_rejects() -> None:
    found = moves_for(filled("3222"), exclusive("new", 5))
    assert isinstance(found.why_not, Rejected)
    assert found.steps is None


def test_critical_and_static_pods_stay() -> None:
    """As above, but one or both of the two pods must not be moved."""
    node = filled("3222222", leave="ce", critical="abfg")
    found = moves_for(node, exclusive("new", 4))
    assert [step.pod.name for step in found.steps or ()] == ["d", "new", "d"]
    node = filled("3222222", leave="ce", critical="abdfg")
    assert moves_for(node, exclusive("new", 4)).steps is None
    assert {each.pod.name for each in immovable_pods(node)} == set("abdfg")
    static = node_with(exclusive("a", 2)._replace(static=True), exclusive("b", 2), shared("c"))
    assert [(each.pod.name, each.why[:12]) for each in immovable_pods(static)] == [("a", "a static pod")]


def test_a_pod_known_only_from_the_state_file_stays() -> None:
    unknown = named("b", replace(whole(2), resources=replace(whole(2).resources, requests={}, limits={})))
    node = filled("32")
    node.active["b"] = unknown
    assert [(each.pod.name, "--pods" in each.why) for each in immovable_pods(node)] == [("b", True)]


def test_the_budget_ends_the_search() -> None:
    node = filled("3111133", leave="bc")
    whole_search = moves_for(node, exclusive("new", 4))
    short = moves_for(node, exclusive("new", 4), budget=8)
    assert (short.ended, short.excluded) == ("budget", 0)
    assert short.tried < whole_search.tried


def test_past_the_budget_likely_sets_may_help() -> None:
    """The plan is as good without the proof that fewer moves are not enough."""
    node = filled("3111133", leave="bc")
    found = moves_for(node, exclusive("new", 4), budget=28)
    assert found.ended == "budget"
    assert found.evictions == 2


def test_an_interrupted_search_is_reported_as_stopped() -> None:
    found = fewest_moves(filled("3111133", leave="bc"), exclusive("new", 4), 1000, no_progress, lambda: True)
    assert (found.steps, found.ended) == (None, "stopped")


def test_the_largest_pod_that_moves_make_room_for() -> None:
    """A whole node has 4 CPUs, so no pod gets more; one with 4 needs one move, and 2 fit now."""
    node = filled("3222222", leave="ce")
    found = largest_after_moves(node, most_requested(node), 20_000, no_progress)
    assert (found.now, found.cpus, found.proven, found.ended) == (2, 4, True, "all")
    assert found.moves is not None
    assert found.moves.evictions == 1


def test_the_largest_pod_may_be_the_one_that_fits_now() -> None:
    """Two nodes are free, and no pod spans two nodes."""
    node = filled("34")
    found = largest_after_moves(node, most_requested(node), 20_000, no_progress)
    assert (found.cpus, found.now, found.moves, found.proven) == (4, 4, None, True)


def by_trying_everything(node: Node, pod: StoredPod, most: int) -> int | None:
    """Try all orders of evictions and admissions with up to this many moves, by brute force."""
    for moves in range(most + 1):
        if _reaches(settled(node), pod, (), moves, came=False):
            return moves
    return None


def _reaches(node: Node, pod: StoredPod, waiting: tuple[StoredPod, ...], moves: int, *, came: bool) -> bool:
    if came and not waiting:
        return True
    if not came:
        after = node.copy()
        if isinstance(after.admit(pod).verdict, Admitted) and _reaches(after, pod, waiting, moves, came=True):
            return True
    for each in waiting:
        after = node.copy()
        others = tuple(other for other in waiting if other is not each)
        if isinstance(after.admit(each).verdict, Admitted) and _reaches(after, pod, others, moves, came=came):
            return True
    for each in list(node.active.values()) if moves else []:
        if each.uid == pod.uid:
            continue
        after = node.copy()
        after.remove(each.uid)
        after.clean_up()
        again = each._replace(uid=f"{each.uid}+")
        if _reaches(after, pod, (*waiting, again), moves - 1, came=came):
            return True
    return False


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=6),
    leaving=st.sets(st.integers(0, 6), max_size=3),
    wanted=st.integers(2, 6),
    policy=st.sampled_from(("none", "best-effort", "restricted", "single-numa-node")),
    whole_cores=st.booleans(),
)
def test_no_other_order_needs_fewer_moves(
    sizes: list[int], leaving: set[int], wanted: int, policy: str, whole_cores: bool
) -> None:
    reported = kubelet(policy, full_pcpus_only="true") if whole_cores else kubelet(policy)
    node = node_with(reported=reported)
    pods = [exclusive(f"p{place}", size) for place, size in enumerate(sizes)]
    came = [pod for pod in pods if isinstance(node.admit(pod).verdict, Admitted)]
    for place in leaving:
        node.remove(f"p{place}")
    node.clean_up()
    assume(len(came) > 1)
    pod = exclusive("new", wanted)
    found, most = moves_for(node, pod, 1_000_000), 2
    least = by_trying_everything(node, pod, most)
    assert found.ended == "all"
    if found.steps is None or found.evictions > most:
        assert least is None
    else:
        assert found.evictions == least


def test_a_probe_pod_fits_after_the_moves() -> None:
    """Moves that are proposed for a number of CPUs also admit a pod that requests it."""
    node = filled("3222222", leave="ce")
    assert moves_for(node, exclusive_pod(node, 4)._replace(name="new")).evictions == 1
