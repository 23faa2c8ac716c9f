"""The API's messages as a kubelet sends them, encoded by hand, for servers and for seeds."""

from __future__ import annotations

from collections.abc import Iterable


def varint(value: int) -> bytes:
    value %= 1 << 64
    low = value & 0x7F
    return bytes([low | 0x80]) + varint(value >> 7) if value > low else bytes([low])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""  # proto3 omits zeros


def nested(field: int, message: bytes | str) -> bytes:
    content = message.encode() if isinstance(message, str) else message
    return varint(field << 3 | 2) + varint(len(content)) + content


def packed(field: int, values: Iterable[int]) -> bytes:
    content = b"".join(map(varint, values))
    return nested(field, content) if content else b""


def topology(*nodes: int) -> bytes:
    return b"".join(nested(1, number(1, node)) for node in nodes)


def memory(kind: str, size: int, *nodes: int) -> bytes:
    return nested(1, kind) + number(2, size) + nested(3, topology(*nodes))


def devices(resource: str, *names: str, nodes: tuple[int, ...] = ()) -> bytes:
    return nested(1, resource) + b"".join(nested(2, name) for name in names) + nested(3, topology(*nodes))


def container(name: str, *parts: bytes, cpus: Iterable[int] = (), blocks: Iterable[bytes] = ()) -> bytes:
    held = b"".join(nested(2, each) for each in parts)
    return nested(1, name) + held + packed(3, cpus) + b"".join(nested(4, each) for each in blocks)


def pod(namespace: str, name: str, *containers: bytes, cpus: Iterable[int] = ()) -> bytes:
    inside = b"".join(nested(3, each) for each in containers)
    return nested(1, name) + nested(2, namespace) + inside + packed(4, cpus)


def pods(*each: bytes) -> bytes:
    return b"".join(nested(1, one) for one in each)


LISTED = pods(
    pod(
        "ai",
        "train",
        container(
            "main",
            devices("nvidia.com/gpu", "g0", nodes=(0,)),
            devices("nvidia.com/gpu", "g1", nodes=(-1,)),
            cpus=(2, 3, 130),
            blocks=(memory("memory", 1 << 33, 0, 1),),
        ),
        container("log"),
        cpus=(2, 3, 4),
    ),
    pod("kube-system", "dns"),
)
ALLOCATABLE = packed(2, range(1, 200)) + nested(1, devices("nvidia.com/gpu", "g0", "g1"))
