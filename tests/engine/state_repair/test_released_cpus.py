"""CPUs that a repair takes from containers that hold too many, and pods that it moves as a whole."""

from __future__ import annotations

import pytest

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.engine.state_repair import ActionKind, CPURules, PlacedPod, Repaired, repair_cpu_state
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from tests.support.pods import app
from tests.support.state_files import cpus
from tests.support.topologies import regular
from tests.support.verifying import pod

POLICY = StaticPolicy.construct(
    regular(cores=16), CPUPolicyOptions(), CPUReservation(1, cpus("0")), behaviours(36)
)
RUNNING = Owners.of([pod("p", app(name="a"), app(name="b")), pod("q", app(name="a"))])
Held = dict[str, dict[str, str]]


def repaired(
    held: Held, requests: dict[str, int], *, promised: str = "", placed: dict[str, PlacedPod] | None = None
) -> Repaired[CPUStateFile]:
    """Repair a state in which containers request CPUs by their pod; *promised* is the baseline of p's a."""
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=cpus("0"),
        entries={uid: {name: cpus(text) for name, text in each.items()} for uid, each in held.items()},
        baselines={"p": {"a": cpus(promised)}} if promised else {},
    )
    rules = CPURules(policy=POLICY, keeps_baselines=True, due=lambda owner, _: requests[owner.uid])
    result = repair_cpu_state(state, rules, RUNNING, placed or {})
    assert isinstance(result, Repaired)
    assert repair_cpu_state(result.state, rules, RUNNING) == Repaired(result.state)
    return result


def texts(result: Repaired[CPUStateFile]) -> Held:
    return {
        uid: {name: str(cpus) for name, cpus in each.items()} for uid, each in result.state.entries.items()
    }


@pytest.mark.parametrize(
    ("held", "after"),
    [
        pytest.param("5-7", {"p": {"a": "6-7"}, "q": {"a": "5,8"}}, id="the only one"),
        pytest.param("0,5-6", {"p": {"a": "1,6"}, "q": {"a": "5,8"}}, id="rather than a reserved one"),
        pytest.param("5-6", {"p": {"a": "5-6"}, "q": {"a": "1,8"}}, id="none if none is too many"),
    ],
)
def test_what_another_pod_holds_is_released_first(held: str, after: Held) -> None:
    """Otherwise that pod, which holds what it requests, would have to move."""
    result = repaired({"p": {"a": held}, "q": {"a": "5,8"}}, {"p": 2, "q": 2})
    assert texts(result) == after


def test_a_container_that_requests_no_cpus_loses_its_entry() -> None:
    result = repaired({"p": {"a": "5"}, "q": {"a": "5,8"}}, {"p": 0, "q": 2})
    assert texts(result) == {"q": {"a": "5,8"}}
    assert [(each.did, each.before, each.after) for each in result.actions[:1]] == [
        (ActionKind.RELEASED, "5", "")
    ]
    assert result.actions[0].reason == (
        "CPU 5 is also held by another pod, and the container requests no exclusive CPUs"
    )


def test_nothing_is_released_that_another_container_of_the_pod_keeps() -> None:
    held = {"p": {"a": "2-5", "b": "2-3"}, "q": {"a": "2-3"}}
    assert texts(repaired(held, {"p": 1, "q": 2}))["p"]["a"] == "2-5"


@pytest.mark.parametrize(("contested", "after"), [("1,9", "1-2"), ("4,9", "1-2"), ("1-2", "3-4")])
def test_a_baseline_keeps_its_size(contested: str, after: str) -> None:
    """A container that may shrink to two CPUs may still do so."""
    requests = 2 if contested == "1-2" else 3
    result = repaired({"p": {"a": "1-4"}, "q": {"a": contested}}, {"p": requests, "q": 2}, promised="1-2")
    baseline = result.state.baselines["p"]["a"]
    assert len(baseline) == 2
    assert baseline <= result.state.entries["p"]["a"]
    if contested == "4,9":
        assert str(baseline) == after


@pytest.mark.parametrize(
    ("new", "is_rejected", "why"),
    [
        ("8-10", True, "a restarted kubelet would reject the pod if it kept its other CPUs"),
        ("8-10", False, "it makes room for a pod that a restarted kubelet would reject otherwise"),
        ("1-3,8", True, ""),
    ],
)
def test_a_pod_that_moves_as_a_whole_says_why(new: str, is_rejected: bool, why: str) -> None:
    placed = {"p": PlacedPod({"a": cpus(new)}, is_rejected)}
    result = repaired({"p": {"a": "1-3"}}, {"p": 3}, promised="2", placed=placed)
    assert texts(result) == {"p": {"a": new}}
    assert [each.reason for each in result.actions if each.did is ActionKind.MOVED] == [why]
    assert len(result.state.baselines["p"]["a"]) == 1
