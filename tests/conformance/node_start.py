"""Starting a kubelet from a recorded configuration, and the answer of a start."""

from __future__ import annotations

import json
from functools import lru_cache

from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.start import NotStarted, Started, StartResult, check_start, node_of, start_managers
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from tests.conformance.corpus import Json
from tests.conformance.machines import machine_info
from tests.conformance.operations import topology_counts
from tests.support.kubelet_config import read_kubelet_config

_HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


def start_kubelet(machine: Json, config: Json, version: KubeletVersion) -> StartResult:
    """Start a kubelet on a recorded machine; one that cannot load its configuration does not start."""
    try:
        started = _checked(json.dumps(machine), json.dumps(config), version)
    except ConfigRefusedError as error:
        return StartRefused(stage=error.refusal.stage, error=error.refusal.error)
    return node_of(started) if isinstance(started, Started) else started


def kubelet_of(config: Json, version: KubeletVersion) -> Kubelet:
    """Read a recorded configuration; raise ConfigRefusedError for one that cannot be loaded."""
    return _read_kubelet(json.dumps(config), version)


def start_managers_only(machine: Json, config: Json, version: KubeletVersion) -> StartResult:
    """Start a kubelet up to its last check."""
    started = start_managers(machine_info(machine), kubelet_of(config, version))
    return node_of(started) if isinstance(started, Started) else started


def started_answer(node: Node, machine: Json, config: Json, version: KubeletVersion) -> Json:
    """Return what a started kubelet has derived from its configuration."""
    started = _checked(json.dumps(machine), json.dumps(config), version)
    assert isinstance(started, Started)
    answer = {
        "ok": True,
        "reservation": {name: str(amount) for name, amount in started.reserved.items()},
        "defaultCPUSet": str(node.cpu.state_file().default_cpu_set),
        "topology": topology_counts(node.topology),
    }
    if node.policy is not None:
        answer["reservedCPUs"] = str(CPUSet(node.policy.reserved))
        answer["reservedPhysicalCPUs"] = str(CPUSet(node.policy.reserved_physical))
        answer["allocatableCPUs"] = str(CPUSet(node.policy.allocatable))
    if node.memory.policy is not None:
        answer["allocatableMemory"] = sorted(
            (
                {"numa": [number], "size": table.allocatable, "type": name}
                for number, tables in node.memory.policy.tables.items()
                for name, table in tables.memory_map.items()
                if table.allocatable
            ),
            key=lambda block: (block["type"], block["numa"]),
        )
    return answer


def state_reader(config: Json, version: KubeletVersion) -> StateReader:
    """Return which state files a kubelet reads and writes."""
    gates = config.get("featureGates") or {}
    return StateReader(
        minor=version.minor,
        pod_level_managers=gates.get("PodLevelResourceManagers") is True,
        exclusive_resize=gates.get("InPlacePodVerticalScalingExclusiveCPUs") is True,
    )


# Scenarios start the same kubelet on the same machine several times, and so do adjacent scenarios.
@lru_cache(maxsize=16)
def _checked(machine: str, config: str, version: KubeletVersion) -> Started | NotStarted:
    return check_start(machine_info(json.loads(machine)), _read_kubelet(config, version))


@lru_cache(maxsize=256)
def _read_kubelet(config: str, version: KubeletVersion) -> Kubelet:
    reported = read_kubelet_config(json.dumps(_HEAD | json.loads(config)), "case", version.minor).config
    return Kubelet(version=version, config=reported)
