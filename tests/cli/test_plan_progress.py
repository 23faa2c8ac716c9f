"""Whoever plans thousands of pods sees how far it is."""

from __future__ import annotations

from cpuctl.inputs.configuration import KubeletWords
from cpuctl.operations.plan import Planner, PlanWishes
from cpuctl.operations.planning import PlanningWords, read_planning


def test_every_pod_moves_the_bar() -> None:
    words = PlanningWords(
        filenames=(),
        templates=("web=1/1,1Gi x3",),
        machine="synthetic:1s1n4c1t",
        kubelet=KubeletWords(version="1.36"),
        state="",
        pods="",
    )
    planning = read_planning(words, pods_needed=True)
    told: list[tuple[str, int, int]] = []
    Planner(planning, PlanWishes(), lambda *step: told.append(step)).plan(planning.kubelet, planning.sources)
    assert told == [("admitting pods", done, 3) for done in range(3)]
