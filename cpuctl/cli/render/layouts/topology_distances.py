"""NUMA nodes and their distances in the words of ``numactl -H``, which people and scripts parse by eye."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.answers.topology import NumaNode, Topology

_MIB = 1 << 20


def blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the nodes of a machine."""
    nodes = document["numaNodes"]
    if nodes:
        yield Lines.of(*_node_lines(nodes), *_distance_lines(nodes))
    else:
        yield Lines.of("No NUMA available on this system")


def _node_lines(nodes: Sequence[NumaNode]) -> Iterator[str]:
    yield f"available: {len(nodes)} nodes ({CPUSet.of(node['id'] for node in nodes)})"
    for node in nodes:
        cpus = "".join(f" {cpu}" for cpu in CPUSet.parse(node["cpus"]))
        yield f"node {node['id']} cpus:{cpus}"
        for word, count in (("size", node["memoryBytes"]), ("free", node["freeBytes"])):
            yield f"node {node['id']} {word}: {'<not available>' if count is None else f'{count // _MIB} MB'}"


def _distance_lines(nodes: Sequence[NumaNode]) -> Iterator[str]:
    if not all(node["distances"] for node in nodes):
        yield "No distance information available."
        return
    yield "node distances:"
    yield "node" + "".join(f" {node['id']:>3}" for node in nodes)
    for node in nodes:
        yield f"{node['id']:>3}:" + "".join(f" {distance:>3}" for distance in node["distances"])
