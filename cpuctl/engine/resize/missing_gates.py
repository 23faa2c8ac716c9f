"""The feature gates that a refused resize lacks, if enabling them lets it through.

No release before KEP-5554 changes exclusive CPUs: there, the gate for them only helps other containers of
Guaranteed pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpuctl.engine.resize.handler import ResizePath, decide, unfollowed_by
from cpuctl.engine.resize.outcome import DecidedBy, Obstacle, ResizeOutcome, ResizeResult
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, EXCLUSIVE_MEMORY, IN_PLACE, POD_LEVEL
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.releases.behaviours import Behaviours


_OF_NODE = "Pod running on node without support for resize"
"""The API server's words for a gate that is off in the kubelet."""
_NEEDED = {
    "alongside CPU Manager": EXCLUSIVE_CPUS,
    "InPlacePodLevelResourcesVerticalScaling is disabled": POD_LEVEL,
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled": POD_LEVEL,
    "InPlacePodVerticalScaling is disabled": IN_PLACE,
    "InPlacePodVerticalScaling is off": IN_PLACE,
    _OF_NODE: IN_PLACE,
}
_RULES = {
    EXCLUSIVE_CPUS: "exclusive_cpus",
    EXCLUSIVE_MEMORY: "exclusive_memory",
    IN_PLACE: "in_place",
    POD_LEVEL: "pod_level",
}
"""The fields of the rules that gates turn on."""
_SHORT_OF_ROOM = (DecidedBy.MANAGERS, DecidedBy.NODE_FIT)


class MissingGate(Record):
    """A gate that is off: in the API server if ``by_server``, else in the kubelet."""

    name: str
    by_server: bool


def missing_gates(before: Node, outcome: ResizeOutcome, path: ResizePath) -> tuple[MissingGate, ...]:
    """Name the gates that a refused resize lacks; none if it would still not be made with them.

    *before* is the node before the decision; it stays unchanged.
    """
    name = _gate_needed(outcome.message, path.kubelet.release)
    if not name:
        return ()
    refused = outcome.decided_by is DecidedBy.API_SERVER
    missing = MissingGate(name, by_server=refused and _OF_NODE not in outcome.message)
    if not _can_be_enabled(path, missing):
        return ()
    # A server that has agreed has also charged its quotas: it is not consulted again.
    path = _with_gate(path if refused else replace(path, server=None), missing)
    node = before.copy()
    if node.what_if is not None and path.kubelet.allocates:
        return ()  # such policies have no step for resizes
    trial = decide(node, outcome.request, path)
    if _is_made(trial, node):
        return (missing,)
    more = missing_gates(before, trial, path)
    return (missing, *more) if more else ()


def _can_be_enabled(path: ResizePath, missing: MissingGate) -> bool:
    """Return whether a gate exists and is off there: names in a message may look like a missing gate."""
    rules = path.server if missing.by_server else path.kubelet
    if rules is None or getattr(rules, _RULES[missing.name], True):
        return False
    stage = FeatureGates(rules.minor).stage(missing.name)
    return stage is not None and not stage.locked


def _gate_needed(message: str, release: Behaviours) -> str:
    """Return the gate that a message is about; empty for other messages."""
    if "alongside Memory Manager" in message:
        return EXCLUSIVE_MEMORY if release.has_gate_of_exclusive_memory else EXCLUSIVE_CPUS
    return next((gate for text, gate in _NEEDED.items() if text in message), "")


def _is_made(trial: ResizeOutcome, node: Node) -> bool:
    """Return whether a resize is made, now or once there is room."""
    if trial.result in (ResizeResult.ADMITTED, ResizeResult.UNKNOWN):
        return True
    if trial.obstacle is not Obstacle.NODE or trial.decided_by not in _SHORT_OF_ROOM:
        return False
    # Without the allocator, room does not help containers that keep their exclusive CPUs.
    return trial.preview or not unfollowed_by(node, trial.request.desired)


def _with_gate(path: ResizePath, missing: MissingGate) -> ResizePath:
    """Enable a gate where it is missing."""
    server, kubelet = path.server, path.kubelet
    enabled: dict[str, Any] = {_RULES[missing.name]: True}
    if missing.by_server and server is not None:
        server = replace(server, **enabled)
    else:
        kubelet = replace(kubelet, **enabled)
        if missing.name == EXCLUSIVE_CPUS and not kubelet.release.has_gate_of_exclusive_memory:
            kubelet = replace(kubelet, exclusive_memory=True)
    if server is not None:
        namespaces = None if server.namespaces is None else server.namespaces.copy()
        server = replace(server, node_resizes=kubelet.in_place, namespaces=namespaces)
    return replace(path, server=server, kubelet=kubelet)
