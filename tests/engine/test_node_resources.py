"""Reservations for each resource: what is reserved, what pods can use, and the limit of their cgroup."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.node_capacity import node_capacity, node_reservations
from cpuctl.engine.node_resources import (
    ReservationSummary,
    ResourceLine,
    summarize,
)
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.topologies import CoreAt, machine_info

GIB = 1024**3
EIGHT = replace(machine_info(CoreAt((core, core + 4)) for core in range(4)), memory_bytes=16 * GIB)


def summary(info: MachineInfo = EIGHT, **config: Any) -> ReservationSummary:
    reported = KubeletConfiguration(**config)
    return summarize(info, reported, node_reservations(info, reported), node_capacity(info))


def texts(line: ResourceLine) -> list[str | None]:
    """Format a line: capacity, kube, system, eviction, reserved, allocatable."""
    amounts = (line.capacity, line.kube, line.system, line.eviction, line.reserved, line.allocatable)
    return [None if amount is None else str(amount) for amount in amounts]


def lines(found: ReservationSummary) -> dict[str, list[str | None]]:
    return {line.resource: texts(line) for line in found.lines}


def test_nothing_is_reserved_by_default() -> None:
    assert lines(summary()) == {
        "cpu": ["8", "0", "0", "0", "0", "8"],
        "memory": ["16Gi", "0", "0", "0", "0", "16Gi"],
    }
    assert str(summary().pods_memory) == "16Gi"


def test_reservations_add_up() -> None:
    found = summary(
        kube_reserved={"cpu": "500m", "memory": "1Gi"},
        system_reserved={"cpu": "600m", "memory": "512Mi"},
        eviction_hard={"memory.available": "512Mi", "pid.available": "10%"},
    )
    assert lines(found) == {
        "cpu": ["8", "500m", "600m", "0", "1100m", "6900m"],
        "memory": ["16Gi", "1Gi", "512Mi", "512Mi", "2Gi", "14Gi"],
    }
    assert str(found.pods_memory) == "14848Mi", "eviction is not subtracted there"


def test_listed_cpus_replace_amounts() -> None:
    found = summary(reserved_system_cpus="0,4-5", kube_reserved={"cpu": "2"}, system_reserved={"cpu": "1"})
    assert lines(found)["cpu"] == ["8", "0", "3", "0", "3", "5"]


@pytest.mark.parametrize(
    ("threshold", "eviction", "allocatable"),
    [("10%", "1717986944", "15461882240"), ("100%", "0", "16Gi"), ("0%", "0", "16Gi")],
)
def test_percentages_are_resolved_with_32_bits(threshold: str, eviction: str, allocatable: str) -> None:
    """10% of 16 GiB is 1717986918.4 bytes, but more with the kubelet's 32-bit fraction."""
    line = lines(summary(eviction_hard={"memory.available": threshold}))["memory"]
    assert (line[3], line[5]) == (eviction, allocatable)


def test_unknown_capacities_stay_open() -> None:
    found = summary(
        kube_reserved={"ephemeral-storage": "10Gi", "pid": "1000"},
        eviction_hard={"nodefs.available": "10%", "imagefs.available": "15%"},
    )
    assert lines(found)["ephemeral-storage"] == [None, "10Gi", "0", None, None, None]
    assert lines(found)["pid"] == [None, "1k", "0", "0", None, None]


def test_known_storage_is_treated_like_other_resources() -> None:
    found = summary(
        replace(EIGHT, ephemeral_storage=100 * GIB),
        kube_reserved={"ephemeral-storage": "10Gi"},
        system_reserved={"ephemeral-storage": "5Gi", "pid": "100"},
        eviction_hard={"nodefs.available": "50%"},
    )
    assert list(lines(found)) == ["cpu", "memory", "ephemeral-storage", "pid"]
    assert lines(found)["ephemeral-storage"] == ["100Gi", "10Gi", "5Gi", "50Gi", "65Gi", "35Gi"]
    assert lines(found)["pid"] == [None, "0", "100", "0", None, None]


def test_a_threshold_in_bytes_is_known_without_a_capacity() -> None:
    found = summary(eviction_hard={"nodefs.available": "5Gi"})
    assert lines(found)["ephemeral-storage"] == [None, "0", "0", "5Gi", None, None]


def test_huge_pages_are_not_also_counted_as_memory() -> None:
    node = replace(EIGHT.nodes[0], hugepages={2048: 512, 1048576: 2})
    assert lines(summary(replace(EIGHT, nodes=(node,))))["memory"][5] == "13Gi"


def test_nothing_is_left_if_more_than_the_capacity_is_reserved() -> None:
    found = summary(kube_reserved={"memory": "17Gi", "cpu": "9"})
    assert (lines(found)["cpu"][5], lines(found)["memory"][5]) == ("0", "0")
    assert str(found.pods_memory) == "0"


def test_pods_without_enforcement_may_use_everything() -> None:
    found = summary(enforce_node_allocatable=("none",), kube_reserved={"memory": "1Gi"})
    assert str(found.pods_memory) == "16Gi"


def reserved(node: int, **limits: str) -> ReservedMemory:
    amounts = {name.replace("_", "-"): Quantity.parse(amount) for name, amount in limits.items()}
    return ReservedMemory(numa_node=node, limits=amounts)


def test_reserved_memory_must_equal_the_reservations() -> None:
    found = summary(
        memory_manager_policy="Static",
        kube_reserved={"memory": "1Gi"},
        eviction_hard={"memory.available": "100Mi"},
        reserved_memory=(
            reserved(1, memory="700Mi"),
            reserved(0, memory="400Mi", hugepages_1Gi="1Gi"),
            reserved(1, memory="24Mi"),
        ),
    )
    assert [
        (node, {name: str(limit) for name, limit in limits.items()})
        for node, limits in found.numa_nodes.items()
    ] == [
        (0, {"memory": "400Mi", "hugepages-1Gi": "1Gi"}),
        (1, {"memory": "724Mi"}),
    ]
    assert [(each.kind, str(each.listed), str(each.reserved), each.equal) for each in found.balances] == [
        ("hugepages-1Gi", "1Gi", "0", False),
        ("memory", "1124Mi", "1124Mi", True),
    ]


def test_the_static_memory_policy_needs_reserved_memory() -> None:
    balances = summary(memory_manager_policy="Static", kube_reserved={"memory": "1Gi"}).balances
    assert [(each.kind, str(each.listed), each.equal) for each in balances] == [("memory", "0", False)]
    assert summary(kube_reserved={"memory": "1Gi"}).balances == ()
