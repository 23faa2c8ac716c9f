"""The capacity that a plan leaves, as a plain part of its document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from cpuctl.answering.config.starts import not_started_answer
from cpuctl.answering.plan.plan_answer import cpu_list, rejection_answer, verdict_answer
from cpuctl.engine.capacity.capacity import (
    MAX_COPIES,
    MAX_RUNS,
    MAX_SHAPES,
    Capacity,
    Copies,
    Fragmentation,
    Headroom,
    Largest,
    NotStarted,
    Scatter,
)
from cpuctl.engine.capacity.remedy import MAX_LEAVING, MovedPod, Remedy, RemedyKind
from cpuctl.engine.capacity.repetition import MAX_PODS, Repetition
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import Undetermined
from cpuctl.pods.model import StoredPod

if TYPE_CHECKING:
    from cpuctl.answers import capacity as answers
    from cpuctl.answers.values import TopologyPolicy

_POSSIBLE: Mapping[RemedyKind, Literal["nothing", "moves", "evictions", "unknown"]] = {
    RemedyKind.NOTHING: "nothing",
    RemedyKind.MOVES: "moves",
    RemedyKind.EVICTIONS: "evictions",
    RemedyKind.UNKNOWN: "unknown",
}


def capacity_answer(capacity: Capacity, topology: CPUTopology, policy: str) -> answers.Capacity:
    """Describe the remaining capacity; *policy* is the Topology Manager's."""
    nodes = topology.numa_nodes
    return {
        "copies": [_copies(copies) for copies in capacity.copies],
        "skippedKinds": capacity.left_out,
        "largestRequests": [
            _largest(name, largest, current=name == policy) for name, largest in capacity.largest.items()
        ],
        "numaNodes": [_headroom(headroom) for headroom in capacity.numa_nodes],
        "uncoreCaches": [
            {
                **_headroom(headroom),
                "numaNodes": [node for node, cpus in nodes.items() if cpus & headroom.cpus],
            }
            for headroom in capacity.uncore_caches
        ],
        "fragmentation": fragmentation_answer(capacity.fragmentation),
        "remedies": [_remedy(remedy) for remedy in capacity.remedies],
        "bounds": {
            "copies": MAX_COPIES,
            "kinds": MAX_SHAPES,
            "admissions": MAX_RUNS,
            "evictions": MAX_LEAVING,
        },
    }


def fragmentation_answer(fragmentation: Fragmentation | None) -> answers.Fragmentation | None:
    """Return the fragmentation of the free CPUs; None without exclusive CPUs."""
    if fragmentation is None:
        return None
    return {
        "core": _scatter(fragmentation.core),
        "uncoreCache": fragmentation.uncore_cache and _scatter(fragmentation.uncore_cache),
        "numaNode": _scatter(fragmentation.numa_node),
    }


def repetition_answer(repetition: Repetition, requested: int | Literal["max"]) -> answers.Repeat:
    """Return how many of the requested number (or ``max``) of copies of all pods fit."""
    stop = repetition.stop
    return {
        "requested": requested,
        "rounds": repetition.rounds,
        "fitted": None if stop and isinstance(stop.verdict, Undetermined) else repetition.fitted,
        "stop": {"pod": stop.pod.full_name, **rejection_answer(stop.verdict)} if stop else None,
        "bound": MAX_PODS if repetition.bounded else None,
    }


def _copies(copies: Copies) -> answers.Copies:
    return {
        "pods": _names(copies.pods),
        "fits": None if isinstance(copies.stop, Undetermined) else copies.fits,
        "stop": None if copies.stop is None else rejection_answer(copies.stop),
    }


def _names(pods: Iterable[StoredPod]) -> list[str]:
    return [pod.full_name for pod in pods]


def _largest(
    policy: TopologyPolicy, largest: Largest | NotStarted, *, current: bool
) -> answers.LargestRequest:
    if not isinstance(largest, Largest):
        return {
            "topologyManagerPolicy": policy,
            "current": current,
            "start": not_started_answer(largest),
        }
    stop = largest.stop
    return {
        "topologyManagerPolicy": policy,
        "current": current,
        "start": {"outcome": "Started"},
        "cpus": largest.cpus,
        "stop": stop and {"cpus": stop.cpus, **rejection_answer(stop.verdict)},
    }


def _headroom(headroom: Headroom) -> answers.Room:
    return {
        "id": headroom.number,
        "cpus": cpu_list(headroom.cpus),
        "freeCPUs": cpu_list(headroom.free),
        "free": headroom.free.bit_count(),
        "largest": headroom.largest,
    }


def _scatter(scatter: Scatter) -> answers.Scatter:
    return {"reached": scatter.reached, "possible": scatter.possible, "percent": scatter.percent}


def _remedy(remedy: Remedy) -> answers.Remedy | answers.NoRemedy:
    pods, kind, tried = _names(remedy.pods), _POSSIBLE.get(remedy.kind), _trial(remedy)
    if kind is None:
        return {"pods": pods, "remedy": "impossible", **rejection_answer(remedy.verdict), **tried}
    return {"pods": pods, "remedy": kind, **verdict_answer(remedy.verdict), **tried}


def _trial(remedy: Remedy) -> answers.Trial:
    return {
        "cpus": cpu_list(remedy.cpus),
        "evicted": [_leaving(leaving) for leaving in remedy.leaving],
        "minimal": remedy.fewest,
        "excluded": remedy.excluded,
        "immovable": remedy.immovable,
        "admissions": remedy.runs,
    }


def _leaving(leaving: MovedPod) -> answers.EvictedPod:
    return {
        "pod": leaving.pod.full_name,
        "uid": leaving.pod.uid,
        "cpus": cpu_list(leaving.before),
        "cpusAfter": None if leaving.after is None else cpu_list(leaving.after),
    }
