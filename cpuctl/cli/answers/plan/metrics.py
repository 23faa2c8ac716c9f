"""What ``cpuctl plan`` finds beside the kubelet's own metrics: its start, copies, room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cpuctl.cli.answers.gauge import gauge
from cpuctl.cli.output import Document

if TYPE_CHECKING:
    from cpuctl.answers.metrics import Metric

    Samples = Iterator[Metric]


def with_room_metrics(document: Document) -> Document:
    """Add to a plan's metrics whether the kubelet starts, how often its pods fit, and what else does."""
    return {
        **document,
        "metrics": [
            *_of_start(document.get("start")),
            *document.get("metrics", ()),
            *_of_copies(document.get("repeat")),
            *_of_room(document.get("capacity")),
        ],
    }


def _of_start(start: Mapping[str, Any] | None) -> Samples:
    if start is not None:
        yield gauge("plan_start", "What comes of the kubelet's start.", {"outcome": start["outcome"]}, 1)


def _of_copies(repeat: Mapping[str, Any] | None) -> Samples:
    if repeat is not None:
        yield gauge("plan_copies", "Copies of all pods that fit (--repeat).", {}, repeat["fitted"])


def _of_room(capacity: Mapping[str, Any] | None) -> Samples:
    if capacity is None:
        return
    for copies in capacity["copies"]:
        labels = {"pod": copies["pods"][0]}
        yield gauge("plan_more_copies", "Further copies of a pod that fit.", labels, copies["fits"])
    for largest in capacity["largestRequests"]:
        if "cpus" in largest:
            labels = {"topology_policy": largest["topologyManagerPolicy"]}
            help_ = "The largest request of exclusive CPUs that fits."
            yield gauge("plan_largest_request_cpus", help_, labels, largest["cpus"])
    for node in capacity["numaNodes"]:
        labels = {"numa_node": str(node["id"])}
        yield gauge("plan_free_cpus", "CPUs that can still become exclusive.", labels, node["free"])
        help_ = "The largest request of exclusive CPUs that fits into a NUMA node."
        yield gauge("plan_largest_inside_cpus", help_, labels, node["largest"])
    levels = (capacity["fragmentation"] or {}).items()
    for name, scatter in ((name, scatter) for name, scatter in levels if scatter):
        help_ = "How many of the free CPUs are not together that could be, in percent."
        yield gauge("plan_fragmentation_percent", help_, {"of": name}, scatter["percent"])
