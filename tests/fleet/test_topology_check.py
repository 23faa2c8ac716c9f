"""Published objects against recordings of their nodes: what no longer holds, and what is unknown."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.errors import UsageError
from cpuctl.fleet.checking import CHECKS, NRT, NodeChecker, named_checks
from cpuctl.fleet.collection import Recording
from cpuctl.fleet.plan_inputs import load_published
from cpuctl.fleet.topologies import TopologyPublisher
from cpuctl.fleet.topology_check import PublishedNodes, differences, publisher_of
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.sources import Sources
from cpuctl.operations.topology_publishing import Publisher
from cpuctl.pods.reading.template import pods_from_template
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import NodeTopology, Zone, ZoneResource, pods_fingerprint
from cpuctl.scheduler.reading import read_node_topologies
from tests.fleet.test_topology_plugin import BARE, SINGLE, TWO, kubelet, objects

if TYPE_CHECKING:
    from cpuctl.answers.fleet import CheckedNode
    from cpuctl.pods.model import Pod

MACHINE = Path(__file__).parents[2] / "fixtures/machines/2s-2numa-32cpu.tar.xz"


def texts(reported: NodeTopology, now: NodeTopology) -> list[str]:
    return [str(each) for each in differences(reported, now)]


def test_outdated_statements_about_a_node() -> None:
    now = published_by(TWO["n1"], arguments=SINGLE)
    assert texts(now, now) == []
    restricted = SINGLE.replace("single-numa-node", "restricted")
    more = published_by("synthetic:2s3n6c1t,across", arguments=restricted)
    assert texts(more, now)[0] == (
        "topologyManagerPolicy: the object says restricted, but the kubelet uses single-numa-node"
    )
    assert "node-2: the node has no such NUMA node" in texts(more, now)
    assert "node-2: the object has no such zone" in texts(now, more)
    bare = published_by(TWO["n1"], arguments=f"{BARE} --topology-manager-scope=pod")
    assert texts(bare, now) == [
        "topologyManagerScope: the object says pod, but the kubelet uses container",
        "node-0 memory: the object does not list it",
        "node-1 memory: the object does not list it",
    ]
    assert "node-0 memory: the object lists it, but an exporter would not publish it" in texts(now, bare)
    other = now._replace(attributes=(("nodeTopologyPodsFingerprint", "pfp0v001"), *now.attributes[1:]))
    assert texts(other, now) == [
        "nodeTopologyPodsFingerprint: the pods that were running then differ from those known now"
    ]
    everyone = other._replace(attributes=(other.attributes[0], *now.attributes[2:]))
    assert texts(everyone, now) == [], "fingerprints of other pods are not compared"
    first, second = now.zones
    socket = now._replace(zones=(first._replace(type="socket"), second._replace(costs=second.costs[::-1])))
    assert texts(socket, now) == [
        "node-0 type: the object calls it socket: the scheduler's plugin ignores it"
    ]
    far = now._replace(zones=(now.zones[0]._replace(costs=(("node-0", 10), ("node-1", 31))), now.zones[1]))
    (distant,) = differences(far, now)
    assert (str(distant), distant.expected, distant.detected) == (
        "node-0 costs: the object has other distances",
        "10 21",
        "10 31",
    )


def test_an_object_without_numa_nodes_is_reported_once() -> None:
    """As the balloons policy of nri-plugins publishes them."""
    now = published_by(TWO["n1"], arguments=SINGLE)
    balloons = NodeTopology("n1", (Zone("reserved[0]", "balloon"), Zone("default[0]", "balloon")))
    assert [text for text in texts(balloons, now) if "zones" in text] == [
        (
            "zones: none is a NUMA node (balloon): the scheduler's plugin sees no resources and filters out "
            "every node"
        )
    ]


def test_zones_with_the_same_name_are_reported() -> None:
    """An API server stores them: its schema has a list without keys."""
    now = published_by(TWO["n1"], arguments=SINGLE)
    twice = now._replace(zones=(*now.zones, now.zones[0]))
    assert texts(twice, now) == [
        "node-0: the object has 2 zones with this name: the plugin accepts what fits in any of them"
    ]


@pytest.mark.parametrize(("limit", "found"), [("16", True), ("8", False), ("1", False)])
def test_the_maximum_of_numa_nodes_is_compared_if_it_is_published(limit: str, found: bool) -> None:
    """The plugin assumes 8 if it cannot read the value."""
    now = published_by(TWO["n1"], arguments=SINGLE)
    reported = now._replace(attributes=(*now.attributes, ("topologyManagerMaxNUMANodes", limit)))
    compared = PublishedNodes({"n1": reported}).compare(kubelet(SINGLE), TWO["n1"], "n1")
    why = "the object says 16, but the kubelet uses 8: LeastNUMANodes scores by it"
    expected = f"topologyManagerMaxNUMANodes: {why}"
    assert [str(each) for each in compared.findings] == ([expected] if found else [])
    more = f"{SINGLE} --topology-manager-policy-options=max-allowable-numa-nodes=16"
    agreeing = PublishedNodes({"n1": reported}).compare(kubelet(more), TWO["n1"], "n1")
    assert bool(agreeing.findings) is not found


def test_unknown_devices_are_not_a_difference() -> None:
    now = published_by(TWO["n1"], arguments=SINGLE)
    card = ZoneResource("vendor.com/nic", *map(Quantity.from_value, (2, 2, 1)))
    more = now._replace(
        zones=(now.zones[0]._replace(resources=(*now.zones[0].resources, card)), now.zones[1])
    )
    assert texts(more, now) == []
    compared = PublishedNodes({"n1": more}).compare(kubelet(SINGLE), TWO["n1"], "n1")
    assert compared.missing[0] == "devices: the node's devices are unknown: vendor.com/nic"
    assert texts(now, more) == ["node-0 vendor.com/nic: the object does not list it"]


def test_the_publisher_is_identified_by_its_distinctive_output() -> None:
    for words in ("rte", "rte,fingerprint=all", "rte,fingerprint=none", "nfd"):
        publisher = Publisher.parse(words)
        read = published_by(TWO["n1"], words, SINGLE)
        assert publisher_of(read) == publisher
        # Other components write annotations, too.
        applied = ("kubectl.kubernetes.io/last-applied-configuration", "{}")
        assert publisher_of(read._replace(annotations=(*read.annotations, applied))) == publisher
        assert texts(read, read) == []


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a node named n1 whose state file assigns CPUs 2-5 to a pod."""
    directory = tmp_path_factory.mktemp("recordings") / "n1"
    with tarfile.open(MACHINE) as archive:
        archive.extractall(directory, filter="data")
    state = CPUStateFile("static", CPUSet.parse("0-1,6-31"), {"uid-a": {"a": CPUSet.parse("2-5")}})
    kept = directory / "var/lib/kubelet"
    kept.mkdir(parents=True)
    (kept / "cpu_manager_state").write_text(write_cpu_state(state))
    return directory


