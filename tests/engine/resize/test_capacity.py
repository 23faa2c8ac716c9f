"""What a kubelet compares a resize with before it considers other pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.resize.obstacles import whole_node
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.records import replace
from tests.support.resizing import GIB, NO_POLICY, Setting, two_nodes

MIB = 1 << 20
EVICTION: Mapping[str, Any] = {**NO_POLICY, "eviction_hard": {"memory.available": "100Mi"}}
KUBE: Mapping[str, Any] = {"kube_reserved": {"cpu": "500m", "memory": "1Gi"}}
SYSTEM: Mapping[str, Any] = {"system_reserved": {"cpu": "250m", "memory": "512Mi"}}


def counted(config: Mapping[str, Any], minor: int, memory: int = 64 * GIB) -> Mapping[str, int]:
    setting = Setting(minor=minor, gates={}, config=config, machine=replace(two_nodes(), memory_bytes=memory))
    allocatable = setting.node(fit=True).allocatable
    assert allocatable is not None
    return whole_node(setting.machine, setting.kubelet.config, allocatable, behaviours(minor))


@pytest.mark.parametrize(
    ("reserved", "cpu", "memory"),
    [
        ({}, 12_000, 64 * GIB),
        (KUBE, 11_500, 63 * GIB),
        (SYSTEM, 11_750, 64 * GIB - 512 * MIB),
        ({**KUBE, **SYSTEM}, 11_250, 63 * GIB - 512 * MIB),
    ],
)
@pytest.mark.parametrize(("minor", "eviction"), [(33, 100 * MIB), (34, 0), (35, 0)])
def test_what_is_reserved_is_not_for_pods(
    reserved: Mapping[str, Any], cpu: int, memory: int, minor: int, eviction: int
) -> None:
    """Up to 1.33, eviction thresholds are subtracted as well."""
    found = counted({**EVICTION, **reserved}, minor)
    assert {name: found[name] for name in ("cpu", "memory")} == {"cpu": cpu, "memory": memory - eviction}


def test_unknown_memory_is_not_compared() -> None:
    assert counted(NO_POLICY, 34, memory=0) == {"cpu": 12_000}
