"""Advice on settings: the known best is found, no result is beaten by another, and nothing is omitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.engine.capacity.probe import no_progress
from cpuctl.engine.capacity.service import Service, service_of, unbeaten
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.start import Started, check_start
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.advice import Advice, AdviceOptions, Tried, advise, read_kept
from cpuctl.operations.advised_settings import Space
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.records import replace

SMALL = "synthetic:2s2n4c2t,near,mem=32Gi"
"""Two NUMA nodes of 8 CPUs, 4 cores each: CPUs 0 to 7, and 8 to 15; CPUs 0 and 1 form a core."""
OPTIONS = "cpuManagerPolicyOptions"
KEPT = "--kube-reserved=memory=1Gi"


def planning(machine: str, arguments: str, *pods: str, files: Iterable[str] = ()) -> Planning:
    words = PlanningInputs(
        filenames=tuple(files), templates=pods, machine=machine, kubelet=KubeletInputs(arguments=arguments)
    )
    return read_planning(words, pods_needed=True)


def advised(
    planned: Planning,
    *keep: str,
    budget: int = 10_000,
    stopped: Callable[[], bool] = lambda: False,
) -> Advice:
    return advise(planned, AdviceOptions(budget, keep=read_kept(keep)), no_progress, stopped)


def rows(advice: Advice) -> dict[tuple[str, ...], Service]:
    return {each.tried.choice.changes: each.tried.service for each in advice.proposed}


def now(advice: Advice) -> Service:
    assert isinstance(advice.current, Tried)
    return advice.current.service


def best(advice: Advice, figure: str) -> tuple[set[str], Service]:
    """Return the changes and figures of the row with the maximum of something."""
    changes, service = max(rows(advice).items(), key=lambda row: int(getattr(row[1], figure)))
    return set(changes), service


def test_pods_without_exclusive_cpus_are_served_the_same_by_all_settings() -> None:
    """Burstable pods run in the shared pool regardless of the managers, so nothing beats no change."""
    advice = advised(planning(SMALL, KEPT, "web=1/2,1Gi x4"), OPTIONS)
    assert advice.current_unbeaten
    assert rows(advice) == {}


def test_without_a_topology_manager_the_second_pod_takes_cpus_of_two_nodes() -> None:
    """Node 0 has 6 free CPUs and node 1 has 8: after a pod with 5, the next starts with node 0's rest.

    With hints the second pod goes entirely to node 1; best-effort is the weakest policy that provides them.
    """
    planned = planning(SMALL, f"--cpu-manager-policy=static --reserved-cpus=0-1 {KEPT}", "web=5/5,1Gi x2")
    advice = advised(planned, OPTIONS, "reservedSystemCPUs")
    assert now(advice).on_one_node == 1
    changes, service = best(advice, "memory_too")
    assert (service.admitted, service.on_one_node, service.memory_too) == (2, 2, 2)
    assert changes == {"best-effort", "memoryManagerPolicy=Static"}


def test_a_pod_larger_than_a_node_needs_another_policy_than_single_numa_node() -> None:
    """12 CPUs are more than a node's 8, and single-numa-node admits no pod on two nodes."""
    flags = "--cpu-manager-policy=static --reserved-cpus=0-1 --topology-manager-policy=single-numa-node"
    advice = advised(planning(SMALL, f"{flags} {KEPT}", "wide=12/12,1Gi"), OPTIONS, "memoryManagerPolicy")
    assert now(advice).admitted == 0
    assert {each.admitted for each in rows(advice).values()} == {1}
    assert not advice.current_unbeaten


def test_restricted_rejects_a_pod_that_would_fit_on_one_empty_node() -> None:
    """After pods with 5 and 5 CPUs, 1 and 3 are left: 4 need two nodes, but would fit on one empty node of 8.

    best-effort admits the third pod, and is as good for the first two.
    """
    flags = "--cpu-manager-policy=static --reserved-cpus=0-1 --topology-manager-policy=restricted"
    advice = advised(
        planning(SMALL, f"{flags} {KEPT}", "web=5/5,1Gi x2", "last=4/4,1Gi"),
        "reservedSystemCPUs",
        "memoryManagerPolicy",
    )
    assert now(advice).admitted == 2
    changes, service = best(advice, "on_one_node")
    assert (service.admitted, service.on_one_node) == (3, 2)
    assert changes & {"best-effort", "topologyManagerPolicy=none"}


