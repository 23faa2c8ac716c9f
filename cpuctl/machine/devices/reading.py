"""The devices of a node from a file: our own short form, or responses of the kubelet's pod resources API.

Our form counts, by resource and NUMA node (schema: ``cpuctl schema devices``). The key of a group of devices
next to several nodes is all of them (``0-1``); if the plugin does not report a node, it is ``none``.

The kubelet's answers are JSON, printed by any tool (``k8s.io/kubelet/pkg/apis/podresources/v1``):
``GetAllocatableResources`` lists the healthy devices, ``List`` what pods hold. Members are called
``device_ids`` or ``deviceIds``; 64-bit numbers may be strings, and zeros may be omitted, so that NUMA node 0
is ``{}`` (kubernetes issue 101522).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.documents.text_errors import describe
from cpuctl.errors import InputError
from cpuctl.machine.devices.inventory import MAX_DEVICES, DeviceGroup, DeviceInventory, HeldDevices
from cpuctl.machine.model import MAX_NUMA_NODES
from cpuctl.machine.pod_resources.json_answers import ALLOCATABLE, LIST, devices_of, either

KIND = "Devices"
SHAPES = f"an object of kind {KIND}, or a response of the pod resources API"
"""What a file of devices may hold."""

_HINT = (
    "call v1.PodResourcesLister/GetAllocatableResources and /List on the kubelet's pod resources socket "
    "and put both responses in one file"
)

Holder = tuple[str, str, str]
"""Namespace, pod and container."""


@dataclass(slots=True)
class _Devices:
    """Every device of one resource by id: NUMA nodes (a mask), whether it is healthy, and its holder."""

    nodes: dict[str, int] = field(default_factory=dict)
    healthy: set[str] = field(default_factory=set)
    holders: dict[str, Holder] = field(default_factory=dict)


_Resources = dict[str, _Devices]


def decode_pod_resources(answers: Sequence[Cursor]) -> tuple[DeviceInventory, bool]:
    """Combine the responses; the second result is whether they show what is in use.

    Raise InputError if they do not list the devices.
    """
    resources: _Resources = {}
    allocatable = listed = False
    for answer in answers:
        members = answer.members()
        if any(key in members for key in LIST):
            listed = True
            _add_held(resources, answer)
        elif any(key in members for key in ALLOCATABLE):
            allocatable = True
            _add_allocatable(resources, answer)
        elif members:
            raise answer.error(f"expected {SHAPES}, found a different object", hint=_HINT)
        else:
            listed = True  # no pods: tools leave out what is empty
    if not allocatable:
        message = "shows only what is in use: add the response of GetAllocatableResources"
        raise answers[0].error(message, hint=_HINT)
    groups = {name: tuple(_groups(devices)) for name, devices in resources.items()}
    try:
        return DeviceInventory(resources=groups), listed
    except ValueError as error:
        raise answers[0].error(str(error)) from None


def _add_allocatable(resources: _Resources, answer: Cursor) -> None:
    for name, device, nodes in devices_of(answer):
        devices = resources.setdefault(name, _Devices())
        devices.nodes[device] = devices.nodes.get(device, 0) | nodes
        devices.healthy.add(device)


def _add_held(resources: _Resources, answer: Cursor) -> None:
    for pod in either(answer, LIST).items():
        names = pod.required("namespace").text(), pod.required("name").text()
        for container in pod.optional("containers", Cursor.items, []):
            holder = (*names, container.required("name").text())
            for name, device, nodes in devices_of(container):
                devices = resources.setdefault(name, _Devices())
                devices.nodes[device] = devices.nodes.get(device, 0) | nodes
                other = devices.holders.setdefault(device, holder)
                if other[:2] != holder[:2]:
                    raise container.error(f'{"/".join(other)} also holds {name} "{device}"')
                # Within a pod, a later container reuses an init container's devices.
                devices.holders[device] = holder


def _groups(devices: _Devices) -> Iterator[DeviceGroup]:
    by_nodes: dict[int, list[str]] = {}
    for device, nodes in devices.nodes.items():
        by_nodes.setdefault(nodes, []).append(device)
    for nodes, members in sorted(by_nodes.items()):
        healthy = devices.healthy.intersection(members)
        yield DeviceGroup(
            numa_nodes=CPUSet(nodes),
            total=len(members),
            healthy=len(healthy),
            free=len(healthy - devices.holders.keys()),
            held=tuple(_held(devices, members)),
        )


def _held(devices: _Devices, members: Sequence[str]) -> Iterator[HeldDevices]:
    by_holder: dict[Holder, list[str]] = {}
    for device in members:
        if device in devices.holders:
            by_holder.setdefault(devices.holders[device], []).append(device)
    for (namespace, pod, container), held in sorted(by_holder.items()):
        unhealthy = sum(device not in devices.healthy for device in held)
        yield HeldDevices(
            namespace=namespace, pod=pod, container=container, count=len(held), unhealthy=unhealthy
        )


API_VERSION = "cpuctl/v1alpha1"
NO_NODE = "none"

_RESOURCE_HINT = "write a name such as nvidia.com/gpu"


class ReadDevices(NamedTuple):
    """The content of a file; ``in_use_known`` is False if it leaves out what pods hold."""

    inventory: DeviceInventory
    in_use_known: bool = True


def read_devices(text: bytes, source: str) -> ReadDevices:
    """Read a file; raise InputError with file, line and path."""
    cursors = [Cursor.at_root(document) for document in load_documents(text, source)]
    first = cursors[0]
    if not isinstance(first.value, dict):
        raise first.expected(SHAPES)
    if "kind" in first.value or "resources" in first.value:
        _require_devices(first)
        if len(cursors) > 1:
            raise cursors[1].error(f"expected one object of kind {KIND}, found a second document")
        return ReadDevices(_decode(first))
    inventory, in_use_known = decode_pod_resources(cursors)
    return ReadDevices(inventory, in_use_known)


def _require_devices(first: Cursor) -> None:
    try:
        first.required("kind").one_of([KIND])
    except InputError as error:
        hint = error.hint or "cpuctl topology devices shows a draft"
        raise InputError(error.message, where=error.where, hint=hint) from None


def _decode(devices: Cursor) -> DeviceInventory:
    devices.refuse_others(("apiVersion", "kind", "resources"))
    devices.required("apiVersion").one_of([API_VERSION])
    resources = devices.required("resources")
    groups = {name: _inventory_groups(name, groups) for name, groups in resources.members().items()}
    try:
        return DeviceInventory(resources=groups)
    except ValueError as error:
        raise resources.error(str(error)) from None


def _inventory_groups(name: str, groups: Cursor) -> tuple[DeviceGroup, ...]:
    if "/" not in name:
        raise groups.error(f'expected the name of an extended resource, found "{name}"', hint=_RESOURCE_HINT)
    return tuple(_group(_nodes(key, group), group) for key, group in groups.members().items())


def _nodes(key: str, group: Cursor) -> CPUSet:
    if key == NO_NODE:
        return CPUSet()
    hint = f'write one NUMA node ("0"), several that the devices are attached to ("0-1"), or {NO_NODE}'
    try:
        nodes = CPUSet.parse(key)
    except ValueError:
        nodes = CPUSet()
    if not nodes or nodes.mask >> MAX_NUMA_NODES:
        raise group.error(f"expected NUMA node numbers, found {describe(key)}", hint=hint)
    return nodes


def _group(nodes: CPUSet, group: Cursor) -> DeviceGroup:
    """Read the counts of a group; a bare number means that all devices are healthy and free."""
    if not isinstance(group.value, dict):
        count = _count(group)
        return DeviceGroup(numa_nodes=nodes, total=count, healthy=count, free=count)
    group.refuse_others(("healthy", "free", "total"))
    healthy = _count(group.required("healthy"))
    try:
        return DeviceGroup(
            numa_nodes=nodes,
            total=group.optional("total", _count, healthy),
            healthy=healthy,
            free=group.optional("free", _count, healthy),
        )
    except ValueError as error:
        raise group.error(str(error)) from None


def _count(number: Cursor) -> int:
    return number.integer(minimum=0, maximum=MAX_DEVICES)