def running(*names: str) -> dict[str, list[Pod]]:
    pods = [pod for name in names for pod in pods_from_template(f"{name}=4/4,1Gi")]
    return {"n1": [pod._replace(uid=f"uid-{pod.name}") for pod in pods]}


def checked(node: Path, published: PublishedNodes, arguments: str = BARE) -> CheckedNode:
    return NodeChecker(kubelet(arguments), (NRT,), published)(Recording("n1", str(node)))


def reported(found: CheckedNode) -> list[tuple[str, str, str]]:
    return [(each["severity"], each["code"], each["subject"]) for each in found["findings"]]


def published_by(node: Path | str, publisher: str = "rte", arguments: str = BARE) -> NodeTopology:
    row = TopologyPublisher(kubelet(arguments), Publisher.parse(publisher))(Recording("n1", str(node)))
    (read,) = read_node_topologies(json.dumps(row["object"]).encode(), "published.json")
    return read


def with_fingerprint(topology: NodeTopology, value: str) -> NodeTopology:
    method = ("nodeTopologyPodsFingerprintMethod", "with-exclusive-resources")
    return topology._replace(
        attributes=(("nodeTopologyPodsFingerprint", value), method, *topology.attributes)
    )


def test_a_node_that_matches_its_published_object(node: Path) -> None:
    object_ = with_fingerprint(published_by(node), pods_fingerprint([("default", "a")]))
    found = checked(node, PublishedNodes({"n1": object_}, running("a")))
    assert (found["findings"], found["unchecked"], found["summary"]["error"]) == ([], [], 0)


