"""NodeResourceTopology objects as they are read, their settings, and the fingerprint of pods."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import (
    FingerprintMethod,
    NodeTopology,
    Owner,
    Zone,
    ZoneResource,
    pods_fingerprint,
    topology_settings,
)
from cpuctl.scheduler.reading import read_node_topologies, read_nodes

OBJECT: dict[str, Any] = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {
        "name": "n1",
        "annotations": {"topology.node.k8s.io/fingerprint": "pfp0v0019131e707ccadb65c"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}],
    },
    "topologyPolicies": ["RestrictedPodLevel"],
    "attributes": [{"name": "nodeTopologyPodsFingerprintMethod", "value": "with-exclusive-resources"}],
    "zones": [
        {
            "name": "node-0",
            "type": "Node",
            "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}],
            "resources": [{"name": "cpu", "capacity": 4, "allocatable": "3", "available": "1500m"}],
        },
        {"name": "pool0", "type": "socket", "parent": "root", "attributes": [{"name": "a", "value": "b"}]},
    ],
}
READ = NodeTopology(
    name="n1",
    zones=(
        Zone(
            "node-0",
            resources=(
                ZoneResource(
                    "cpu", Quantity.from_value(4), Quantity.from_value(3), Quantity.from_milli(1500)
                ),
            ),
            costs=(("node-0", 10), ("node-1", 21)),
        ),
        Zone("pool0", "socket", attributes=(("a", "b"),), parent="root"),
    ),
    attributes=(("nodeTopologyPodsFingerprintMethod", "with-exclusive-resources"),),
    policies=("RestrictedPodLevel",),
    annotations=(("topology.node.k8s.io/fingerprint", "pfp0v0019131e707ccadb65c"),),
    owner=Owner("v1", "Node", "n1", "u1"),
)


def changed(**changes: Any) -> dict[str, Any]:
    return {**OBJECT, **changes}


def test_one_object_or_a_list_of_them_in_either_notation() -> None:
    assert read_node_topologies(json.dumps(OBJECT).encode(), "t.json") == (READ,)
    bare = {key: value for key, value in OBJECT.items() if key not in ("kind", "apiVersion")}
    node = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {}}}
    for each in (
        {"kind": "List", "apiVersion": "v1", "items": [node, OBJECT]},
        {"kind": "NodeResourceTopologyList", "items": [bare]},
    ):
        assert read_node_topologies(json.dumps(each).encode(), "t.json") == (READ,)
    both = json.dumps({"kind": "List", "apiVersion": "v1", "items": [node, OBJECT]}).encode()
    assert [each.name for each in read_nodes(both, "t.json")] == ["n1"]
    text = "kind: NodeResourceTopology\nmetadata: {name: a}\nzones: []\n---\n"
    documents = read_node_topologies((text + text.replace("name: a", "name: b")).encode(), "t.yaml")
    assert documents == (NodeTopology("a"), NodeTopology("b"))


ZONE = OBJECT["zones"][0]
BROKEN = [
    ({"kind": "Node"}, "t.json: contains no NodeResourceTopologies"),
    ({"kind": "List", "items": [OBJECT, OBJECT]}, "there are two NodeResourceTopologies named n1"),
    (
        changed(apiVersion="topology.node.k8s.io/v1alpha1"),
        "apiVersion: expected topology.node.k8s.io/v1alpha2",
    ),
    (changed(zones=None), "zones is missing"),
    (changed(zones=[{"name": "node-0"}]), "zones[0]: type is missing"),
    (changed(zones=[{**ZONE, "costs": [{"name": "a", "value": "10"}]}]), "zones[0].costs[0].value: expected"),
    (
        changed(zones=[{**ZONE, "resources": [{"name": "cpu", "capacity": "x"}]}]),
        "t.json:1: zones[0].resources[0].capacity: expected a quantity",
    ),
    (
        changed(zones=[{**ZONE, "resources": [{"name": "cpu", "capacity": 1, "allocatable": 1}]}]),
        "zones[0].resources[0]: available is missing",
    ),
    (changed(attributes=[{"name": "a", "value": 8}]), "attributes[0].value: expected a string"),
    (changed(zones=[{"type": "Node"}]), "zones[0]: name is missing"),
    (changed(zones=["node-0"]), "zones[0]: expected a mapping"),
    (
        changed(zones=[{**ZONE, "costs": [{"name": "a", "value": 1 << 63}]}]),
        "zones[0].costs[0].value: expected",
    ),
    (changed(metadata={"name": ""}), "metadata.name: a lowercase RFC 1123 subdomain"),
    (changed(metadata={"name": "Node 1"}), "metadata.name: a lowercase RFC 1123 subdomain"),
]


@pytest.mark.parametrize(("data", "problem"), BROKEN, ids=[problem for _, problem in BROKEN])
def test_an_invalid_object_is_reported_with_its_place(data: object, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_node_topologies(json.dumps(data).encode(), "t.json")
    assert problem in str(error.value)


def settings(*attributes: tuple[str, str], policies: tuple[str, ...] = ()) -> tuple[str, str, int]:
    return topology_settings(NodeTopology("n1", attributes=attributes, policies=policies))


def test_settings_default_to_none_and_attributes_override_policies() -> None:
    assert settings() == ("none", "container", 8)
    assert settings(policies=("SingleNUMANodePodLevel", "BestEffort")) == ("single-numa-node", "pod", 8)
    assert settings(policies=("None",)) == ("none", "container", 8)
    reported = [("topologyManagerPolicy", "restricted"), ("topologyManagerScope", "container")]
    assert settings(*reported, policies=("SingleNUMANodePodLevel",)) == ("restricted", "container", 8)


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        (("topologyManagerPolicy", "SingleNUMANode"), ("none", "container", 8)),
        (("topologyManagerScope", "POD"), ("none", "container", 8)),
        (("topologyManagerMaxNUMANodes", "16"), ("none", "container", 16)),
        (("topologyManagerMaxNUMANodes", "+2"), ("none", "container", 2)),
        (("topologyManagerMaxNUMANodes", "1"), ("none", "container", 8)),
        (("topologyManagerMaxNUMANodes", "-3"), ("none", "container", 8)),
        (("topologyManagerMaxNUMANodes", "many"), ("none", "container", 8)),
        (("topologyManagerMaxNUMANodes", "4096"), ("none", "container", 1024)),
    ],
)
def test_invalid_values_do_not_count(attribute: tuple[str, str], found: tuple[str, str, int]) -> None:
    assert settings(attribute) == found


def test_of_two_attributes_the_last_applies_and_the_first_is_reported() -> None:
    twice = (("topologyManagerScope", "pod"), ("topologyManagerScope", "container"))
    assert settings(*twice) == ("none", "container", 8)
    assert NodeTopology("n1", attributes=twice).attribute("topologyManagerScope") == "pod"


def test_the_fingerprint_is_an_attribute_or_an_annotation() -> None:
    assert READ.fingerprint == "pfp0v0019131e707ccadb65c"
    assert READ.fingerprint_method is FingerprintMethod.EXCLUSIVE
    bare = NodeTopology("n1")
    assert bare.fingerprint is None
    assert bare.fingerprint_method is FingerprintMethod.ALL


A, DNS = ("default", "pod-a"), ("kube-system", "dns-1")


@pytest.mark.parametrize(
    ("pods", "fingerprint"),
    [
        ([], "pfp0v001ef46db3751d8e999"),
        ([A], "pfp0v0019131e707ccadb65c"),
        ([A, DNS], "pfp0v0011640a6663359d7eb"),
        ([DNS, A], "pfp0v0011640a6663359d7eb"),
        ([A, A], "pfp0v00188bbc2d2fe1e3cb1"),
    ],
)
def test_fingerprints_of_podfingerprint(pods: list[tuple[str, str]], fingerprint: str) -> None:
    assert pods_fingerprint(pods) == fingerprint


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("node-0", 0),
        ("node-12", 12),
        ("node--1", None),
        ("node-", None),
        ("socket-0", None),
        ("node-x", None),
    ],
)
def test_names_of_zones_contain_numa_nodes(name: str, found: int | None) -> None:
    assert Zone(name).numa_id == found
