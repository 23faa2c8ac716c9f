"""The declared list of what is not covered yet; it only ever shrinks.

A case on the list that passes all the same fails the run, so nothing stays on it by accident.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from cpuctl.checkpoints.cpu_state import read_cpu_state
from cpuctl.checkpoints.model import UnreadableState
from tests.conformance.corpus import Json, Recorded
from tests.conformance.node_scenario import STEPS


@dataclass(frozen=True, slots=True)
class Gap:
    """One kind of case that is not covered, and why."""

    why: str
    applies: Callable[[Recorded], bool]


def _operation(*names: str) -> Callable[[Recorded], bool]:
    return lambda recorded: recorded.operation in names


def _configurations(case: Json) -> list[Json]:
    """All configurations that a scenario starts a kubelet with."""
    return [case.get("kubelet", {}), *(step.get("kubelet") or {} for step in case.get("steps", ()))]


def _refused_early(recorded: Recorded) -> bool:
    return recorded.expect.get("start", {}).get("stage") in _BEFORE_MEMORY_MANAGER


def _memory_manager(recorded: Recorded) -> bool:
    if _refused_early(recorded):
        return False
    return any(
        config.get("memoryManagerPolicy", "None") != "None" for config in _configurations(recorded.case)
    )


def _pod_level_managers(recorded: Recorded) -> bool:
    if _refused_early(recorded):
        return False
    return any(
        (config.get("featureGates") or {}).get("PodLevelResourceManagers") is True
        for config in _configurations(recorded.case)
    )


def _resize(recorded: Recorded) -> bool:
    return any(step["op"] not in STEPS for step in recorded.case.get("steps", ()))


def _later_state_files(recorded: Recorded) -> bool:
    """Whether a kubelet of 1.37 or later writes its own format or reads one that is not V2."""
    if recorded.operation != "node" or "kubeletVersion" not in recorded.case:
        return False
    found = recorded.case.get("cpuManagerState")
    foreign = found is not None and isinstance(read_cpu_state(found), UnreadableState)
    return foreign or "dataChecksum" in json.dumps(recorded.expect)


_BEFORE_MEMORY_MANAGER = {
    "configDecode",
    "panic",
    "configValidation",
    "reservedSystemCPUs",
    "kubeReserved",
    "systemReserved",
    "evictionHard",
    "topologyManager",
    "cpuManager",
}

GAPS = (
    Gap("the Memory Manager", _memory_manager),
    Gap("pod-level resource managers", _pod_level_managers),
    Gap("in-place resize", _resize),
    Gap("state files of 1.37 and later", _later_state_files),
    Gap("state files of all formats", _operation("checkpointWrite", "checkpointRead")),
    Gap("derived pod values", _operation("qos", "podRequests", "podDefaults", "oomScoreAdj")),
    Gap("cgroup values", _operation("cgroupValues", "podCgroup")),
)
