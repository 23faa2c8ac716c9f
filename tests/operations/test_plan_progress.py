"""Planning thousands of pods shows its progress."""

from __future__ import annotations

from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.operations.plan import Planner, PlanOptions
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning


def test_every_pod_moves_the_bar() -> None:
    words = PlanningInputs(
        filenames=(),
        templates=("web=1/1,1Gi x3",),
        machine="synthetic:1s1n4c1t",
        kubelet=KubeletInputs(version="1.36"),
        state="",
        pods="",
    )
    planning = read_planning(words, pods_needed=True)
    reported: list[tuple[str, int, int]] = []
    Planner(planning, PlanOptions(), lambda *step: reported.append(step)).plan(
        planning.kubelet, planning.sources
    )
    assert reported == [("admitting pods", done, 3) for done in range(3)]
