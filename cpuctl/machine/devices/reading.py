"""The devices of a node from a file: our own short form, or what the kubelet's pod resources API answers.

Our form counts, by resource and NUMA node (schema: ``cpuctl schema devices``). A group of devices next to
several nodes has all of them as its key (``0-1``), one whose plugin names no node has ``none``.
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.documents.text_errors import describe
from cpuctl.machine.devices.inventory import MAX_DEVICES, DeviceGroup, DeviceInventory
from cpuctl.machine.devices.pod_resources_json import KIND, SHAPES, decode_pod_resources
from cpuctl.machine.model import MAX_NUMA_NODES

API_VERSION = "cpuctl/v1alpha1"
NO_NODE = "none"

_RESOURCE_HINT = "device plugins register names such as nvidia.com/gpu"


class ReadDevices(NamedTuple):
    """What a file says; ``in_use_known`` is False where it leaves out what pods hold."""

    inventory: DeviceInventory
    in_use_known: bool = True


def read_devices(text: bytes, source: str) -> ReadDevices:
    """Read a file; raise InputError with file, line and path."""
    cursors = [Cursor.at_root(document) for document in load_documents(text, source)]
    first = cursors[0]
    if not isinstance(first.value, dict):
        raise first.expected(SHAPES)
    if "kind" in first.value or "resources" in first.value:
        if len(cursors) > 1:
            raise cursors[1].error(f"expected one object of kind {KIND}, found a second document")
        return ReadDevices(_decode(first))
    inventory, in_use_known = decode_pod_resources(cursors)
    return ReadDevices(inventory, in_use_known)


def _decode(devices: Cursor) -> DeviceInventory:
    devices.refuse_others(("apiVersion", "kind", "resources"))
    devices.required("kind").one_of([KIND])
    devices.required("apiVersion").one_of([API_VERSION])
    resources = devices.required("resources")
    groups = {name: _groups(name, groups) for name, groups in resources.members().items()}
    try:
        return DeviceInventory(resources=groups)
    except ValueError as error:
        raise resources.error(str(error)) from None


def _groups(name: str, groups: Cursor) -> tuple[DeviceGroup, ...]:
    if "/" not in name:
        raise groups.error(f'expected the name of an extended resource, found "{name}"', hint=_RESOURCE_HINT)
    return tuple(_group(_nodes(key, group), group) for key, group in groups.members().items())


def _nodes(key: str, group: Cursor) -> CPUSet:
    if key == NO_NODE:
        return CPUSet()
    hint = f'write one NUMA node ("0"), all that the devices are next to ("0-1"), or {NO_NODE}'
    try:
        nodes = CPUSet.parse(key)
    except ValueError:
        nodes = CPUSet()
    if not nodes or nodes.mask >> MAX_NUMA_NODES:
        raise group.error(f"expected the numbers of NUMA nodes, found {describe(key)}", hint=hint)
    return nodes


def _group(nodes: CPUSet, group: Cursor) -> DeviceGroup:
    """Read the counts of a group; a bare number are devices that are all healthy and free."""
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
