"""With cores of different sizes, a kubelet may assign a CPU twice (124066): no advice may end in that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from hypothesis import assume, given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.defragment import fewest_moves
from cpuctl.engine.capacity.probe import no_progress
from cpuctl.engine.capacity.remedy import RemedyKind, remedy_for
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.start import start_node
from cpuctl.engine.state_checks.verify import shared_soon
from cpuctl.records import replace
from tests.engine.explain.scenarios import reported, scenario
from tests.support.capacity_nodes import exclusive, kubelet
from tests.support.topologies import CoreAt, machine_info

# Two NUMA nodes of four cores. CPU 15 is offline: there is one CPU per core on average.
CORES = [(core, core + 8) if core < 7 else (core,) for core in range(8)]
UNEVEN = replace(
    machine_info(CoreAt(cpus=cpus, numa_node=core // 4, socket=core // 4) for core, cpus in enumerate(CORES)),
    memory_bytes=32 << 30,
)
POLICIES = st.sampled_from(["none", "restricted", "single-numa-node"])
SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 3, 7]), min_size=3, max_size=9)


def node_on(policy: str, sizes: Iterable[int]) -> Node:
    """Start a node on which pods of some CPUs have arrived."""
    node = start_node(UNEVEN, kubelet(policy))
    assert isinstance(node, Node)
    for number, cpus in enumerate(sizes):
        node.admit(exclusive(f"p{number}", cpus))
    return node


def are_disjoint(masks: Iterable[int]) -> bool:
    masks = list(masks)
    return sum(mask.bit_count() for mask in masks) == reduce(or_, masks, 0).bit_count()


OPTIONS = st.sampled_from(
    [{}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"}, {"align-by-socket": "true"}]
)


@st.composite
def uneven_nodes(draw: st.DrawFn) -> Node:
    """Start a node with CPUs offline, so that cores and sockets differ, and let pods arrive."""
    offline = draw(st.sets(st.integers(1, 15), max_size=6))
    at = [
        CoreAt(cpus=tuple({2 * core, 2 * core + 1} - offline), numa_node=core // 4, socket=core // 4)
        for core in range(8)
    ]
    info = replace(machine_info(core for core in at if core.cpus), memory_bytes=32 << 30)
    plain = kubelet("none")
    config = replace(plain.config, cpu_manager_policy_options=draw(OPTIONS))
    node = start_node(info, replace(plain, config=config))
    assume(isinstance(node, Node))
    assert isinstance(node, Node)
    for number, cpus in enumerate(draw(st.lists(st.integers(1, 4), max_size=4))):
        node.admit(exclusive(f"p{number}", cpus))
    return node


@given(uneven_nodes())
def test_what_a_next_pod_may_share_is_known_before(node: Node) -> None:
    """The CPU Manager picks without an affinity here, so that the prediction is exact."""
    assume(not node.cpu.overlapping_pods())
    shared = (node.copy().admit(exclusive("new", cpus)).taken_from_others for cpus in range(1, 17))
    known = [each.message.split()[1] for each in shared_soon(node)]
    assert reduce(or_, shared, 0) == (CPUSet.parse(known[0]).mask if known else 0)


@given(SIZES, POLICIES, st.integers(3, 7))
def test_pods_that_move_get_cpus_of_their_own(sizes: list[int], policy: str, cpus: int) -> None:
    node, pod = node_on(policy, sizes), exclusive("new", cpus)
    found = remedy_for(node, (pod,), 200, no_progress)
    if found.kind is RemedyKind.MOVES:
        assert are_disjoint([found.cpus, *(leaving.after or 0 for leaving in found.leaving)])
    steps = fewest_moves(node, pod, 200, no_progress).steps or ()
    admitted = [step.cpus for step in steps if step.kind == "admit"]
    assert len(steps) == 1 or are_disjoint(admitted)


def overlapping(replay: Replay) -> set[str]:
    return {*replay.after.cpu.overlapping_pods()} & {each.pod.uid for each in replay.admissions}


@given(SIZES, POLICIES, st.sampled_from([{}, {"full-pcpus-only": "true"}]))
def test_no_suggestion_ends_in_more_overlaps(sizes: list[int], policy: str, options: dict[str, str]) -> None:
    pods = [exclusive(f"p{number}", cpus) for number, cpus in enumerate(sizes)]
    one = scenario(UNEVEN, *pods, topology_manager_policy=policy, cpu_manager_policy_options=options)
    replay = reported(one)
    if not isinstance(replay.admission.verdict, Rejected):
        return
    for search in explain(replay).searches:
        for suggestion in search.found:
            again = reported(suggestion.change.applied(one))
            assert one.pod.uid not in overlapping(again)
            assert overlapping(again) <= overlapping(replay)


@given(SIZES, POLICIES, st.sets(st.integers(0, 8), max_size=3))
def test_an_admission_names_the_cpus_that_it_shares(sizes: list[int], policy: str, ended: set[int]) -> None:
    node = node_on(policy, sizes)
    for number in ended:
        node.remove(f"p{number}")
    admission = node.admit(exclusive("new", 3))
    shared = node.cpu.overlapping_pods().get("new", 0)
    if isinstance(admission.verdict, Admitted):
        assert (admission.taken_from_others, admission.is_sound) == (shared, not shared)
    else:
        assert (admission.taken_from_others, admission.is_sound) == (0, False)
