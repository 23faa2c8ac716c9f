"""What ``cpuctl plan`` finds beside the kubelet's own metrics: its start, copies, room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.answering.metrics import gauge

if TYPE_CHECKING:
    from cpuctl.answers.capacity import Capacity, Fragmentation, Scatter
    from cpuctl.answers.metrics import Metric
    from cpuctl.answers.plan import NotStartedPlan, StartedPlan


def plan_metrics(plan: StartedPlan | NotStartedPlan) -> Iterator[Metric]:
    """List a plan's metrics, and whether the kubelet starts, how often its pods fit, and what else does."""
    labels = {"outcome": plan["start"]["outcome"]}
    yield gauge("plan_start", "What comes of the kubelet's start.", labels, 1)
    if "node" not in plan:
        return
    yield from plan.get("metrics", ())
    if "repeat" in plan and (fitted := plan["repeat"]["fitted"]) is not None:
        yield gauge("plan_copies", "Copies of all pods that fit (--repeat).", {}, fitted)
    if "capacity" in plan:
        yield from _of_room(plan["capacity"])


def _of_room(capacity: Capacity) -> Iterator[Metric]:
    for copies in capacity["copies"]:
        labels = {"pod": copies["pods"][0]}
        if (fits := copies["fits"]) is not None:
            yield gauge("plan_more_copies", "Further copies of a pod that fit.", labels, fits)
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
    if capacity["fragmentation"]:
        yield from _of_fragmentation(capacity["fragmentation"])


def _of_fragmentation(fragmentation: Fragmentation) -> Iterator[Metric]:
    levels: dict[str, Scatter | None] = {
        "core": fragmentation["core"],
        "uncoreCache": fragmentation["uncoreCache"],
        "numaNode": fragmentation["numaNode"],
    }
    for name, scatter in levels.items():
        if scatter:
            help_ = "How many of the free CPUs are not together that could be, in percent."
            yield gauge("plan_fragmentation_percent", help_, {"of": name}, scatter["percent"])
