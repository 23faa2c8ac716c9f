"""Short timelines for tests: a machine of ten cores, a kubelet that can wait, and what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from cpuctl.machine.sources import read_machine
from cpuctl.timeline.model import Timeline
from cpuctl.timeline.reading.document import TimelineLoaders, read_timeline
from cpuctl.timeline.report.runtime_calls import RuntimeCalls
from cpuctl.timeline.report.views import VIEWS
from cpuctl.timeline.simulation import Simulation
from cpuctl.timeline.world.entries import EntryKind, HistoryEntry

GATES = {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}


def small(name: str = "dpdk", cpus: int = 2) -> dict[str, Any]:
    """Make a pod of few CPUs whose container app can read its CPUs."""
    field = {"containerName": "app", "resource": "assigned.cpuset"}
    items = [{"path": "cpus", "resourceFieldRef": field}]
    return {
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "app", "resources": {"limits": {"cpu": cpus, "memory": "1Gi"}}}],
            "volumes": [{"name": "podinfo", "downwardAPI": {"items": items}}],
        },
    }


def no_files(name: str) -> bytes:
    raise AssertionError(name)


OUTSIDE = TimelineLoaders(read_machine, no_files)


def config(**more: Any) -> dict[str, Any]:
    """Make the kubelet's configuration: a delay of five seconds, a pass every second."""
    return {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0,10",
        "cpuManagerReconcilePeriod": "1s",
        "cpuManagerPolicyOptions": {"scale-delay-time": "5s"},
        "featureGates": GATES,
    } | more


def document(*events: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """Make a timeline in its written form."""
    return {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Timeline",
        "machine": "synthetic:1s1n10c2t",
        "kubelet": {"version": "1.37", "config": config()},
        "apiServer": {"featureGates": {"DownwardAPIAssignedResources": True}},
        "pods": [small(), "other=2,1Gi"],
        "events": list(events),
    } | members


def read(written: Mapping[str, Any]) -> Timeline:
    """Read a timeline."""
    return read_timeline(yaml.safe_dump(dict(written)), "timeline.yaml", OUTSIDE)


def replay(timeline: Timeline, calls: RuntimeCalls | None = None) -> Simulation:
    """Play a timeline that was read, to its end."""
    simulation = Simulation(timeline, calls)
    for _ in simulation.play(timeline.moments, timeline.until):
        pass
    return simulation


def play(*events: Mapping[str, Any], **members: Any) -> Simulation:
    """Play a timeline to its end."""
    return replay(read(document(*events, **members)))


def seen(simulation: Simulation, section: str) -> Any:
    """Return one part of the final view."""
    return VIEWS[section](simulation.world)


def container(simulation: Simulation, name: str = "dpdk/app") -> Any:
    """Return the final view of a container."""
    return seen(simulation, "containers")[f"default/{name}"]


def reported(simulation: Simulation, *kinds: EntryKind) -> list[HistoryEntry]:
    """Return the entries of some kinds."""
    return [entry for entry in simulation.world.entries if entry.kind in kinds]
