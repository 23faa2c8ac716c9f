"""Every recorded operation by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.conformance.checkpoint_operations import checkpoint_read, checkpoint_write
from tests.conformance.corpus import Json
from tests.conformance.lint_operation import lint
from tests.conformance.merging import merge_hints
from tests.conformance.node_scenario import node_scenario
from tests.conformance.operations import cpu_hints, cpu_set, discover, quantity, take_by_topology
from tests.conformance.pod_operations import POD_OPERATIONS
from tests.conformance.validation_operations import validate_configuration

OPERATIONS: Mapping[str, Callable[[Json], Json]] = MappingProxyType(
    {
        "checkpointRead": checkpoint_read,
        "checkpointWrite": checkpoint_write,
        "cpuHints": cpu_hints,
        "cpuset": cpu_set,
        "discover": discover,
        "lint": lint,
        "mergeHints": merge_hints,
        "node": node_scenario,
        "quantity": quantity,
        "takeByTopology": take_by_topology,
        "validate": validate_configuration,
        **POD_OPERATIONS,
    }
)