def test_whole_cores_reject_a_pod_with_an_odd_number_of_cpus() -> None:
    """3 CPUs are not a whole number of cores with two CPUs each."""
    flags = (
        "--cpu-manager-policy=static --cpu-manager-policy-options=full-pcpus-only=true --reserved-cpus=0-1"
    )
    advice = advised(planning(SMALL, f"{flags} {KEPT}", "odd=3/3,1Gi"), "reservedSystemCPUs")
    assert now(advice).admitted == 0
    changes, service = best(advice, "memory_too")
    assert service.admitted == 1
    assert changes & {"full-pcpus-only=false", "cpuManagerPolicy=none"}
    assert ("cpuManagerPolicy=none",) in rows(advice)


def test_caches_are_crossed_unless_the_option_for_them_is_on() -> None:
    """Four caches of 8 CPUs, one with 6 after the reservation: two pods of 6 and one of 8 fit into one each.

    Packing continues where the last pod ended, in the middle of a cache.
    """
    machine = "synthetic:1s1n16c2t,near,l3=4,mem=32Gi"
    flags = "--cpu-manager-policy=static --reserved-cpus=0-1"
    advice = advised(planning(machine, f"{flags} {KEPT}", "a=4/4,1Gi", "b=6/6,1Gi x3"))
    assert (now(advice).crossings or 0) > 0
    found = {each: figures for each, figures in rows(advice).items() if figures.on_one_node == 4}
    assert min(figures.crossings or 0 for figures in found.values()) == 0
    assert all(
        "prefer-align-cpus-by-uncorecache" in each for each, figures in found.items() if not figures.crossings
    )


def test_a_reservation_on_every_node_leaves_room_for_a_pod_on_each() -> None:
    """Of two nodes with 8 CPUs, one has 4 left if all 4 are reserved there; with 2 on each, both have 6."""
    flags = "--cpu-manager-policy=static --reserved-cpus=0-3"
    advice = advised(planning(SMALL, f"{flags} {KEPT}", "web=6/6,1Gi x2"))
    assert now(advice).on_one_node < 2
    changes, service = best(advice, "memory_too")
    assert (service.admitted, service.on_one_node, service.memory_too) == (2, 2, 2)
    assert "reservedSystemCPUs=0-1,8-9" in changes


def test_only_the_memory_manager_keeps_memory_near_cpus() -> None:
    """Without it no memory is exclusive, with it the memory of every Guaranteed container is."""
    flags = "--cpu-manager-policy=static --reserved-cpus=0-1 --topology-manager-policy=restricted"
    advice = advised(planning(SMALL, f"{flags} {KEPT}", "web=2/2,1Gi x3"), OPTIONS)
    assert (now(advice).on_one_node, now(advice).memory_too) == (3, 0)
    changes, service = best(advice, "memory_too")
    assert "memoryManagerPolicy=Static" in changes
    assert (service.admitted, service.on_one_node, service.memory_too) == (3, 3, 3)
    assert {each.memory_too for each in rows(advice).values()} == {0, 3}


def test_only_a_strict_reservation_keeps_the_pool_off_a_reserved_sibling() -> None:
    """CPU 0 is reserved and 1 is its sibling: 7 CPUs include 1, and without the option the pool runs on 0."""
    machine = "synthetic:1s1n4c2t,near,mem=32Gi"
    flags = "--cpu-manager-policy=static --reserved-cpus=0"
    advice = advised(planning(machine, f"{flags} {KEPT}", "web=7/7,1Gi"))
    assert now(advice).cores == 3
    changes, service = best(advice, "cores")
    assert (service.admitted, service.cores, service.shared_pool) == (1, 4, 0)
    assert "strict-cpu-reservation" in changes


