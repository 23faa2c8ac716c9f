"""Operations as called from Python: values in, values out, and nothing printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.resize.outcome import ResizeResult
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.operations.explain import Explained, choose_explained, explain_pod
from cpuctl.operations.plan import Planner
from cpuctl.operations.plan_inputs import PlanningInputs, read_planning
from cpuctl.operations.resize import Resizes, resize_pods
from cpuctl.operations.resize_inputs import ResizeInputs, parse_set

STATIC = KubeletInputs(arguments="--cpu-manager-policy=static --reserved-cpus=0", version="1.36")
EIGHT = "synthetic:1s1n8c1t"


def test_a_pod_is_planned(capfd: pytest.CaptureFixture[str]) -> None:
    planning = read_planning(PlanningInputs((), ["web=2/2,1Gi"], EIGHT, STATIC), pods_needed=True)
    plan = Planner(planning).plan(planning.kubelet, planning.sources)
    assert isinstance(plan.node, Node)
    [admission] = plan.admissions
    assert isinstance(admission.verdict, Admitted)
    [held] = plan.node.state.assignments.values()
    assert {name: str(CPUSet(mask)) for name, mask in held.items()} == {"web": "1-2"}
    assert capfd.readouterr() == ("", "")


def test_a_refused_pod_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    planning = read_planning(
        PlanningInputs((), ["web=2/2,1Gi", "big=6/6,1Gi"], EIGHT, STATIC), pods_needed=True
    )
    plan = Planner(planning).plan(planning.kubelet, planning.sources)
    assert plan.refused is not None
    found = explain_pod(planning, choose_explained(planning, plan.refused.name), lambda *_step: None)
    assert isinstance(found, Explained)
    assert (found.name, found.admission.verdict) == ("default/big", plan.admissions[1].verdict)
    assert capfd.readouterr() == ("", "")


def test_a_pod_is_resized(capfd: pytest.CaptureFixture[str]) -> None:
    planning = read_planning(
        PlanningInputs((), ["web=2/2,1Gi"], EIGHT, KubeletInputs(version="1.36")), pods_needed=True
    )
    resizes = resize_pods(planning, ResizeInputs(amounts=[parse_set("web:cpu=3")]), Semantics.KEP)
    assert isinstance(resizes, Resizes)
    assert [each.outcome.result for each in resizes.done] == [ResizeResult.ADMITTED]
    assert capfd.readouterr() == ("", "")


def test_unreadable_input_is_an_error_with_a_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = KubeletInputs(config=str(tmp_path / "kubelet.yaml"))
    with pytest.raises(InputError, match="no such file") as raised:
        read_planning(PlanningInputs((), ["web=1/1,1Gi"], EIGHT, missing), pods_needed=True)
    assert raised.value.where == str(tmp_path / "kubelet.yaml")
    assert capfd.readouterr() == ("", "")
