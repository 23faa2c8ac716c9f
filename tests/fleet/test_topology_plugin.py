"""NodeResourceTopologyMatch in plans for a fleet, and where its decisions differ from those of kubelets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuctl.errors import UsageError
from cpuctl.fleet.asking import ask, in_this_process
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_answer import fleet_plan_document
from cpuctl.fleet.plan_inputs import FleetPlanInputs, given_pods, load_cluster
from cpuctl.fleet.plan_nodes import FleetInputs, NodeSurveyor
from cpuctl.fleet.topologies import TopologyPublisher
from cpuctl.fleet.topology_plugin import PluginOptions
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.topology_publishing import Publisher
from cpuctl.scheduler.topology_match import Scoring, Strategy

BARE = "--cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=single-numa-node"
SINGLE = (
    f"{BARE} --memory-manager-policy=Static --kube-reserved=memory=1000Mi --reserved-memory=0:memory=1000Mi"
)
TWO = {"n1": "synthetic:2s2n4c1t"}
THIRD_IN_TWO_PIECES = ("a=2/2,1Gi", "b=3/3,1Gi", "c=2/2,1Gi")
"""Of 3 and 4 CPUs on two NUMA nodes, one each is left for the third pod."""
PLUGIN = "noderesourcetopologymatch"


def kubelet(arguments: str | None) -> KubeletInputs:
    return KubeletInputs(arguments=arguments, version="1.36")


def no_progress(_done: int, _total: int) -> None:
    pass


def planned(
    *templates: str,
    fleet: dict[str, str] | None = None,
    arguments: str | None = SINGLE,
    plugin: str = PLUGIN,
    **words: Any,
) -> tuple[Any, Sources]:
    """Plan with the plugin; without a fleet, from the objects alone."""
    inputs = FleetPlanInputs(
        kubelet=kubelet(arguments), templates=templates, plugin=PluginOptions.parse(plugin), **words
    )
    sources = Sources()
    cluster = load_cluster(inputs, sources)
    surveyor = NodeSurveyor(FleetInputs(inputs.kubelet, inputs.devices, cluster.running))
    recordings = [Recording(name, source) for name, source in (fleet or {}).items()]
    rows: Any = list(ask(surveyor, recordings, in_this_process, no_progress)) if recordings else []
    return fleet_plan_document(
        inputs, given_pods(inputs, sources), cluster, rows, sources, no_progress
    ), sources


def objects(path: Path, arguments: str = SINGLE, **fleet: str) -> str:
    """Publish the nodes of a fleet, and write what kubectl would print of them."""
    publisher = TopologyPublisher(kubelet(arguments), Publisher.parse("rte"))
    items = [publisher(Recording(name, source))["object"] for name, source in fleet.items()]
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def nodes(path: Path, **cpus: str) -> str:
    items = [
        {
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": count, "memory": "100Gi", "pods": "110"}},
        }
        for name, count in cpus.items()
    ]
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def outcomes(answer: Any) -> list[tuple[str | None, str]]:
    return [(pod["node"], pod["outcome"]) for pod in answer["pods"]]


def test_objects_republished_after_every_pod_filter_pods_as_the_kubelet_would() -> None:
    answer, _ = planned("a=3/3,1Gi x3", fleet=TWO)
    assert outcomes(answer) == [("n1", "Admitted"), ("n1", "Admitted"), (None, "Pending")]
    assert answer["pods"][2]["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    split, _ = planned(*THIRD_IN_TWO_PIECES, fleet=TWO)
    assert outcomes(split) == [("n1", "Admitted"), ("n1", "Admitted"), (None, "Pending")]
    last = split["pods"][2]
    assert last["message"] == "0/1 nodes are available: 1 cannot align container."
    assert last["plugin"]["filtered"] == [
        {"message": "cannot align container", "container": "c", "resource": "cpu", "nodes": 1}
    ]
    assert last["plugin"]["wronglyFiltered"] is None
    assert split["summary"]["wronglyFiltered"] == split["summary"]["wronglyPassed"] == 0


def test_without_the_plugin_the_scheduler_does_not_see_that() -> None:
    inputs = FleetPlanInputs(kubelet=kubelet(SINGLE), templates=THIRD_IN_TWO_PIECES)
    cluster = load_cluster(inputs, Sources())
    surveyor = NodeSurveyor(FleetInputs(inputs.kubelet))
    rows: Any = list(ask(surveyor, [Recording("n1", TWO["n1"])], in_this_process, no_progress))
    answer = fleet_plan_document(inputs, given_pods(inputs, Sources()), cluster, rows, Sources(), no_progress)
    assert [pod["outcome"] for pod in answer["pods"]] == ["Admitted", "Admitted", "Rejected"]
    assert "plugin" not in answer["pods"][0]


WRONGLY_FILTERED = {
    "no memory is listed": ("a=1/1,1Gi", BARE, PLUGIN, "no zone lists memory"),
    "a fraction of a CPU": ("f=4500m/4500m,1Gi", SINGLE, PLUGIN, "looks for 4500m CPUs on one NUMA node"),
    "no CPUs are listed": (
        "a=1/1,1Gi",
        SINGLE.replace("--cpu-manager-policy=static ", ""),
        PLUGIN,
        "no zone lists cpu because the kubelet's CPU Manager",
    ),
    "no CPUs and no memory": (
        "a=1/1,1Gi",
        "--topology-manager-policy=single-numa-node",
        PLUGIN,
        "every zone has 0 CPUs",
    ),
    "the cache": ("a=3/3,1Gi x2", SINGLE, f"{PLUGIN},cache=reserve", "the reserve cache has subtracted"),
}


@pytest.mark.parametrize(
    ("template", "arguments", "plugin", "why"), WRONGLY_FILTERED.values(), ids=WRONGLY_FILTERED
)
def test_pods_that_the_plugin_filters_although_the_kubelet_would_admit_them(
    template: str, arguments: str, plugin: str, why: str
) -> None:
    answer, _ = planned(template, fleet=TWO, arguments=arguments, plugin=plugin)
    last = answer["pods"][-1]
    assert last["outcome"] == "Pending"
    assert (last["plugin"]["wronglyFiltered"]["count"], last["plugin"]["wronglyFiltered"]["nodes"]) == (
        1,
        ["n1"],
    )
    assert why in last["plugin"]["wronglyFiltered"]["why"]
    assert answer["summary"]["wronglyFiltered"] == 1


WRONGLY_PASSED = {
    "another policy": (
        THIRD_IN_TWO_PIECES,
        SINGLE.replace("single-numa-node", "restricted"),
        "synthetic:2s2n4c1t",
        "the object has policy restricted",
        "TopologyAffinityError",
    ),
    "whole cores": (
        ("a=3/3,1Gi",),
        SINGLE.replace(
            "reserved-cpus=0 ", "reserved-cpus=0,4 --cpu-manager-policy-options=full-pcpus-only=true "
        ),
        "synthetic:2s2n4c2t,near",
        "not which cores",
        "SMTAlignmentError",
    ),
}


@pytest.mark.parametrize(
    ("templates", "arguments", "machine", "why", "reason"), WRONGLY_PASSED.values(), ids=WRONGLY_PASSED
)
def test_pods_that_the_plugin_lets_pass_although_the_kubelet_rejects_them(
    templates: tuple[str, ...], arguments: str, machine: str, why: str, reason: str
) -> None:
    answer, _ = planned(*templates, fleet={"n1": machine}, arguments=arguments)
    last = answer["pods"][-1]
    assert (last["outcome"], last["reason"]) == ("Rejected", reason)
    assert why in last["plugin"]["wronglyPassed"]
    assert answer["summary"]["wronglyPassed"] == 1


def test_a_stale_object_lets_pods_pass_and_is_reported(tmp_path: Path) -> None:
    larger = objects(tmp_path / "nrt.yaml", n1="synthetic:2s2n8c1t")
    answer, sources = planned("a=5/5,1Gi", fleet=TWO, topologies=larger)
    assert outcomes(answer) == [("n1", "Rejected")]
    assert answer["pods"][0]["plugin"]["wronglyPassed"] == (
        "the object does not match the node: node-0 cpu allocatable: the object says 7, an exporter would "
        "publish 3"
    )
    warned = next(each for each in sources.warnings if "does not match" in each)
    assert warned == (
        "n1: its NodeResourceTopology does not match the node: node-0 cpu allocatable: the object says 7, "
        "an exporter would publish 3 (and 3 more)"
    )
    smaller = objects(tmp_path / "small.yaml", **TWO)
    filtered, _ = planned("a=5/5,1Gi", fleet={"n1": "synthetic:2s2n8c1t"}, topologies=smaller)
    assert outcomes(filtered) == [(None, "Pending")]
    assert "the object does not match the node" in filtered["pods"][0]["plugin"]["wronglyFiltered"]["why"]
    spread = SINGLE.replace("single-numa-node", "best-effort")
    other, _ = planned("a=5/5,1Gi", fleet=TWO, topologies=smaller, arguments=spread)
    assert other["pods"][0]["plugin"]["wronglyFiltered"]["why"] == (
        "the object says single-numa-node, but the kubelet uses best-effort"
    )


def test_an_object_is_not_held_against_a_kubelet_whose_configuration_is_assumed(tmp_path: Path) -> None:
    published = objects(tmp_path / "nrt.yaml", **TWO)
    answer, sources = planned("a=5/5,1Gi", fleet=TWO, topologies=published, arguments=None)
    assert outcomes(answer) == [(None, "Pending")]
    assert answer["pods"][0]["plugin"]["filtered"]
    assert answer["pods"][0]["plugin"]["wronglyFiltered"] is None
    assert answer["summary"]["wronglyFiltered"] == 0
    assert any(
        "its configuration is not recorded, and defaults are assumed" in each for each in sources.warnings
    )
    known, _ = planned(
        "a=5/5,1Gi", fleet=TWO, topologies=published, arguments="--topology-manager-policy=none"
    )
    assert known["summary"]["wronglyFiltered"] == 1


def test_an_object_without_zones_shows_nothing_about_the_kubelets_policies(tmp_path: Path) -> None:
    reported = Path(objects(tmp_path / "nrt.yaml", **TWO))
    document = yaml.safe_load(reported.read_text())
    document["items"][0]["zones"] = []
    reported.write_text(yaml.safe_dump(document))
    for template in ("a=1/1,1Gi", "b=1/2"):
        answer, _ = planned(template, fleet=TWO, topologies=str(reported))
        assert answer["pods"][0]["plugin"]["wronglyFiltered"]["why"] == (
            "the object does not match the node: node-0: the object has no such zone"
        )


def test_the_only_node_left_is_not_scored(tmp_path: Path) -> None:
    reported = Path(objects(tmp_path / "nrt.yaml", **TWO))
    reported.write_text(reported.read_text().replace("node-1", "node-3"))
    words: dict[str, Any] = {"topologies": str(reported)}
    alone, _ = planned("a=2/2,1Gi", nodes=nodes(tmp_path / "one.yaml", n1="7"), **words)
    assert outcomes(alone) == [("n1", "Scheduled")]
    several, _ = planned("a=2/2,1Gi", nodes=nodes(tmp_path / "two.yaml", n1="7", n2="7"), **words)
    assert outcomes(several) == [(None, "Pending")]
    assert several["pods"][0]["message"] == "the scheduler crashes: index out of range: NUMA node 3"


def test_a_crashing_filter_leaves_pods_pending_even_with_other_nodes(tmp_path: Path) -> None:
    reported = Path(objects(tmp_path / "nrt.yaml", **TWO))
    reported.write_text(reported.read_text().replace("node-1", "node-64"))
    two = nodes(tmp_path / "nodes.yaml", n1="7", n2="7")
    answer, _ = planned("a=2/2,1Gi", nodes=two, topologies=str(reported))
    assert outcomes(answer) == [(None, "Pending")]
    assert answer["pods"][0]["message"] == (
        "the scheduler crashes: node-64: index out of range [64] with length 64"
    )
    (recorded,) = planned("a=2/2,1Gi", fleet=TWO, topologies=str(reported))[0]["pods"]
    assert recorded["outcome"] == "Pending"
    assert recorded["plugin"]["wronglyFiltered"]["why"] == "the plugin cannot handle NUMA node 64"


def test_objects_alone_determine_the_schedulers_decision(tmp_path: Path) -> None:
    fleet = {**TWO, "n2": "synthetic:2s2n8c1t"}
    words: dict[str, Any] = {
        "topologies": objects(tmp_path / "nrt.yaml", **fleet),
        "nodes": nodes(tmp_path / "nodes.yaml", n1="7", n2="15"),
    }
    answer, _ = planned("a=6/6,1Gi x3", **words)
    assert outcomes(answer) == [("n2", "Scheduled"), ("n2", "Scheduled"), (None, "Pending")]
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 cannot align container."
    assert answer["pods"][2]["message"] == message
    assert answer["summary"]["scheduled"] == 2
    cached, _ = planned("a=6/6,1Gi x2", plugin=f"{PLUGIN},cache=reserve", **words)
    assert outcomes(cached) == [("n2", "Scheduled"), (None, "Pending")]


def test_nodes_without_an_object_are_never_filtered(tmp_path: Path) -> None:
    reported = objects(tmp_path / "nrt.yaml", other=TWO["n1"])
    answer, sources = planned(*THIRD_IN_TWO_PIECES, fleet=TWO, topologies=reported)
    assert outcomes(answer)[-1] == ("n1", "Rejected")
    assert "no NodeResourceTopology" in answer["pods"][-1]["plugin"]["wronglyPassed"]
    assert any(
        each.startswith("n1: there is no NodeResourceTopology with this name") for each in sources.warnings
    )
    assert any("of other are skipped" in each for each in sources.warnings)


def test_strategies_choose_other_nodes() -> None:
    fleet = {"small": "synthetic:2s2n4c1t", "large": "synthetic:2s2n16c1t"}
    least, _ = planned("a=2/2,1Gi", fleet=fleet)
    assert outcomes(least) == [("large", "Admitted")]
    weighty = PluginOptions.parse(f"{PLUGIN},cpu=002000000,memory=1000000").scoring
    assert (weighty.weight("cpu"), weighty.weight("memory")) == (2_000_000, 1_000_000)
    options = PluginOptions.parse(f"{PLUGIN},strategy=leastnumanodes,cpu=3,cache=none")
    assert options == (Scoring(Strategy.LEAST_NUMA_NODES, (("cpu", 3),)), False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "other",
        f"{PLUGIN},strategy=Best",
        f"{PLUGIN},cpu=x",
        f"{PLUGIN},cpu=1000000000",
        f"{PLUGIN},cache=all",
        f"{PLUGIN},",
    ],
)
def test_an_unknown_plugin_configuration(text: str) -> None:
    with pytest.raises(UsageError, match="expected noderesourcetopologymatch"):
        PluginOptions.parse(text)
