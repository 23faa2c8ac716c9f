"""Groups of nodes that are identical to a kubelet, and how the odd ones differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.fleet.facts import differences, is_memory, roughly_equal_amounts

if TYPE_CHECKING:
    from cpuctl.answers.fleet import (
        FactDifference,
        FleetGroup,
        FleetNode,
        ListedNode,
    )


class Group(NamedTuple):
    """Similar nodes, in their order."""

    nodes: tuple[ListedNode, ...]

    @property
    def facts(self) -> Mapping[str, str]:
        """What they have in common; amounts of memory are those of the first."""
        return self.nodes[0]["facts"]


def groups_of(nodes: Sequence[FleetNode]) -> list[Group]:
    """Group similar nodes, the largest group first, equally large ones in order of their first node.

    Amounts of memory that differ by less than 1 % count as equal: kernels reserve slightly different amounts
    from boot to boot.
    """
    kinds: dict[str, list[ListedNode]] = {}
    for node in nodes:
        if node["outcome"] == "Read":
            kinds.setdefault(node["kind"], []).append(node)
    groups = [group for members in kinds.values() for group in _by_memory(members)]
    return sorted(groups, key=lambda group: -len(group.nodes))


def _by_memory(nodes: Sequence[ListedNode]) -> Iterator[Group]:
    """Split nodes that are otherwise equal by their memory."""
    names = {name for node in nodes for name in node["facts"] if is_memory(name)}
    groups: list[list[ListedNode]] = []
    for node in nodes:
        for group in groups:
            there = group[0]["facts"]
            if all(roughly_equal_amounts(node["facts"].get(name, ""), there.get(name, "")) for name in names):
                group.append(node)
                break
        else:
            groups.append([node])
    yield from (Group(tuple(group)) for group in groups)


def group_answers(groups: Sequence[Group]) -> Iterator[FleetGroup]:
    """Describe groups; each but the first is compared with the most similar one before it."""
    for place, group in enumerate(groups):
        other = min(groups[:place], key=lambda earlier: _distance(group, earlier), default=None)
        first = group.nodes[0]
        yield {
            "kind": first["kind"],
            "count": len(group.nodes),
            "nodes": [node["node"] for node in group.nodes],
            "machine": first["machine"],
            "kubelet": first["kubelet"],
            "comparedWith": None if other is None else other.nodes[0]["node"],
            "differences": [] if other is None else list(_differences(group, other)),
        }


def _distance(group: Group, other: Group) -> int:
    return sum(1 for _ in differences(group.facts, other.facts))


def _differences(group: Group, other: Group) -> Iterator[FactDifference]:
    for fact, here, there in differences(group.facts, other.facts):
        yield {"fact": fact, "here": here, "there": there}
