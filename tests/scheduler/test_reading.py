"""Nodes as kubectl writes them."""

from __future__ import annotations

import json

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.node_selection import Taint
from cpuctl.scheduler.model import NodeObject
from cpuctl.scheduler.reading import read_nodes

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"disk": "ssd"}},
    "spec": {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    },
    "status": {
        "allocatable": {"cpu": "7910m", "memory": "30Gi", "pods": "110", "hugepages-2Mi": "0"},
        "nodeInfo": {"kubeletVersion": "v1.33.4"},
    },
}
READ = NodeObject(
    name="n1",
    allocatable={"cpu": 7910, "memory": 30 << 30, "pods": 110, "hugepages-2Mi": 0},
    labels={"disk": "ssd"},
    taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),),
    unschedulable=True,
    kubelet_version="v1.33.4",
)


def test_one_node_or_a_list_of_them() -> None:
    assert read_nodes(json.dumps(NODE).encode(), "n.json") == (READ,)
    bare = {key: value for key, value in NODE.items() if key not in ("kind", "apiVersion")}
    lists = [
        {"kind": "List", "apiVersion": "v1", "items": [NODE, {"kind": "Pod"}]},
        {"kind": "NodeList", "apiVersion": "v1", "items": [bare]},
    ]
    for each in lists:
        assert read_nodes(json.dumps(each).encode(), "n.json") == (READ,)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"kind": "PodList", "items": [{}]}, "n.json: contains no Nodes"),
        ({"kind": "List", "items": [NODE, NODE]}, "there are two Nodes named n1"),
        ({"kind": "Node", "metadata": {"name": "a"}}, "status is missing"),
        (
            {"kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "x"}}},
            'n.json:1: status.allocatable.cpu: expected a quantity, found the string "x"',
        ),
    ],
)
def test_an_invalid_node_is_reported_with_its_place(data: object, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read_nodes(json.dumps(data).encode(), "n.json")
    assert problem in str(error.value)
