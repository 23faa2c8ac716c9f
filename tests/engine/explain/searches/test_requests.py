"""The requests nearest to a rejected one: what is found, and after how many trials.

If far more is requested than a node has, the search begins with what the node could provide.
"""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.decision import Decision, Rule
from cpuctl.engine.explain.scenario import SearchBudget
from cpuctl.engine.explain.searches.requests import nearest_requests
from cpuctl.pods.model import Container
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    RESTRICTED,
    SINGLE,
    TWO_NODES,
    cards,
    decided,
    divided,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.engine.explain.searches.nearest import Case, nearest
from tests.support.pods import app
from tests.support.topologies import CoreAt, machine_info

POD_SCOPE: dict[str, Any] = {"topology_manager_scope": "pod"}
DIVIDING: dict[str, Any] = {
    **RESTRICTED,
    **POD_SCOPE,
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
MEMORY = memory_config()
TEN = with_memory(TWO_NODES, 10)
PAGES = with_memory(TWO_NODES, 10, pages={1 << 11: 512})


def half_a_cpu(name: str, memory: str) -> Container:
    """Make a container without exclusive CPUs whose requests equal its limits."""
    amounts = f"cpu=500m memory={memory}"
    return app(amounts, amounts, name)


CPUS = [
    Case(
        "one gets less, not all",
        EIGHT,
        (named("a", whole(1)), named("b", whole(3, "one"), whole(4, "two"))),
        [{"two": "3"}],
        1 + 2,
    ),
    Case(
        "less than the node has free, one by one",
        EIGHT,
        (named("a", whole(2)), named("b", whole(3, "one"), whole(9, "two"))),
        [{"two": "2"}],
        4,
    ),
    Case(
        "one CPU is enough",
        EIGHT,
        (named("a", whole(5)), named("b", whole(3, "one"), whole(1, "two"))),
        [{"one": "1"}],
        2,
    ),
    Case("reserved CPUs are not free", EIGHT, (named("a", whole(9)),), [{"main": "7"}], 1),
    Case(
        "what ended pods held is free",
        EIGHT,
        (named("a", whole(2), whole(9, "no")), named("b", whole(8))),
        [{"main": "7"}],
        1,
    ),
    Case("cores below and above", EIGHT, (named("a", whole(7)),), [{"main": "6"}], 1 + 1, CORES),
    Case(
        "more cores, up to all that are free",
        TWO_NODES,
        (named("a", whole(5)),),
        [{"main": "4"}, {"main": "6"}],
        1 + 1,
        CORES,
    ),
    Case(
        "cores of one CPU",
        machine_info(CoreAt(cpus=(cpu,)) for cpu in range(4)),
        (named("a", whole(5)),),
        [{"main": "3"}],
        1,
        CORES,
    ),
    Case(
        "cores of several containers",
        EIGHT,
        (named("a", whole(3, "one"), whole(1, "two")),),
        [{"one": "2", "two": "2"}, {"one": "4", "two": "2"}],
        1 + 1 + 2 + 1,
        CORES,
    ),
    Case(
        "several containers that request far more than there is",
        EIGHT,
        (named("a", whole(5000, "one"), whole(5000, "two")),),
        [{"one": "3", "two": "3"}],
        7 + 5,
    ),
    Case(
        "neither devices nor memory is the reason",
        TEN,
        (
            named("a", whole(1, memory="8Gi")),
            named("b", whole(9, memory="2Gi", more="example.com/card=2")),
        ),
        [{"main": "8"}],
        1 + 5,
        SINGLE | MEMORY,
        devices=cards(node1=2),
    ),
]
OTHERS = [
    Case(
        "CPUs and memory need different nodes",
        TEN,
        (named("a", whole(2, memory="12Gi")),),
        [{"main": "9"}, {"main memory": "9Gi"}],
        1 + 2 + 7 + 1,
        RESTRICTED | MEMORY,
    ),
    Case(
        "more memory, too, makes the nodes the same",
        TEN,
        (named("a", whole(9, memory="8Gi")),),
        [{"main": "8"}, {"main memory": "9217Mi"}],
        1 + 6 + 1,
        RESTRICTED | MEMORY,
    ),
    Case(
        "CPUs and devices need different nodes",
        TWO_NODES,
        (named("a", whole(2, memory="1.5Gi", more="example.com/card=3"), static=True),),
        [{"main": "9"}, {"main card": "2"}],
        1 + 2 + 7 + 1,
        RESTRICTED | POD_SCOPE,
        devices=cards(node0=2, node1=2),
    ),
    Case(
        "memory and devices need different nodes",
        TEN,
        (named("a", whole(2, memory="12Gi", more="example.com/card=1")),),
        [{"main memory": "9Gi"}],
        1 + 2 + 14 + 1,
        RESTRICTED | MEMORY | {"cpu_manager_policy": "none", "reserved_system_cpus": ""},
        devices=cards(node0=2),
    ),
    Case(
        "one device",
        TWO_NODES,
        (named("a", whole(2, more="example.com/card=3")),),
        [{"main card": "1"}],
        2,
        SINGLE,
        devices=cards(node0=1, node1=1),
    ),
    Case(
        "far more devices than there are",
        TWO_NODES,
        (named("a", whole(2, more="example.com/card=5000")),),
        [{"main card": "3"}],
        1,
        RESTRICTED,
        devices=cards(node0=3),
    ),
    Case(
        "memory that is not a whole number",
        TEN,
        (named("a", whole(1, memory="1.5Gi"), static=True),),
        [{"main memory": "1536Mi"}],
        1,
        MEMORY,
    ),
    Case(
        "pod-level memory",
        TEN,
        (named("a", whole(1, "one", "7Gi"), whole(1, "two", "5Gi")),),
        [{"one memory": "4Gi"}],
        1,
        SINGLE | POD_SCOPE | MEMORY,
    ),
    Case(
        "a pod's other containers leave nothing",
        TEN,
        (named("a", whole(1, "one", "9Gi"), whole(1, "two", "9Gi")),),
        [{"one memory": "4608Mi", "two memory": "4608Mi"}],
        8 + 3,
        SINGLE | POD_SCOPE | MEMORY,
    ),
    Case(
        "in proportion, then more memory for all, as the pod's containers share it",
        TEN,
        (
            named("o", whole(5, memory="2Gi")),
            named("u", whole(5, memory="3Gi")),
            named("a", whole(4, "one", "6Gi"), whole(4, "two", "6Gi")),
        ),
        [{"one": "2", "one memory": "3Gi", "two": "1", "two memory": "3Gi"}],
        37,
        SINGLE | POD_SCOPE | MEMORY,
    ),
    Case(
        "equal containers get equal amounts",
        TEN,
        (named("a", *(half_a_cpu(name, "7Gi") for name in "uvwxyz")),),
        [{f"{name} memory": "3Gi" for name in "uvwxyz"}],
        34,
        SINGLE | MEMORY,
    ),
    Case(
        "then one alone gets what its NUMA node has left",
        TEN,
        (named("a", *(half_a_cpu(name, "7Gi") for name in "uvwxy")),),
        [{"u memory": "6Gi"} | {f"{name} memory": "3Gi" for name in "vwxy"}],
        46,
        SINGLE | MEMORY,
    ),
    Case(
        "a container with little memory",
        TEN,
        (named("b", whole(4, memory="8Gi")), named("a", whole(9, "one", "2Mi"), whole(1, "two", "11Gi"))),
        [{"one": "7", "one memory": "1Mi", "two memory": "9215Mi"}],
        38,
        SINGLE | MEMORY,
    ),
    Case(
        "CPUs and huge pages, of which each alone is not enough",
        PAGES,
        (
            named("o", whole(5, memory="2Gi")),
            named("u", whole(5, memory="2Gi")),
            named("a", whole(6, memory="1Gi", more="hugepages-2Mi=1200Mi")),
        ),
        [{"main": "3", "main hugepages-2Mi": "1Gi"}],
        30,
        SINGLE | MEMORY,
    ),
    Case(
        "a container's memory",
        TEN,
        (named("a", whole(1, "one", "7Gi"), whole(1, "two", "12Gi")),),
        [{"two memory": "9Gi"}],
        2,
        SINGLE | MEMORY,
    ),
    Case(
        "a pod's pages, which would not be preferred if they were more",
        PAGES,
        (
            named(
                "a",
                whole(1, "one", "1Gi", "hugepages-2Mi=900Mi"),
                whole(1, "two", "3Gi", "hugepages-2Mi=400Mi"),
            ),
        ),
        [{"two hugepages-2Mi": "124Mi"}],
        1 + 1,
        SINGLE | POD_SCOPE | MEMORY,
    ),
    Case(
        "resources for a container that has none",
        TEN,
        (divided("a", "cpu=4 memory=4Gi", whole(2, memory="1Gi"), app(name="log")),),
        [{"log": "100m", "log memory": "64Mi"}],
        1,
        DIVIDING | MEMORY | {"topology_manager_scope": "container"},
    ),
    Case(
        "what the API server would reject is not tried",
        TEN,
        (divided("a", "cpu=2 memory=1Gi", whole(2, memory="1Gi"), app(name="log")),),
        [],
        0,
        DIVIDING | MEMORY | {"topology_manager_scope": "container"},
    ),
    Case(
        "everything at once if nothing helps alone, then as much of each as possible",
        TEN,
        (named("a", whole(32, memory="64Gi")),),
        [{"main": "8", "main memory": "9Gi"}],
        15 + 15 + 14 + 24,
        RESTRICTED | MEMORY,
    ),
]


@pytest.mark.parametrize("case", [*CPUS, *OTHERS], ids=lambda case: case.name)
def test_what_is_tried_after_a_rejection(case: Case) -> None:
    replay = reported(scenario(case.info, *case.pods, devices=case.devices, **case.config))
    assert nearest(replay) == (case.found, case.runs)


@pytest.mark.parametrize("bound", [14, 30, 34])
def test_raising_leaves_enough_runs_to_verify_what_is_found(bound: int) -> None:
    pods = named("a", *(half_a_cpu(name, "7Gi") for name in "uvwxyz"))
    replay = reported(scenario(TEN, pods, **SINGLE | MEMORY))
    runs = SearchBudget(bound=bound)
    assert len(list(nearest_requests(replay, decided(replay), runs))) == 1
    assert runs.allow(len(replay.scenario.pods))


def test_a_part_of_a_cpu_is_not_tried_and_the_pod_gets_more() -> None:
    shared = app("cpu=500m memory=1Gi", name="shared")
    replay = reported(scenario(TWO_NODES, divided("a", "cpu=2 memory=2Gi", whole(2), shared), **DIVIDING))
    decision = Decision(rule=Rule.EMPTY_POOL, why="", container="shared", provider="cpu")
    found, _ = nearest(replay, decision)
    assert found == [{"": "3"}]


def test_requests_of_running_pods_do_not_change() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(9))))
    assert nearest(replace(replay, scenario=replace(replay.scenario, restarted=True))) == ([], 0)


