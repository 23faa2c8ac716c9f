"""Devices from a file: our own format, and the answers of the pod resources API as tools print them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
import yaml

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.devices.inventory import DeviceGroup, HeldDevices
from cpuctl.machine.devices.reading import ReadDevices, read_devices
from cpuctl.schemas import schema_text
from tests.support.devices import group, inventory
from tests.support.schemas import follow_schema

HEAD = "apiVersion: cpuctl/v1alpha1\nkind: Devices\n"
GPU = "nvidia.com/gpu"


def read(text: str) -> ReadDevices:
    return read_devices(text.encode(), "devices.yaml")


def groups(text: str, resource: str = GPU) -> list[str]:
    """Show every group: ``0: 4 total, 3 healthy, 2 free``."""
    return [
        f"{group.numa_nodes or '-'}: {group.total} total, {group.healthy} healthy, {group.free} free"
        for group in read(text).inventory.resources[resource]
    ]


def ours(resources: str) -> str:
    return f"{HEAD}resources: {{{resources}}}"


OURS = [
    ("a number: all healthy and free", '"0": 4', ["0: 4 total, 4 healthy, 4 free"]),
    ("free is all that is healthy", '"0": {healthy: 3}', ["0: 3 total, 3 healthy, 3 free"]),
    ("in use", '"1": {healthy: 3, free: 1}', ["1: 3 total, 3 healthy, 1 free"]),
    ("unhealthy", '"1": {healthy: 3, total: 5}', ["1: 5 total, 3 healthy, 3 free"]),
    ("several nodes", '"0-1,3": 1', ["0-1,3: 1 total, 1 healthy, 1 free"]),
    ("no node", "none: 7", ["-: 7 total, 7 healthy, 7 free"]),
    ("no devices", "", []),
]


@pytest.mark.parametrize(("text", "wanted"), [case[1:] for case in OURS], ids=[case[0] for case in OURS])
def test_our_own_format(text: str, wanted: list[str]) -> None:
    document = ours(f"{GPU}: {{{text}}}")
    assert groups(document) == wanted
    follow_schema(yaml.safe_load(document), "devices")


REFUSED = [
    ("not an object", "[]", "expected an object of kind Devices, or a response of the pod resources API"),
    (
        "other kind",
        "apiVersion: cpuctl/v1alpha1\nkind: Device\nresources: {}",
        "kind: expected Devices",
    ),
    ("other version", "apiVersion: v1\nkind: Devices\nresources: {}", "expected cpuctl/v1alpha1"),
    ("no kind", "apiVersion: cpuctl/v1alpha1\nresources: {}", "kind is missing"),
    ("two documents", f"{HEAD}resources: {{}}\n---\n{HEAD}resources: {{}}", "found a second document"),
    ("misspelt", ours(f'{GPU}: {{"0": {{healthy: 1, fre: 0}}}}'), "expected one of healthy, free, total"),
    ("other member", HEAD + "resource: {}\nresources: {}", "expected one of apiVersion, kind, resources"),
    ("no count", ours(f'{GPU}: {{"0": {{free: 1}}}}'), "healthy is missing"),
    ("more free than healthy", ours(f'{GPU}: {{"0": {{healthy: 1, free: 2}}}}'), "expected free <= healthy"),
    ("negative", ours(f'{GPU}: {{"0": -1}}'), "expected a whole number of at least 0"),
    ("too many", ours(f'{GPU}: {{"0": 1000001}}'), "expected a whole number of at most 1000000"),
    ("too many in all", ours(f'{GPU}: {{"0": 1000000, "1": 1}}'), "found 1000001 devices"),
    ("no node", ours(f"{GPU}: {{node0: 1}}"), "expected NUMA node numbers"),
    ("node too large", ours(f'{GPU}: {{"5000": 1}}'), "expected NUMA node numbers"),
    ("empty nodes", ours(f'{GPU}: {{"": 1}}'), "expected NUMA node numbers"),
    ("number as key", ours(f"{GPU}: {{0: 1}}"), "expected a string as key"),
    ("no extended resource", ours("cpu: {none: 4}"), "expected the name of an extended resource"),
]


@pytest.mark.parametrize(
    ("text", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_errors_are_explained(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("devices.yaml")


def test_the_schema_rejects_everything_but_wrong_counts_too() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("devices")))
    beyond = ("more free", "two documents", "too many in all", "node too large", "number as key")
    for name, text, _ in REFUSED:
        if not name.startswith(beyond):
            assert not validator.is_valid(yaml.safe_load(text)), name


# The pod resources API


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a tool writes members and 64-bit numbers; both omit NUMA node 0."""

    name: str
    resource_name: str
    device_ids: str
    pod_resources: str
    number: type

    def devices(self, device: str, nodes: list[int] | None = None, resource: str = GPU) -> dict[str, Any]:
        entry: dict[str, Any] = {self.resource_name: resource, self.device_ids: [device]}
        if nodes is not None:
            entry["topology"] = {"nodes": [{"ID": self.number(node)} if node else {} for node in nodes]}
        return entry

    def listed(self, pod: str, *devices: dict[str, Any]) -> dict[str, Any]:
        container = {"name": "main", "devices": list(devices)}
        return {self.pod_resources: [{"name": pod, "namespace": "default", "containers": [container]}]}


SPELLINGS = [
    Spelling("protobuf's JSON", "resourceName", "deviceIds", "podResources", str),
    Spelling("Go's JSON", "resource_name", "device_ids", "pod_resources", int),
]


