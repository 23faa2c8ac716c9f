"""Findings on whole configurations: none if nothing is wrong, otherwise the worst first."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Severity
from cpuctl.kubelet.config import DEFAULT_EVICTION_HARD
from tests.support.config_lints import Reported, aligned, static

CLEAN = [
    Reported(),
    Reported(config=static()),
    Reported(config=static({"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"})),
    Reported(config=static({"align-by-socket": "true"}, **aligned())),
    Reported(config=aligned({"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"})),
    Reported(config=aligned({"max-allowable-numa-nodes": "8"})),
    Reported(config={"eviction_hard": DEFAULT_EVICTION_HARD}),
    Reported(config={"feature_gates": {"AllAlpha": True, "MemoryQoS": True}}),
    Reported(config={"reserved_system_cpus": "0"}),
]


@pytest.mark.parametrize("reported", CLEAN, ids=lambda reported: str(dict(reported.config)))
def test_a_correct_configuration_has_no_findings(reported: Reported) -> None:
    assert reported.lints() == []


def test_the_worst_comes_first() -> None:
    config = static({"full-pcpus-only": "false", "align-by-socket": "x"}, reserved_memory=(), **aligned())
    lints = Reported(config={**config, "topology_manager_scope": "Pod", "max_pods": -1}).lints()
    assert [lint.severity for lint in lints] == [Severity.ERROR, Severity.ERROR, Severity.NOTE]