WITHOUT = [
    Case(
        "no pages where there are none",
        with_memory(TWO_NODES, 10, pages={1 << 11: 0}),
        (named("a", whole(1, "one", "1Gi", "hugepages-2Mi=4Mi"), whole(1, "two", "1Gi")),),
        [{"one hugepages-2Mi": "0"}],
        1 + 1,
        SINGLE | MEMORY,
    ),
    Case(
        "no devices where all are taken",
        EIGHT,
        (named("a", whole(1, more="example.com/card=1")), named("b", whole(1, more="example.com/card=1"))),
        [{"main card": "0"}],
        1,
        devices=cards(node0=1),
    ),
    Case(
        "no devices where all are taken, and the kubelet counts",
        EIGHT,
        (named("a", whole(1, more="example.com/card=1")), named("b", whole(1, more="example.com/card=1"))),
        [{"main card": "0"}],
        1,
        devices=cards(node0=1),
        fit=True,
    ),
]


@pytest.mark.parametrize("case", WITHOUT, ids=lambda case: case.name)
def test_a_pod_that_requests_nothing_of_a_resource_is_tried(case: Case) -> None:
    replay = reported(scenario(case.info, *case.pods, fit=case.fit, devices=case.devices, **case.config))
    assert nearest(replay) == (case.found, case.runs)
