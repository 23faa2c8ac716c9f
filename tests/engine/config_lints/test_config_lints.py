"""Remarks on whole configurations: none where nothing is wrong, otherwise the worst first."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD
from tests.support.config_lints import Told, aligned, static

CLEAN = [
    Told(),
    Told(config=static()),
    Told(config=static({"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"})),
    Told(config=static({"align-by-socket": "true"}, **aligned())),
    Told(config=aligned({"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"})),
    Told(config=aligned({"max-allowable-numa-nodes": "8"})),
    Told(config={"eviction_hard": DEFAULT_EVICTION_HARD}),
    Told(config={"feature_gates": {"AllAlpha": True, "MemoryQoS": True}}),
    Told(config={"reserved_system_cpus": "0"}),
]


@pytest.mark.parametrize("told", CLEAN, ids=lambda told: str(dict(told.config)))
def test_nothing_is_said_where_nothing_is_wrong(told: Told) -> None:
    assert told.lints() == []


def test_the_worst_comes_first() -> None:
    config = static({"full-pcpus-only": "false", "align-by-socket": "x"}, reserved_memory=(), **aligned())
    lints = Told(config={**config, "topology_manager_scope": "Pod", "max_pods": -1}).lints()
    assert [lint.severity for lint in lints] == [Severity.ERROR, Severity.ERROR, Severity.NOTE]