def test_a_stale_object_a_wrong_fingerprint_and_another_policy(node: Path) -> None:
    object_ = with_fingerprint(published_by(node), "pfp0v001ef46db3751d8e999")
    zones = tuple(
        zone._replace(
            resources=tuple(each._replace(available=each.allocatable) for each in zone.resources),
        )
        for zone in object_.zones
    )
    empty = object_._replace(zones=zones)
    found = checked(node, PublishedNodes({"n1": empty}, running("a")))
    assert reported(found) == [
        ("warning", "stale", "node-0 cpu available"),
        ("warning", "stale", "nodeTopologyPodsFingerprint"),
    ]
    assert found["findings"][0]["message"] == "the object says 15, an exporter would publish 11"
    other = checked(node, PublishedNodes({"n1": empty}), BARE.replace("single-numa-node", "restricted"))
    assert reported(other)[0] == ("error", "other-settings", "topologyManagerPolicy")
    assert other["unchecked"] == [
        {"check": "nrt", "missing": "fingerprint: the running pods are unknown (--pods FILE)"}
    ]


def test_without_state_files_available_amounts_are_unknown(node: Path) -> None:
    object_ = published_by(node)
    fresh = PublishedNodes({"n1": object_}, running("a")).compare(kubelet(BARE), str(MACHINE), "n1")
    assert fresh.findings == ()
    assert fresh.missing == ("available amounts: the state files of the kubelet's managers are not recorded",)


def test_nodes_without_an_object_and_kubelets_that_do_not_start(node: Path) -> None:
    object_ = published_by(node)
    assert reported(checked(node, PublishedNodes({"other": object_}))) == [("warning", "not-published", "")]
    found = checked(node, PublishedNodes({"n1": object_}), BARE.replace("reserved-cpus=0", "reserved-cpus=3"))
    assert found["findings"] == []
    assert found["unchecked"][0]["missing"].startswith("The kubelet would not start")
    sparse = PublishedNodes({"n1": object_}).compare(
        kubelet(BARE), "synthetic:2s2n4c1t,nodes=0-3/2:4-7", "n1"
    )
    assert sparse.missing[0].startswith("the resource topology exporter crashes on NUMA nodes 0,2")


def test_the_question_distinguishes_objects_and_pods(node: Path) -> None:
    object_ = published_by(node)
    askings = {
        NodeChecker(kubelet(BARE), (NRT,), each).asks(name)
        for each in (
            None,
            PublishedNodes({"n1": object_}),
            PublishedNodes({"n1": object_._replace(zones=())}),
            PublishedNodes({"n1": object_}, running("a")),
        )
        for name in ("n1", "n2")
    }
    assert len(askings) == 7


def test_the_check_runs_if_objects_are_given() -> None:
    assert named_checks("") == CHECKS
    assert named_checks("", published=True) == (*CHECKS, NRT)
    assert named_checks("nrt,state", published=True) == ("state", "nrt")
    with pytest.raises(UsageError, match="needs the published objects"):
        named_checks("nrt")


def test_objects_and_pods_are_read_by_the_names_of_nodes(tmp_path: Path) -> None:
    pods = tmp_path / "pods.yaml"
    pods.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a, uid: u}, "
        "spec: {nodeName: n1, containers: [{name: c}]}}"
    )
    sources = Sources()
    read = load_published(objects(tmp_path / "nrt.yaml", **TWO), str(pods), sources)
    assert (list(read.topologies), [pod.name for pod in (read.running or {})["n1"]]) == (["n1"], ["a"])
    assert load_published(objects(tmp_path / "nrt.yaml", **TWO), "", sources).running is None


def test_assumed_settings_are_no_difference() -> None:
    """Without a recorded configuration, only what the machine decides is compared."""
    object_ = with_fingerprint(published_by(MACHINE, arguments=SINGLE), "pfp0v001ef46db3751d8e999")
    checker = NodeChecker(KubeletInputs(version="1.36"), (NRT,), PublishedNodes({"n1": object_}))
    found = checker(Recording("n1", str(MACHINE)))
    assert (found["findings"], found["unchecked"]) == (
        [],
        [
            {
                "check": "nrt",
                "missing": "policies, resources and fingerprint: the kubelet's configuration is not "
                "recorded, and its defaults are assumed (set it with --kubelet-config FILE)",
            }
        ],
    )
    far = object_._replace(zones=(object_.zones[0]._replace(costs=()), *object_.zones[1:]))
    more = far._replace(zones=(*far.zones, Zone("node-2")))
    other = NodeChecker(KubeletInputs(version="1.36"), (NRT,), PublishedNodes({"n1": more}))
    assert reported(other(Recording("n1", str(MACHINE)))) == [
        ("error", "other-zones", "node-0 costs"),
        ("error", "other-zones", "node-2"),
    ]
