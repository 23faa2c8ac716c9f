"""The API's responses as JSON, as knit, grpcurl and Go programs print them.

Members are called ``cpu_ids`` or ``cpuIds``; 64-bit numbers may be strings, and zeros may be omitted, so that
NUMA node 0 is ``{}`` (kubernetes issue 101522).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES
from cpuctl.machine.pod_resources.model import (
    NO_NODE,
    ContainerAllocation,
    MemoryHeld,
    PodAllocation,
    PodResources,
    cpu_set,
    node_set,
)

LIST = ("pod_resources", "podResources")
"""The member of an answer to ``List``."""
ALLOCATABLE = ("devices", "cpu_ids", "cpuIds", "memory")
"""Members of an answer to ``GetAllocatableResources``, which has at least one."""

_DIGITS = re.compile("-?[0-9]{1,20}")
_MOST_BYTES = (1 << 64) - 1
_WANTED = "a response of List or GetAllocatableResources of the pod resources API"


def read_answers(text: bytes, source: str) -> PodResources:
    """Read a file with one answer or both; raise InputError with file, line and path."""
    found = PodResources()
    for document in load_documents(text, source):
        answer = Cursor.at_root(document)
        members = answer.members()
        if any(key in members for key in LIST):
            found = _with_pods(found, either(answer, LIST))
        elif any(key in members for key in ALLOCATABLE):
            found = found._replace(allocatable=_cpus(answer))
        elif members:
            raise answer.error(f"expected {_WANTED}, found a different object")
        else:
            found = found._replace(pods=found.pods or ())  # tools leave out what is empty
    missing = [("List", found.pods), ("GetAllocatableResources", found.allocatable)]
    return found._replace(
        problems=tuple(f"{source}: no response of {name}" for name, answer in missing if answer is None)
    )


def _with_pods(found: PodResources, pods: Cursor) -> PodResources:
    """Add the pods of ``List``, or the one of ``Get``, whose member has the same name."""
    if isinstance(pods.value, dict):
        pod = _pod(pods)
        return found._replace(alone={**found.alone, pod.full_name: pod})
    return found._replace(pods=(found.pods or ()) + tuple(_pod(pod) for pod in pods.items()))


def _pod(pod: Cursor) -> PodAllocation:
    return PodAllocation(
        namespace=pod.required("namespace").text(),
        name=pod.required("name").text(),
        containers=tuple(_container(each) for each in pod.optional("containers", Cursor.items, [])),
        cpus=_cpus(pod),
        memory=_memory(pod),
    )


def _container(container: Cursor) -> ContainerAllocation:
    devices: dict[str, frozenset[str]] = {}
    for resource, device, _ in devices_of(container):
        devices[resource] = devices.get(resource, frozenset()) | {device}
    return ContainerAllocation(
        name=container.required("name").text(),
        cpus=_cpus(container),
        memory=_memory(container),
        devices=devices,
    )


def _cpus(of: Cursor) -> CPUSet:
    found = [number for key in ("cpu_ids", "cpuIds") for number in of.optional(key, Cursor.items, [])]
    return cpu_set(_integer(number, 0, MAX_CPUS - 1) for number in found)


def _memory(of: Cursor) -> tuple[MemoryHeld, ...]:
    return tuple(
        MemoryHeld(
            type=either(block, ("memory_type", "memoryType")).text(),
            size=block.optional("size", lambda size: _integer(size, 0, _MOST_BYTES), 0),
            nodes=_nodes(block),
        )
        for block in of.optional("memory", Cursor.items, [])
    )


def devices_of(of: Cursor) -> Iterator[tuple[str, str, int]]:
    """Yield resource, device and NUMA nodes (a mask); a device next to several may occur once for each."""
    for entry in of.optional("devices", Cursor.items, []):
        name, nodes = either(entry, ("resource_name", "resourceName")).text(), _nodes(entry)
        for key in ("device_ids", "deviceIds"):
            for device in entry.optional(key, Cursor.texts, ()):
                yield name, device, nodes.mask


def _nodes(of: Cursor) -> CPUSet:
    topology = of.get("topology")
    nodes = topology.optional("nodes", Cursor.items, []) if topology is not None else []
    return node_set(_node_id(node) for node in nodes)


def _node_id(node: Cursor) -> int:
    number = node.get("ID") or node.get("id")
    return 0 if number is None else _integer(number, NO_NODE, MAX_NUMA_NODES - 1)


def _integer(number: Cursor, minimum: int, maximum: int) -> int:
    text = number.value
    if isinstance(text, str) and _DIGITS.fullmatch(text) and minimum <= int(text) <= maximum:
        return int(text)
    return number.integer(minimum=minimum, maximum=maximum)


def either(cursor: Cursor, keys: tuple[str, str]) -> Cursor:
    """Return the member that has one of two names."""
    return cursor.get(keys[1]) or cursor.required(keys[0])
