"""Plan, publish, read, filter on clean recorded machines: differences from kubelets' decisions have names.

Run only where the recordings are; every setting of kubelets on every machine with HYPOTHESIS_PROFILE=ci.
"""

from __future__ import annotations

import os

import pytest

from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.inputs.pods import rules_of_pods
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import Planning
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.stored import stored_pod
from tests.machines.test_truth import MACHINES, NAMES, pytestmark, truths
from tests.scheduler.round_trip import SETTINGS, Setting, cases, explanations, read_machine

__all__ = ["pytestmark"]

CLEAN = [name for name in NAMES if truths().get(name, {}).get("clean")] if NAMES else []
ALL = os.environ.get("HYPOTHESIS_PROFILE", "dev") != "dev"


def settings_of(number: int) -> tuple[Setting, ...]:
    """Return two settings of kubelets that filter, and another one for each machine in turn."""
    return SETTINGS if ALL else (*SETTINGS[:2], SETTINGS[2 + number % (len(SETTINGS) - 2)])


def serves(planning: Planning) -> bool:
    """Return whether a kubelet starts there, and does not crash with the first pod."""
    kubelet = SETTINGS[0].kubelet(planning)
    node = planning.start(kubelet, Sources())
    first = stored_pod(Pod("first", (Container("a"),), uid="first"), rules_of_pods(kubelet))
    return isinstance(node, Node) and isinstance(node.admit(first).verdict, Admitted)


def test_there_are_clean_machines() -> None:
    assert len(CLEAN) > 40


@pytest.mark.parametrize("name", CLEAN)
def test_differences_on_a_recorded_machine_have_names(name: str) -> None:
    planning = read_machine(str(MACHINES / f"{name}.tar.gz"))
    found = list(cases(name, planning, settings_of(CLEAN.index(name))))
    assert [str(case) for case in found if not case.agrees and not explanations(case)] == []
    assert found or not serves(planning)
