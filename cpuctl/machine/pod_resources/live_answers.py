"""The live kubelet's answers, requested over its socket, with as much protobuf as they need.

Rule: ``k8s.io/kubelet/pkg/apis/podresources/v1/api.proto`` and protobuf's encoding. Unknown fields are
skipped, as by every protobuf reader: later releases add some.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError, InputError
from cpuctl.machine.pod_resources.grpc_call import call
from cpuctl.machine.pod_resources.model import (
    ContainerAllocation,
    MemoryHeld,
    PodAllocation,
    PodResources,
    cpu_set,
    node_set,
)

_LONGEST_VARINT = 10
_BITS = 64


def decode_list(message: bytes) -> tuple[PodAllocation, ...]:
    """Decode a ``ListPodResourcesResponse``; raise InputError for anything else."""
    try:
        return tuple(_pod(pod) for pod in _messages(message, 1))
    except ValueError as error:
        raise _no_answer("ListPodResourcesResponse", error) from None


def decode_get(message: bytes) -> PodAllocation:
    """Decode a ``GetPodResourcesResponse``; raise InputError for anything else."""
    try:
        return _pod(next(_messages(message, 1), b""))
    except ValueError as error:
        raise _no_answer("GetPodResourcesResponse", error) from None


def decode_allocatable_cpus(message: bytes) -> CPUSet:
    """Decode the CPUs of an ``AllocatableResourcesResponse``; raise InputError for anything else."""
    try:
        return cpu_set(_integers(message, 2))
    except ValueError as error:
        raise _no_answer("AllocatableResourcesResponse", error) from None


def _no_answer(name: str, error: ValueError) -> InputError:
    return InputError(f"the response is not a valid {name}: {error}")


def _pod(message: bytes) -> PodAllocation:
    return PodAllocation(
        name=_text(message, 1),
        namespace=_text(message, 2),
        containers=tuple(_container(container) for container in _messages(message, 3)),
        cpus=cpu_set(_integers(message, 4)),
        memory=_memory(message, 5),
    )


def _container(message: bytes) -> ContainerAllocation:
    devices: dict[str, frozenset[str]] = {}
    for entry in _messages(message, 2):
        resource = _text(entry, 1)
        devices[resource] = devices.get(resource, frozenset()).union(map(_decoded, _messages(entry, 2)))
    return ContainerAllocation(
        name=_text(message, 1),
        cpus=cpu_set(_integers(message, 3)),
        memory=_memory(message, 4),
        devices=devices,
    )


def _memory(message: bytes, number: int) -> tuple[MemoryHeld, ...]:
    return tuple(
        MemoryHeld(
            type=_text(block, 1),
            size=next(iter(_integers(block, 2)), 0) % (1 << _BITS),
            nodes=node_set(
                next(iter(_integers(node, 1)), 0)
                for topology in _messages(block, 3)
                for node in _messages(topology, 1)
            ),
        )
        for block in _messages(message, number)
    )


def _messages(message: bytes, number: int) -> Iterator[bytes]:
    """Yield the values of a length-delimited field: messages and strings."""
    for found, value in fields(message):
        if found == number:
            if isinstance(value, int):
                raise ValueError(f"field {number} is a number")
            yield value


def _text(message: bytes, number: int) -> str:
    return _decoded(next(_messages(message, number), b""))


def _decoded(text: bytes) -> str:
    return text.decode()  # invalid UTF-8 is a ValueError, too


def _integers(message: bytes, number: int) -> Iterator[int]:
    """Yield the numbers of a field, packed or one by one, as int64."""
    for found, value in fields(message):
        if found != number:
            continue
        if isinstance(value, int):
            yield _signed(value)
            continue
        at = 0
        while at < len(value):
            each, at = _varint(value, at)
            yield _signed(each)


def _signed(value: int) -> int:
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of every field; raise ValueError if the message is truncated or malformed."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
                continue
            case 2:
                length, at = _varint(message, at)
            case 1:
                length = 8
            case 5:
                length = 4
            case kind:
                raise ValueError(f"a field has unknown wire type {kind}")
        if length > len(message) - at:
            raise ValueError("it ends within a field")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value % (1 << _BITS), at + shift + 1
    raise ValueError("it ends within a number, or a number is too long")


T = TypeVar("T")

_SERVICE = "/v1.PodResourcesLister"
_MOST_ALONE = 8
"""A kubelet refuses more than ten calls at once (``pkg/kubelet/apis/podresources/constants.go``)."""


def ask_kubelet(path: str, expected: Collection[str] = ()) -> PodResources:
    """Request what pods hold and what is allocatable; for a missing answer, report the problem.

    Some of the *expected* pods, by full name, that the kubelet does not list are requested one by one.
    """
    problems: list[str] = []
    pods = _requested(path, "List", decode_list, problems)
    allocatable = _requested(path, "GetAllocatableResources", decode_allocatable_cpus, problems)
    missing = sorted(set(expected) - {pod.full_name for pod in pods}) if pods is not None else []
    return PodResources(
        pods=pods,
        allocatable=allocatable,
        problems=tuple(dict.fromkeys(problems)),
        alone={name: _alone(path, name) for name in missing[:_MOST_ALONE]},
    )


def _requested(path: str, method: str, decode: Callable[[bytes], T], problems: list[str]) -> T | None:
    try:
        return decode(call(path, f"{_SERVICE}/{method}"))
    except CpuctlError as error:
        problems.append(f"{error} ({error.hint})" if error.hint else str(error))
        return None


def _alone(path: str, full_name: str) -> PodAllocation | str:
    namespace, _, name = full_name.partition("/")
    try:
        return decode_get(call(path, f"{_SERVICE}/Get", encode_get(namespace, name)))
    except CpuctlError as error:
        return error.message


def encode_get(namespace: str, name: str) -> bytes:
    """Encode a ``GetPodResourcesRequest``."""
    return b"".join(
        bytes([number << 3 | 2]) + _as_varint(len(text)) + text
        for number, text in ((1, name.encode()), (2, namespace.encode()))
        if text
    )


def _as_varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low | 0x80]) + _as_varint(value >> 7) if value > low else bytes([low])