def test_containers_of_a_pod_may_use_a_node_each_with_container_scope(tmp_path: Any) -> None:
    """5 and 5 CPUs are more than one node has, so as a pod they are rejected, but not as containers."""
    manifest = tmp_path / "pod.yaml"
    amounts = "{limits: {cpu: 5, memory: 1Gi}}"
    containers = "\n".join(f"  - {{name: {name}, image: a, resources: {amounts}}}" for name in "ab")
    manifest.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: two}}\nspec:\n  containers:\n{containers}\n"
    )
    flags = (
        "--cpu-manager-policy=static --reserved-cpus=0-1 --topology-manager-policy=single-numa-node"
        " --topology-manager-scope=pod"
    )
    planned = planning(SMALL, f"{flags} {KEPT}", files=[str(manifest)])
    advice = advised(planned, "reservedSystemCPUs", OPTIONS)
    assert now(advice).admitted == 0
    changes, service = best(advice, "memory_too")
    assert (service.admitted, service.on_one_node, service.memory_too) == (1, 2, 2)
    assert "container" in changes or "pod" not in changes


def test_advice_makes_a_kubelet_start_that_does_not_start() -> None:
    """The static policy starts only with reserved CPUs: every proposal has some, or another policy."""
    advice = advised(planning(SMALL, "--cpu-manager-policy=static", "web=2/2,1Gi"))
    assert isinstance(advice.current, StartRefused)
    assert advice.refused > 0
    assert any(any(word.startswith("reservedSystemCPUs") for word in each) for each in rows(advice))


def test_options_behind_disabled_gates_are_named() -> None:
    advice = advised(planning(SMALL, KEPT, "web=2/2,1Gi"), budget=1)
    assert {each.setting for each in advice.left_out} >= {"align-by-socket", "distribute-cpus-across-cores"}
    opened = planning(SMALL, f"{KEPT} --feature-gates=CPUManagerPolicyAlphaOptions=true", "web=2/2,1Gi")
    assert not {each.setting for each in advised(opened, budget=1).left_out} & {"align-by-socket"}


def test_the_end_of_the_search_by_budget_is_reported() -> None:
    planned = planning(SMALL, f"--cpu-manager-policy=static --reserved-cpus=0-1 {KEPT}", "web=2/2,1Gi x2")
    few = advised(planned, OPTIONS, budget=5)
    assert (few.tried, few.ended) == (5, "budget")
    whole = advised(planned, OPTIONS)
    assert whole.ended == "all"
    assert whole.tried + whole.equivalent + whole.refused == whole.possible
    exact = advised(planned, OPTIONS, budget=whole.tried)
    assert exact.ended == "all"
    assert exact == whole


def test_an_interrupted_search_reports_its_results() -> None:
    planned = planning(SMALL, f"--cpu-manager-policy=static --reserved-cpus=0-1 {KEPT}", "web=2/2,1Gi x2")
    requested = iter(range(100))
    advice = advised(planned, stopped=lambda: next(requested) == 3)
    assert (advice.tried, advice.ended) == (4, "stopped")


def test_admitted_pods_come_first_and_free_cpus_only_break_ties() -> None:
    """Rejecting a pod leaves more free CPUs, which is not a merit; neither are fewer crossings."""
    more = Service(3, 0, 2, 0, 4, 2, 8, 2, 0)
    assert more._replace(admitted=2).beats(more._replace(overlapping=2)) is False
    assert more.beats(more._replace(overlapping=2))
    assert more.beats(more._replace(admitted=2, crossings=0, shared_pool=12, largest=6))
    assert not more.beats(more._replace(admitted=2, on_one_node=3))
    assert more.beats(more._replace(shared_pool=7))
    assert not more.beats(more._replace(shared_pool=7, largest=3))
    assert not more.beats(more)


