"""A node admits exactly what is reported as its capacity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.capacity.capacity import fragmentation_of, headroom_of, largest_request, more_copies
from cpuctl.engine.capacity.probe import no_progress, settled
from cpuctl.engine.capacity.remedy import Remedy, RemedyKind, remedy_for
from cpuctl.engine.capacity.repetition import repeat, repeat_while_they_fit
from cpuctl.engine.node import Node
from cpuctl.engine.ordering import PodOrder, ordered
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import StoredPod
from tests.support.capacity_nodes import exclusive, held, kubelet, named, node_with, shared, whole

POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])
OPTIONS = st.sampled_from([{}, {"full_pcpus_only": "true"}, {"distribute_cpus_across_numa": "true"}])
SHAPES = st.one_of(
    st.integers(1, 5).map(lambda cpus: ("exclusive", cpus)),
    st.integers(1, 3).map(lambda cpus: ("two", cpus)),
    st.sampled_from([("shared", 1), ("shared", 3)]),
)


def build(name: str, shape: tuple[str, int]) -> StoredPod:
    kind, cpus = shape
    if kind == "exclusive":
        return exclusive(name, cpus)
    if kind == "two":
        return named(name, whole(cpus, "a"), whole(1, "b"))
    return shared(name, f"cpu={cpus}")


@st.composite
def nodes(draw: st.DrawFn, *, most: int = 9) -> Node:
    """Draw a node on which pods have been admitted and removed."""
    reported = kubelet(draw(POLICIES), max_pods=draw(st.sampled_from([20, 10])), **draw(OPTIONS))
    node = node_with(reported=reported, threaded=draw(st.booleans()))
    for number, shape in enumerate(draw(st.lists(SHAPES, max_size=most))):
        node.admit(build(f"p{number}", shape))
    for uid in draw(st.sets(st.sampled_from(sorted(node.active)))) if node.active else ():
        node.remove(uid)
    return node


@st.composite
def scattered_nodes(draw: st.DrawFn) -> Node:
    """Draw a node that was full and lost some pods, so that free CPUs are scattered."""
    policies = st.sampled_from(["restricted", "single-numa-node", "single-numa-node"])
    node = node_with(reported=kubelet(draw(policies), max_pods=30))
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3]), min_size=15, max_size=15))
    admitted = [pod for n, cpus in enumerate(sizes) if admits(node, pod := exclusive(f"p{n}", cpus))]
    leave = draw(st.lists(st.sampled_from([True, False, False]), min_size=15, max_size=15))
    for pod, gone in zip(admitted, leave, strict=False):
        if gone:
            node.remove(pod.uid)
    return node


def admits(node: Node, *pods: StoredPod) -> bool:
    return all(isinstance(node.admit(pod).verdict, Admitted) for pod in pods)


@given(nodes(), SHAPES)
def test_exactly_the_counted_copies_fit(node: Node, shape: tuple[str, int]) -> None:
    counted = more_copies(node, (build("new", shape),), no_progress)
    copies = [build(f"copy {number}", shape) for number in range(counted.fits + 1)]
    again = node.copy()
    assert admits(again, *copies[:-1])
    assert counted.stop is not None
    assert again.admit(copies[-1]).verdict == counted.stop


@given(nodes())
def test_no_larger_request_fits_than_the_reported_one(node: Node) -> None:
    node = settled(node)
    assert node.policy is not None
    free = (node.state.default & ~node.policy.reserved).bit_count()
    fitting = [cpus for cpus in range(1, free + 1) if admits(node.copy(), exclusive("new", cpus))]
    found = largest_request(node)
    assert found.cpus == max(fitting, default=0)
    assert found.stop is None or not admits(node.copy(), exclusive("new", found.stop.cpus))


@given(nodes())
def test_no_request_within_an_element_exceeds_its_free_cpus(node: Node) -> None:
    node = settled(node)
    for elements in (node.topology.numa_nodes, node.topology.uncore_caches):
        found = list(headroom_of(node, elements))
        assert all(space.largest <= space.free.bit_count() for space in found)
        assert max(space.largest for space in found) <= largest_request(node).cpus
        free = {cpu for space in found for cpu in range(64) if space.free >> cpu & 1}
        assert len(free) == sum(space.free.bit_count() for space in found)


@given(nodes())
def test_figures_of_fragmentation_are_consistent(node: Node) -> None:
    found = fragmentation_of(settled(node))
    assert found is not None
    assert found.uncore_cache is not None
    for scatter in (found.core, found.uncore_cache, found.numa_node):
        assert 0 <= scatter.reached <= scatter.possible
        assert (scatter.percent == 0) == (scatter.reached == scatter.possible)
        assert (scatter.percent == 100) == (scatter.reached == 0 < scatter.possible)


def moved(node: Node, pod: StoredPod, leaving: Sequence[StoredPod], *, come_back: bool) -> bool:
    """Move pods by hand, the largest first; each container has a gigabyte."""
    before, node = held(settled(node)), node.copy()
    for each in leaving:
        node.remove(each.uid)
    sizes = {each.uid: (-before.get(each.uid, 0).bit_count(), -len(each.containers)) for each in leaving}
    back = sorted(leaving, key=lambda each: sizes[each.uid]) if come_back else []
    if not admits(node, pod, *back):
        return False
    after = held(node)
    return all(before.get(each.uid, 0).bit_count() == after.get(each.uid, 0).bit_count() for each in back)


def check(node: Node, pod: StoredPod, remedy: Remedy) -> None:
    pods = [each.pod for each in remedy.leaving]
    running = list(node.active.values())
    come_back = remedy.kind is RemedyKind.MOVES
    match remedy.kind:
        case RemedyKind.NOTHING:
            assert admits(node.copy(), pod)
        case RemedyKind.IMPOSSIBLE:
            assert not moved(node, pod, running, come_back=False)
        case RemedyKind.MOVES | RemedyKind.EVICTIONS:
            assert moved(node, pod, pods, come_back=come_back)
            assert pods
        case RemedyKind.UNKNOWN:
            assert moved(node, pod, running, come_back=False)
    for size in range(remedy.excluded + 1):
        for others in combinations(running, size):
            assert remedy.kind is RemedyKind.NOTHING or not moved(node, pod, others, come_back=come_back)
    if remedy.kind is RemedyKind.EVICTIONS:
        most = len(running) if remedy.immovable is None else remedy.immovable
        for size in range(min(most, 3) + 1):
            for others in combinations(running, size):
                assert not moved(node, pod, others, come_back=True)


LARGE = st.integers(2, 4).map(lambda cpus: ("exclusive", cpus))
CASES = st.tuples(nodes(most=12), SHAPES) | st.tuples(scattered_nodes(), LARGE)


@given(CASES, st.sampled_from([2000, 2000, 12]))
def test_remedies_help_and_smaller_ones_do_not(case: tuple[Node, tuple[str, int]], budget: int) -> None:
    """All answers are run again by hand, as are all sets that are reported not to help."""
    node, shape = case
    pod = build("new", shape)
    remedy = remedy_for(node, (pod,), budget, no_progress)
    check(node, pod, remedy)
    if budget > 1000:
        assert remedy.fewest or remedy.kind in (RemedyKind.IMPOSSIBLE, RemedyKind.UNKNOWN)


@given(st.lists(SHAPES, max_size=8), st.sampled_from(PodOrder))
def test_an_order_is_a_stable_permutation(shapes: list[tuple[str, int]], order: PodOrder) -> None:
    pods = [build(f"p{number}", shape) for number, shape in enumerate(shapes)]
    found = ordered(pods, order, pod_level=True)
    assert Counter(pod.uid for pod in found) == Counter(pod.uid for pod in pods)
    assert ordered(found, order, pod_level=True) == found
    for shape in set(shapes):
        equivalent = [f"p{number}" for number, each in enumerate(shapes) if each == shape]
        assert [pod.uid for pod in found if pod.uid in equivalent] == equivalent


@given(nodes(most=4), st.lists(SHAPES, min_size=1, max_size=3), st.integers(1, 4))
def test_repeating_equals_admitting_copies_by_hand(
    node: Node, shapes: list[tuple[str, int]], rounds: int
) -> None:
    pods = [build(f"new{number}", shape) for number, shape in enumerate(shapes)]
    by_hand = node.copy()
    verdicts = [
        [by_hand.admit(build(f"{number}:{turn}", shape)).verdict for number, shape in enumerate(shapes)]
        for turn in range(rounds)
    ]
    done = repeat(node.copy(), pods, rounds)
    assert [each.verdict for each in done.admissions] == [verdict for turn in verdicts for verdict in turn]
    assert by_hand.state.default == done.node.state.default
    whole_rounds = [all(isinstance(verdict, Admitted) for verdict in turn) for turn in verdicts]
    assert done.fitted == (whole_rounds.index(False) if False in whole_rounds else rounds)


@given(nodes(most=4), st.lists(SHAPES, min_size=1, max_size=3))
def test_repeating_while_pods_fit_equals_repeating_that_often(
    node: Node, shapes: list[tuple[str, int]]
) -> None:
    pods = [build(f"new{number}", shape) for number, shape in enumerate(shapes)]
    most = repeat_while_they_fit(node.copy(), pods)
    again = repeat(node.copy(), pods, most.fitted + 1)
    assert again.fitted == most.fitted
    assert again.stop == most.stop
    kept = repeat(node.copy(), pods, max(most.fitted, 1))
    assert (kept.admissions, kept.node.state) == (most.admissions, most.node.state)