@pytest.fixture(params=SPELLINGS, ids=lambda spelling: spelling.name)
def tool(request: pytest.FixtureRequest) -> Spelling:
    spelling: Spelling = request.param
    return spelling


def answers(*documents: dict[str, Any]) -> str:
    return "\n".join(json.dumps(document, indent=2) for document in documents)


def test_devices_by_node_and_their_holders(tool: Spelling) -> None:
    allocatable = {
        "devices": [tool.devices("g0", [0]), tool.devices("g1", [0]), tool.devices("g2", [1])],
        "cpu_ids": [0, 1],
    }
    text = answers(tool.listed("p", tool.devices("g1", [0])), allocatable)
    assert groups(text) == ["0: 2 total, 2 healthy, 1 free", "1: 1 total, 1 healthy, 1 free"]
    assert read(text).in_use_known
    (holder,) = read(text).inventory.resources[GPU][0].held
    assert holder == HeldDevices(namespace="default", pod="p", container="main", count=1)


def test_a_device_near_several_nodes_is_listed_once_for_each(tool: Spelling) -> None:
    allocatable = {"devices": [tool.devices("n", [1]), tool.devices("n", [0]), tool.devices("m", [0, 1])]}
    assert groups(answers(allocatable)) == ["0-1: 2 total, 2 healthy, 2 free"]


def test_a_device_without_topology_is_near_no_node(tool: Spelling) -> None:
    assert groups(answers({"devices": [tool.devices("d"), tool.devices("e", [])]})) == [
        "-: 2 total, 2 healthy, 2 free"
    ]


def test_a_held_device_that_is_not_allocatable_is_unhealthy(tool: Spelling) -> None:
    text = answers(tool.listed("p", tool.devices("g1", [1])), {"devices": [tool.devices("g0", [0])]})
    assert groups(text) == ["0: 1 total, 1 healthy, 1 free", "1: 1 total, 0 healthy, 0 free"]
    (group,) = [group for group in read(text).inventory.resources[GPU] if group.held]
    assert group.held[0].unhealthy == 1


def test_without_list_everything_counts_as_free(tool: Spelling) -> None:
    found = read(answers({"devices": [tool.devices("g0", [0])]}))
    assert not found.in_use_known
    assert found.inventory.resources[GPU] == (
        DeviceGroup(numa_nodes=CPUSet.of([0]), total=1, healthy=1, free=1),
    )


def test_an_empty_answer_is_a_list_without_pods(tool: Spelling) -> None:
    assert read("{}\n" + answers({"devices": [tool.devices("g0", [0])]})).in_use_known


def test_containers_of_one_pod_pass_devices_on(tool: Spelling) -> None:
    """An init container's devices go on to a later container."""
    pod = tool.listed("p", tool.devices("g0", [0]))
    pod[tool.pod_resources][0]["containers"].append({"name": "last", "devices": [tool.devices("g0", [0])]})
    (group,) = read(answers(pod, {"devices": [tool.devices("g0", [0])]})).inventory.resources[GPU]
    assert [holder.container for holder in group.held] == ["last"]


API_REFUSED = [
    ("only List", {"podResources": []}, "add the response of GetAllocatableResources"),
    ("nothing", {}, "add the response of GetAllocatableResources"),
    ("other object", {"items": []}, "expected an object of kind Devices, or a response"),
    ("no name", {"devices": [{"deviceIds": ["a"]}]}, "resource_name is missing"),
    (
        "no node number",
        {"devices": [{"resourceName": GPU, "deviceIds": ["a"], "topology": {"nodes": [{"ID": "one"}]}}]},
        "expected a whole number",
    ),
    (
        "a node number beyond all machines",
        {"devices": [{"resourceName": GPU, "deviceIds": ["a"], "topology": {"nodes": [{"ID": 1024}]}}]},
        "at most 1023",
    ),
    ("Get, not List", {"podResources": {"name": "p"}}, "expected a list"),
]


@pytest.mark.parametrize(
    ("document", "message"), [case[1:] for case in API_REFUSED], ids=[case[0] for case in API_REFUSED]
)
def test_an_invalid_answer_is_explained(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(json.dumps(document))
    assert message in str(caught.value)


def test_two_pods_cannot_hold_one_device(tool: Spelling) -> None:
    pods = [tool.listed(name, tool.devices("g0", [0])) for name in ("p", "q")]
    with pytest.raises(InputError, match="default/p/main also holds"):
        read(answers(*pods, {"devices": [tool.devices("g0", [0])]}))


@pytest.mark.parametrize(("total", "healthy", "free"), [(1, 2, 0), (2, 1, 2), (1, 1, -1)])
def test_contradictory_counts_are_not_a_group(total: int, healthy: int, free: int) -> None:
    with pytest.raises(ValueError, match="expected free <= healthy <= total"):
        DeviceGroup(numa_nodes=CPUSet(), total=total, healthy=healthy, free=free)


def test_containers_do_not_hold_more_devices_than_are_in_use() -> None:
    holder = HeldDevices(namespace="d", pod="p", container="c", count=2)
    with pytest.raises(ValueError, match="more than are in use"):
        DeviceGroup(numa_nodes=CPUSet(), total=2, healthy=2, free=1, held=(holder,))


def test_an_inventory_is_bounded() -> None:
    with pytest.raises(ValueError, match="more than 1000000"):
        inventory(gpu=[group("0", 600_000), group("1", 600_000)])
