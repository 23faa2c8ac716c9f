"""Every recorded operation by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.conformance.corpus import Json
from tests.conformance.merging import merge_hints
from tests.conformance.node_scenario import node_scenario
from tests.conformance.operations import cpu_hints, cpu_set, discover, quantity, take_by_topology

OPERATIONS: Mapping[str, Callable[[Json], Json]] = MappingProxyType(
    {
        "cpuHints": cpu_hints,
        "cpuset": cpu_set,
        "discover": discover,
        "mergeHints": merge_hints,
        "node": node_scenario,
        "quantity": quantity,
        "takeByTopology": take_by_topology,
    }
)
