"""The plugin NodeResourceTopologyMatch: every case of its public tables, and cases that they omit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import NodeTopology, Zone, ZoneResource
from cpuctl.scheduler.topology_match import (
    NumaZone,
    PluginCrashError,
    Scoring,
    Strategy,
    TopologyRequest,
    TopologyScore,
    Unaligned,
    fewest_zones,
    filter_topology,
    least_numa_score,
    score_topology,
    shortest_distance,
)

ROOT = Path(__file__).parents[2]
TABLES: dict[str, Any] = yaml.load(
    (ROOT / "fixtures/scheduler/node_resource_topology_match.yaml").read_bytes(), yaml.CSafeLoader
)
SINGLE = "SingleNUMANodeContainerLevel"


def named(cases: Sequence[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[each["name"] for each in cases])


def quantities(amounts: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


def nanos(amounts: Mapping[str, str]) -> dict[str, int]:
    return {name: amount.nano for name, amount in quantities(amounts).items()}


def topology_of(
    zones: Sequence[Mapping[str, Any]], policy: str = "", attributes: tuple[tuple[str, str], ...] = ()
) -> NodeTopology:
    return NodeTopology(
        "n1",
        tuple(
            Zone(
                zone["name"],
                resources=tuple(
                    ZoneResource(name, *map(Quantity.parse, (most, most, free)))
                    for name, (most, free) in zone["resources"].items()
                ),
                costs=tuple(zone.get("costs", {}).items()),
            )
            for zone in zones
        ),
        attributes,
        (policy,) if policy else (),
    )


def table_topology(name: str, policy: str = "") -> NodeTopology:
    reported = TABLES["topologies"][name]
    return topology_of(reported["zones"], policy or reported.get("policy", ""))


def pod_of(case: Mapping[str, Any]) -> Pod:
    def container(reported: Mapping[str, Any], number: int, kind: ContainerKind) -> Container:
        requests = reported.get("requests", reported)
        limits = reported.get("limits", {}) if "requests" in reported else reported
        resources = ResourceRequirements(quantities(requests), quantities(limits))
        return Container(f"{kind}{number}", kind, resources)

    return Pod(
        "a",
        tuple(
            container(reported, number, ContainerKind.APP)
            for number, reported in enumerate(case.get("containers", []))
        ),
        tuple(
            container(reported, number, ContainerKind(case.get("kind", "init")))
            for number, reported in enumerate(case.get("init", []))
        ),
    )


@named(TABLES["filter"])
def test_filter_of_the_plugins_tables(case: dict[str, Any]) -> None:
    reported = TABLES["topologies"][case["topology"]]
    names = {name for zone in reported["zones"] for name in zone["resources"]} | reported.get(
        "node", {}
    ).keys()
    found = filter_topology(TopologyRequest.of(pod_of(case)), table_topology(case["topology"]), names)
    assert (found.message if found else None) == case.get("message")


@named(TABLES["allocation"])
def test_allocation_strategies_of_the_plugins_tables(case: dict[str, Any]) -> None:
    asking = TopologyRequest.of(pod_of(case))
    scoring = Scoring(Strategy(case["strategy"]))
    scores = {
        name.removeprefix("default/"): score_topology(asking, table_topology(name, case["policy"]), scoring)
        for name in case["topologies"]
    }
    if case["best"]:
        best = max(scores, key=lambda name: scores[name].value)
        assert {best: scores[best]} == {name: TopologyScore(score) for name, score in case["best"].items()}
    assert score_topology(asking, None, scoring) == TopologyScore(0)


@named(TABLES["leastNUMANodes"])
def test_least_numa_nodes_of_the_plugins_tables(case: dict[str, Any]) -> None:
    asking, scoring = TopologyRequest.of(pod_of(case)), Scoring(Strategy.LEAST_NUMA_NODES)
    scores = {
        name: score_topology(asking, table_topology(name, case.get("policy", "")), scoring).value
        for name in case["scores"]
    }
    assert scores == case["scores"]


def zones_of(reported: Sequence[Mapping[str, Any]]) -> list[NumaZone]:
    return [
        NumaZone(each["id"], nanos(each.get("available", {})), each.get("costs", {})) for each in reported
    ]


@named(TABLES["fewestZones"])
def test_fewest_zones_of_the_plugins_tables(case: dict[str, Any]) -> None:
    found = fewest_zones(nanos(case["requests"]), zones_of(case["zones"]))
    if case["ids"] is None:
        assert found is None
    else:
        assert found == (tuple(case["ids"]), case["nearest"])


@named(TABLES["leastNUMAScore"])
def test_scores_by_number_of_zones_of_the_plugins_tables(case: dict[str, Any]) -> None:
    assert least_numa_score(case["count"], most=8, nearest=case["nearest"]) == case["score"]


@named(TABLES["shortestDistance"])
def test_distances_of_the_plugins_tables(case: dict[str, Any]) -> None:
    count = len(case["combinations"][0])
    found = shortest_distance(zones_of(case["zones"]), case["combinations"], count)
    assert found / count**2 == pytest.approx(case["mean"])


TWO = [
    {"name": f"node-{number}", "resources": {"cpu": ["8", "4"], "memory": ["8Gi", "8Gi"]}}
    for number in (0, 1)
]
SINGLE_POD = "SingleNUMANodePodLevel"
NAMES = ("cpu", "memory")


def verdict(case: Mapping[str, Any], policy: str = SINGLE, **changes: Any) -> Unaligned | None:
    return filter_topology(TopologyRequest.of(pod_of(case)), topology_of(TWO, policy, **changes), NAMES)


def requesting(cpu: str, memory: str = "1Gi") -> dict[str, str]:
    return {"cpu": cpu, "memory": memory}


def test_a_sidecar_has_its_own_message_and_takes_nothing() -> None:
    case = {"containers": [requesting("4"), requesting("4")], "init": [requesting("4")], "kind": "sidecar"}
    assert verdict(case) is None
    assert verdict({**case, "init": [requesting("5")]}) == (
        "cannot align sidecar container",
        "sidecar0",
        "cpu",
    )


def test_with_pod_scope_the_largest_init_container_counts_and_sidecars_are_not_added() -> None:
    case = {"containers": [requesting("2"), requesting("2")], "init": [requesting("4")], "kind": "sidecar"}
    assert verdict(case, SINGLE_POD) is None
    assert verdict({**case, "init": [requesting("5")]}, SINGLE_POD) == ("cannot align pod", "", "cpu")


def test_overhead_counts_only_with_pod_scope() -> None:
    pod = pod_of({"containers": [requesting("4")]})._replace(overhead=quantities({"cpu": "1"}))
    topologies = [topology_of(TWO, policy) for policy in (SINGLE, SINGLE_POD)]
    found = [filter_topology(TopologyRequest.of(pod), each, NAMES) for each in topologies]
    assert found == [None, ("cannot align pod", "", "cpu")]


def test_only_one_policy_filters_and_attributes_determine_it() -> None:
    case = {"containers": [requesting("5")]}
    assert verdict(case) is not None
    assert verdict(case, "RestrictedContainerLevel") is None
    assert verdict(case, attributes=(("topologyManagerPolicy", "restricted"),)) is None
    assert verdict(case, "", attributes=(("topologyManagerPolicy", "single-numa-node"),)) is not None


def test_cpus_that_the_kubelet_does_not_align_are_aligned_by_the_plugin() -> None:
    assert verdict({"containers": [requesting("4500m")]}) == ("cannot align container", "app0", "cpu")


def test_unlisted_memory_fails_every_pod_that_requests_memory() -> None:
    bare = [{**zone, "resources": {"cpu": ["8", "8"]}} for zone in TWO]
    pod = pod_of({"containers": [{"requests": {"memory": "1Mi"}}]})
    assert filter_topology(TopologyRequest.of(pod), topology_of(bare, SINGLE), NAMES) == (
        "cannot align container",
        "app0",
        "memory",
    )


def sparse(*numbers: int) -> NodeTopology:
    return topology_of([{**TWO[0], "name": f"node-{number}"} for number in numbers], SINGLE)


def test_what_crashes_the_scheduler() -> None:
    asking = TopologyRequest.of(pod_of({"containers": [requesting("1")]}))
    assert score_topology(asking, sparse(0, 2), Scoring()) == (
        0,
        "the scheduler crashes: index out of range: NUMA node 2",
    )
    assert filter_topology(asking, sparse(0, 63, 65), NAMES) is None
    with pytest.raises(PluginCrashError, match="node-64"):
        filter_topology(asking, sparse(0, 64), NAMES)
    twice = TopologyRequest.of(pod_of({"containers": [requesting("1"), requesting("4")]}))
    assert score_topology(twice, sparse(2, 3), Scoring(Strategy.LEAST_NUMA_NODES)) == (
        0,
        "the scheduler crashes: index out of range [2] with length 2",
    )


def test_more_numa_nodes_than_allowed_give_a_rejected_score() -> None:
    numbers = range(9)
    fits = TopologyRequest.of(pod_of({"containers": [requesting(str(4 * 8))]}))
    fewest = Scoring(Strategy.LEAST_NUMA_NODES)
    topology = topology_of([{**TWO[0], "name": f"node-{number}"} for number in numbers], SINGLE)
    assert score_topology(fits, topology, fewest).value > 0
    more = TopologyRequest.of(pod_of({"containers": [requesting(str(4 * 8 + 1))]}))
    assert score_topology(more, topology, fewest) == (0, "the scheduler rejects the score: -2 is less than 0")


def test_pod_level_resources_give_invalid_scores() -> None:
    whole = ResourceRequirements(quantities(requesting("2")), quantities(requesting("2")))
    pod = Pod("a", (Container("c"),), resources=whole)
    topology = topology_of(TWO, SINGLE)
    assert "divide by zero" in score_topology(TopologyRequest.of(pod), topology, Scoring()).failure
    one = Pod(
        "a", (Container("c", resources=ResourceRequirements(quantities({"cpu": "1"}))),), resources=whole
    )
    balanced = score_topology(TopologyRequest.of(one), topology, Scoring(Strategy.BALANCED_ALLOCATION))
    assert balanced == (0, "the scheduler rejects the score: the variance of one resource is not a number")


def test_weights_shift_a_score_and_a_weight_below_1_counts_as_1() -> None:
    asking = TopologyRequest.of(pod_of({"containers": [requesting("2", "4Gi")]}))
    topology = topology_of([{**TWO[0], "resources": {"cpu": ["8", "4"], "memory": ["8Gi", "16Gi"]}}], SINGLE)

    def score(*weights: tuple[str, int]) -> int:
        return score_topology(asking, topology, Scoring(weights=weights)).value

    assert [score(), score(("cpu", 3)), score(("cpu", 0))] == [(50 + 75) // 2, (150 + 75) // 4, 62]


def test_fractions_round_up_in_scores() -> None:
    asking = TopologyRequest.of(pod_of({"containers": [requesting("1500m", "8Gi")]}))
    score = score_topology(asking, topology_of(TWO, SINGLE), Scoring(Strategy.MOST_ALLOCATED))
    assert score == TopologyScore((50 + 100) // 2)