def every_service(planned: Planning, keep: Iterable[str]) -> list[Service]:
    """Try every setting on the engine, exhaustively."""
    found = []
    space = Space(planned.source.machine, planned.source.info, planned.kubelet, keep=tuple(keep))
    for choice in space.choices():
        node = planned.start(replace(planned.kubelet, config=choice.config), Sources())
        if isinstance(node, Node):
            admissions = [node.admit(pod) for pod in planned.incoming]
            if node.fault is None:
                found.append(service_of(node, admissions))
    return found


MACHINES = st.sampled_from(
    (
        "synthetic:1s1n4c1t,mem=8Gi",
        "synthetic:1s1n3c2t,near,l3=3,mem=8Gi",
        "synthetic:2s2n4c1t,mem=8Gi",
        "synthetic:2s2n4c2t,l3=4,near,mem=8Gi/4Gi",
        "synthetic:1s2n4c2t,near,mem=8Gi",
        "synthetic:2s4n4c1t,mem=4Gi,distances=10+11+20+21/11+10+21+20/20+21+10+11/21+20+11+10",
        "synthetic:2s1n4c2t,near,mem=8Gi",
    )
)
PODS = st.lists(
    st.builds("{}/{},{}Mi".format, st.integers(1, 6), st.integers(6, 7), st.integers(1, 3000))
    | st.builds(lambda cpus, memory: f"{cpus}/{cpus},{memory}Mi", st.integers(1, 7), st.integers(1, 5000)),
    min_size=1,
    max_size=4,
)
FLAGS = st.sampled_from(
    (
        "",
        "--cpu-manager-policy=static --reserved-cpus=0",
        "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=restricted",
        "--cpu-manager-policy=static --kube-reserved=cpu=1,memory=1Gi",
    )
)


FIXED_SETTINGS = st.sampled_from(
    (
        ("memoryManagerPolicy", "reservedSystemCPUs"),
        ("cpuManagerPolicyOptions", "reservedSystemCPUs"),
        ("topologyManagerPolicy", "topologyManagerScope", "strict-cpu-reservation"),
    )
)
"""The settings that are fixed in each search: varying all at once takes a minute."""


@settings(max_examples=5, deadline=None)
@given(machine=MACHINES, pods=PODS, flags=FLAGS, alpha=st.booleans(), keep=FIXED_SETTINGS)
def test_trying_all_settings_one_by_one_gives_the_same_result(
    machine: str, pods: list[str], flags: str, alpha: bool, keep: tuple[str, ...]
) -> None:
    """Settings treated as equal are equal; every row starts and none beats another."""
    gates = "--feature-gates=CPUManagerPolicyAlphaOptions=true" if alpha else ""
    memory = "" if "memory" in flags else KEPT
    names = [f"p{number}={amounts}" for number, amounts in enumerate(pods)]
    planned = planning(machine, f"{flags} {memory} {gates}", *names)
    advice = advised(planned, *keep)
    assert advice.ended == "all"
    figures = [now(advice)] if advice.current_unbeaten else []
    figures += rows(advice).values()
    wanted = unbeaten((each, each) for each in every_service(planned, keep))
    assert sorted(map(str, figures)) == sorted(str(service) for _, service in wanted)
    assert not any(one.beats(other) for one in figures for other in figures)
    start = partial(check_start, planned.source.info)
    for each in advice.proposed:
        assert isinstance(start(replace(planned.kubelet, config=each.tried.choice.config)), Started)


def test_kept_settings_are_not_varied() -> None:
    planned = planning(SMALL, f"--cpu-manager-policy=static --reserved-cpus=0-1 {KEPT}", "web=5/5,1Gi x2")
    advice = advised(planned, "topologyManagerPolicy", "memoryManagerPolicy", "reservedSystemCPUs")
    before = planned.kubelet.config
    for each in advice.proposed:
        config = each.tried.choice.config
        assert config.topology_manager_policy == before.topology_manager_policy == "none"
        assert config.reserved_system_cpus == "0-1"
    options = advised(planned, "full-pcpus-only", budget=200)
    assert not any("full-pcpus-only" in changes for changes in rows(options))
    with pytest.raises(UsageError, match="unknown setting"):
        advised(planned, "full-pcpus")
