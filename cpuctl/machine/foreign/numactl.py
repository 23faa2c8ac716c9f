"""What ``numactl -H`` prints: NUMA nodes with their CPUs, memory and distances (numactl ``numactl.c``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import NUMACTL, FormContent, MachineFact
from cpuctl.machine.foreign.rows import CPURow, ForeignMachine, PrintedMachine, build
from cpuctl.machine.kernel_text import parse_cpu_list, shown
from cpuctl.machine.model import MAX_NUMA_NODES, NumaNode

_AVAILABLE = re.compile(r"available: [0-9]{1,5} nodes? \((?P<nodes>[0-9,-]*)\)", re.ASCII)
_NODE_LINE = re.compile(r"node (?P<node>[0-9]{1,5}) (?P<what>[a-z ]+):(?P<value>.*)", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,12}) MB", re.ASCII)
_HEADER = re.compile(r"node((?:\s+[0-9]{1,5})+)", re.ASCII)
_DISTANCES = re.compile(r"([0-9]{1,5}):((?:\s+[0-9]{1,9})+)", re.ASCII)
UNKNOWN_SIZE = "<not available>"
NO_DISTANCES = "No distance information available."
"""The text that replaces distances a kernel does not report."""
_ROUNDED = "memory is given in whole MiB, rounded down"


class _Node(NamedTuple):
    """The values in the lines of a node; sizes are in bytes."""

    cpus: CPUSet | None = None
    size: int | None = None
    free: int | None = None


def read_hardware(text: str, source: str) -> ForeignMachine:
    """Read ``numactl -H``; raise InputError with file and line."""
    reader = _Reader(source)
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            reader.read(line.strip(), number)
    nodes = reader.finished()
    rows = [CPURow(cpu, node=node.id) for node in nodes for cpu in node.cpus]
    facts = {MachineFact.NUMA, MachineFact.BARE_NODES}
    if all(node.memory_bytes is not None for node in nodes):
        facts.add(MachineFact.NODE_MEMORY)
    if all(node.distances for node in nodes):
        facts.add(MachineFact.DISTANCES)
    content = FormContent(
        NUMACTL, frozenset(facts), notes=(_ROUNDED,) if MachineFact.NODE_MEMORY in facts else ()
    )
    return build(PrintedMachine(rows=rows, nodes=nodes), content, source)


class _Reader:
    """A reader of lines in order; other values that numactl prints of nodes are skipped."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._number = 0
        self._ids: CPUSet | None = None
        self._nodes: dict[int, _Node] = {}
        self._columns: list[int] = []
        self._distances: dict[int, tuple[int, ...]] = {}

    def read(self, line: str, number: int) -> None:
        """Read one non-blank line."""
        self._number = number
        if self._ids is None:
            found = _AVAILABLE.fullmatch(line)
            if not found:
                self._refuse(f"found {shown(line)}, expected available: N nodes (0-N)")
            self._ids = self._set(found["nodes"])
            if len(self._ids) > MAX_NUMA_NODES:
                self._refuse(f"found {len(self._ids)} NUMA nodes, expected at most {MAX_NUMA_NODES}")
        elif found := _NODE_LINE.fullmatch(line):
            if line != "node distances:":
                self._node_line(int(found["node"]), found["what"], found["value"].strip())
        elif found := _HEADER.fullmatch(line):
            self._columns = [int(each) for each in found[1].split()]
        elif found := _DISTANCES.fullmatch(line):
            self._distance_line(int(found[1]), found[2])
        elif line not in {"node distances:", NO_DISTANCES}:
            self._refuse(f"found {shown(line)}, expected a NUMA node or distances")

    def _node_line(self, node: int, what: str, value: str) -> None:
        self._known_node(node)
        known = self._nodes.get(node, _Node())
        if what == "cpus":
            if known.cpus is not None:
                self._refuse(f"the CPUs of node {node} are listed twice")
            self._nodes[node] = known._replace(cpus=self._unclaimed(self._set(",".join(value.split()))))
        elif what == "size":
            self._nodes[node] = known._replace(size=self._size(value))
        elif what == "free":
            self._nodes[node] = known._replace(free=self._size(value))

    def _known_node(self, node: int) -> None:
        if node not in (self._ids or ()):
            self._refuse(f"found node {node}, expected one of {self._ids}")

    def _unclaimed(self, cpus: CPUSet) -> CPUSet:
        for node, other in self._nodes.items():
            if other.cpus and not other.cpus.isdisjoint(cpus):
                self._refuse(f"CPU {(other.cpus & cpus).lowest} is also listed in node {node}")
        return cpus

    def _distance_line(self, node: int, value: str) -> None:
        self._known_node(node)
        distances = tuple(map(int, value.split()))
        if len(distances) != len(self._columns) or self._columns != list(self._ids or ()):
            wanted = f"one for each of the nodes {self._ids}"
            self._refuse(
                f"found {len(distances)} distances below {len(self._columns)} nodes, expected {wanted}"
            )
        self._distances[node] = distances

    def _set(self, value: str) -> CPUSet:
        try:
            return parse_cpu_list(value)
        except ValueError as error:
            self._refuse(str(error))

    def _size(self, value: str) -> int | None:
        if value == UNKNOWN_SIZE:
            return None
        found = _SIZE.fullmatch(value)
        if not found:
            self._refuse(f"found {shown(value)}, expected a size such as 13402 MB")
        return int(found[1]) << 20

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(message, where=f"{self._source}:{self._number}")

    def finished(self) -> tuple[NumaNode, ...]:
        """Return the nodes; raise InputError for one without a line of CPUs, and for a CPU in two of them."""
        nodes: Mapping[int, _Node] = self._nodes
        missing = CPUSet.of(node for node in self._ids or () if nodes.get(node, _Node()).cpus is None)
        if missing:
            self._refuse(f"the output ends without the CPUs of node {missing.lowest}")
        return tuple(
            NumaNode(
                id=node,
                cpus=found.cpus or CPUSet(),
                memory_bytes=found.size,
                free_bytes=found.free,
                distances=self._distances.get(node, ()),
            )
            for node, found in sorted(nodes.items())
        )
