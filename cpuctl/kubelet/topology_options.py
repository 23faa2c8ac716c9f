"""Options of the topology manager: which exist, from which release on, and their values.

History per option: the enhancement documents KEP-3545 and KEP-4622. Error texts are the kubelet's
(``cm/topologymanager/policy_options.go``); where it walks a map in random order, the order here is by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.golang.conversions import map_text, parse_atoi, parse_bool
from cpuctl.golang.text import GoError, quoted
from cpuctl.kubelet.config import SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.policy_options import OptionHistory

PREFER_CLOSEST = "prefer-closest-numa-nodes"
MAX_NODES = "max-allowable-numa-nodes"
DEFAULT_MAX_NODES = 8

TOPOLOGY_OPTIONS: Mapping[str, OptionHistory] = {
    PREFER_CLOSEST: OptionHistory(26, 28, 32),
    MAX_NODES: OptionHistory(31, 31, 35),
}

TOPOLOGY_STAGE_GATES = {
    "alpha": "TopologyManagerPolicyAlphaOptions",
    "beta": "TopologyManagerPolicyBetaOptions",
}
"""The gates that options of a stage need."""

_FIELD = "topologyManagerPolicyOptions"


class TopologyOptions(NamedTuple):
    """The options of the topology manager, at their defaults unless asked for."""

    prefer_closest_numa_nodes: bool = False
    max_allowable_numa_nodes: int = DEFAULT_MAX_NODES


def parse_topology_options(options: Mapping[str, str], gates: FeatureGates) -> TopologyOptions:
    """Read ``topologyManagerPolicyOptions`` as the release of *gates* does.

    Raise SettingError with the kubelet's text for an unknown option, one whose stage is gated off, and a
    value that is no boolean or too small a number.
    """
    values = {name: _read(name, options[name], gates) for name in sorted(options)}
    return TopologyOptions(
        prefer_closest_numa_nodes=values.get(PREFER_CLOSEST, 0) == 1,
        max_allowable_numa_nodes=values.get(MAX_NODES, DEFAULT_MAX_NODES),
    )


def refuse_gated_topology_options(options: Mapping[str, str], gates: FeatureGates) -> None:
    """Raise SettingError where options are given, whatever the policy, and the gate of them all is off.

    Rule: ``cmd/kubelet/app/server.go``.
    """
    if options and not gates.enabled("TopologyManagerPolicyOptions"):
        raise SettingError(
            f"topology manager policy options {map_text(options)} require feature gates"
            ' "TopologyManagerPolicyOptions" enabled',
            _FIELD,
        )


def _read(name: str, value: str, gates: FeatureGates) -> int:
    stage = TOPOLOGY_OPTIONS[name].stage(gates.minor) if name in TOPOLOGY_OPTIONS else ""
    if not stage:
        raise SettingError(f"unknown Topology Manager Policy option: {quoted(name)}", _FIELD, name)
    gate = TOPOLOGY_STAGE_GATES.get(stage)
    if gate is not None and not gates.enabled(gate):
        small = gates.release.writes_topology_options_small
        words = (
            f"topology manager policy {stage}-level options"
            if small
            else f"Topology Manager Policy {stage.title()}-level Options"
        )
        text = f"{words} not enabled, but option {quoted(name)} provided"
        raise SettingError(text, _FIELD, name)
    try:
        return _switch(name, value) if name == PREFER_CLOSEST else _node_limit(name, value)
    except GoError as error:
        raise SettingError(str(error), _FIELD, name) from None


def _switch(name: str, value: str) -> int:
    try:
        return int(parse_bool(value))
    except GoError as error:
        raise GoError(f"bad value for option {quoted(name)}: {error}") from None


def _node_limit(name: str, value: str) -> int:
    try:
        limit = parse_atoi(value)
    except GoError as error:
        raise GoError(f"unable to convert policy option to integer {quoted(name)}: {error}") from None
    if limit < DEFAULT_MAX_NODES:
        raise GoError(f"the minimum value of {quoted(name)} should not be less than {DEFAULT_MAX_NODES}")
    return limit
