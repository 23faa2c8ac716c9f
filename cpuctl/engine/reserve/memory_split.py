"""Splitting a memory reservation over NUMA nodes, to the byte.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``: ``reservedMemory`` has to add up exactly to what
kubeReserved, systemReserved and hard eviction keep, and no node may give more than it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

_MIB = 1 << 20


class Spread(StrEnum):
    """How a reservation is laid out over the nodes."""

    EVEN = "even"
    PROPORTIONAL = "proportional"
    ONE_NODE = "one-node"


def split_memory(
    room: Mapping[int, int], total: int, spread: Spread, node: int | None = None
) -> dict[int, int]:
    """Split *total* bytes over nodes that have *room*; nodes that give nothing are left out.

    Parts are whole MiB but for one. *node* names the node for ``ONE_NODE``; without it the lowest that has
    the room gives all. Raise ValueError where there is not enough room, or no such node.
    """
    if total > sum(room.values()):
        raise ValueError(f"{total} bytes are to be reserved, but all NUMA nodes have {sum(room.values())}")
    parts = _in_mib(room, _parts(room, total, spread, node), total)
    return {each: part for each, part in sorted(parts.items()) if part}


def _parts(room: Mapping[int, int], total: int, spread: Spread, node: int | None) -> dict[int, int]:
    match spread:
        case Spread.ONE_NODE:
            return {_giving_all(room, total, node): total}
        case Spread.EVEN:
            return _even(room, total)
        case Spread.PROPORTIONAL:
            everything = sum(room.values())
            return {each: total * has // everything for each, has in room.items() if has}


def _giving_all(room: Mapping[int, int], total: int, node: int | None) -> int:
    if node is not None and node not in room:
        raise ValueError(f"there is no NUMA node {node}")
    able = [each for each in sorted(room) if room[each] >= total and node in (None, each)]
    if not able:
        where = "no single NUMA node has" if node is None else f"NUMA node {node} does not have"
        raise ValueError(f"{where} {total} bytes to reserve; the largest has {max(room.values(), default=0)}")
    return able[0]


def _even(room: Mapping[int, int], total: int) -> dict[int, int]:
    """Give every node the same part, the smallest first: what they lack, the others give."""
    parts, left = {}, total
    smallest_first = sorted(room, key=lambda each: (room[each], each))
    for given, each in enumerate(smallest_first):
        parts[each] = min(room[each], left // (len(room) - given))
        left -= parts[each]
    return parts


def _in_mib(room: Mapping[int, int], parts: dict[int, int], total: int) -> dict[int, int]:
    """Round parts down to MiB, and let the nodes with most room give the rest."""
    rounded = {each: part // _MIB * _MIB for each, part in parts.items()}
    left = total - sum(rounded.values())
    for each in sorted(rounded, key=lambda each: (rounded[each] - room[each], each)):
        more = min(left, room[each] - rounded[each])
        rounded[each] += more
        left -= more
    return rounded
