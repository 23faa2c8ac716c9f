"""Containers that cannot keep their CPUs: which they get instead, and when there are none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.checkpoints.model import FROM_NODE, CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    ActionKind,
    CPURules,
    Repaired,
    repair_cpu_state,
)
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from tests.support.topologies import CoreAt, regular, topology

FOUR_NODES = regular(sockets=2, nodes=2, cores=4, threads=2)
"""Node n has cores 4n to 4n+3; the second thread of a core is 16 further on."""


def repair(
    entries: dict[str, dict[str, str]],
    *,
    reserved: str = "0,16",
    machine: CPUTopology = FOUR_NODES,
    pods: dict[str, str] | None = None,
    options: Mapping[str, bool] | None = None,
) -> Repaired[CPUStateFile] | NotRepaired:
    kept = CPUSet.parse(reserved)
    policy = StaticPolicy.construct(
        machine, CPUPolicyOptions(**(options or {})), CPUReservation(len(kept), kept), behaviours(36)
    )
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=kept,
        entries={
            uid: {name: CPUSet.parse(cpus) for name, cpus in containers.items()}
            for uid, containers in entries.items()
        },
        pod_entries={uid: CPUSet.parse(cpus) for uid, cpus in (pods or {}).items()},
    )
    return repair_cpu_state(state, CPURules(policy=policy, keeps_pods=True), UNKNOWN_OWNERS)


def held(result: Repaired[CPUStateFile] | NotRepaired) -> dict[str, str]:
    assert isinstance(result, Repaired), result
    return {
        f"{uid}/{name}": str(cpus)
        for uid, containers in result.state.entries.items()
        for name, cpus in containers.items()
    }


@pytest.mark.parametrize(
    ("reserved", "before", "after"),
    [
        ("4,20", "4-5,20-21", "5-6,21-22"),
        ("4,20", "5-6,21-22", "5-6,21-22"),
        ("4", "4-5,20-21", "5-6,20-21"),
        ("4-7,20-23", "4-5,20-21", "0-1,16-17"),
    ],
    ids=["a whole core for a whole core", "nothing to do", "one thread for one", "a full node"],
)
def test_new_cpus_are_near_the_old_ones(reserved: str, before: str, after: str) -> None:
    assert held(repair({"p": {"c": before}}, reserved=reserved)) == {"p/c": after}


def test_each_container_gets_cpus_near_its_own() -> None:
    """One container is on the second NUMA node, the other on the fourth."""
    result = repair({"p": {"a": "4-5", "b": "12-13"}}, reserved="5,13")
    assert held(result) == {"p/a": "4,20", "p/b": "12,28"}


def test_shared_cpus_move_together() -> None:
    result = repair(
        {"p": {"init": "4-5", "app": "4-5,20-21", "rest": "6,22"}}, reserved="4", pods={"p": "4-6,20-23"}
    )
    assert held(result) == {"p/init": "5,7", "p/app": "5,7,20-21", "p/rest": "6,22"}
    assert isinstance(result, Repaired)
    assert str(result.state.pod_entries["p"]) == "5-7,20-23"
    moved = [action.container for action in result.actions if action.did is ActionKind.MOVED]
    assert moved == ["app", "init", ""]


def test_the_first_of_two_pods_keeps_what_both_hold() -> None:
    assert held(repair({"p": {"c": "4-5"}, "q": {"c": "5-6"}})) == {"p/c": "4-5", "q/c": "6,22"}


def test_a_pod_holds_at_least_what_its_containers_hold() -> None:
    result = repair({"p": {"c": "4-5"}}, pods={"p": "4"})
    assert isinstance(result, Repaired)
    assert str(result.state.pod_entries["p"]) == "4-5"


UNEVEN = topology(
    [CoreAt(cpus, numa_node=1) for cpus in ((0, 1), (2,), (3,))]
    + [CoreAt(cpus, numa_node=0) for cpus in ((4, 5), (6,), (7,))]
)
"""Cores have one CPU on average, rounded down."""


@pytest.mark.parametrize(
    ("before", "after"),
    [("40-41", "0,2"), ("7,40-41", "4,6-7"), ("7,40-42", "0,4,6-7")],
    ids=["anywhere", "near the one that is kept", "more than there are near it"],
)
def test_held_cpus_of_uneven_cores_are_not_assigned_again(before: str, after: str) -> None:
    """A kubelet would take a core with one free CPU for a free core (kubernetes issue 124066)."""
    result = repair({"p": {"c": before}, "q": {"c": "1,5"}}, reserved="3", machine=UNEVEN)
    assert held(result) == {"p/c": after, "q/c": "1,5"}


def test_new_cpus_are_near_the_old_ones_even_if_a_kubelet_would_fill_another_node() -> None:
    """The third NUMA node has fewer CPUs left."""
    result = repair({"p": {"c": "4-5,20-21"}, "q": {"c": "8-10,24-26"}}, reserved="4,20")
    assert held(result) == {"p/c": "5-6,21-22", "q/c": "8-10,24-26"}


def test_new_cpus_are_near_those_of_the_container_not_of_the_pod() -> None:
    """Each container keeps one CPU and gets the second thread of its core, though the pod has both."""
    result = repair({"p": {"a": "5,12", "b": "4,13"}}, reserved="5,13", pods={"p": "4-5,12-13"})
    assert held(result) == {"p/a": "12,28", "p/b": "4,20"}


def test_the_last_free_cpu_is_enough() -> None:
    assert held(repair({"p": {"c": "1-14,17-31,40"}})) == {"p/c": "1-15,17-31"}


EMPTY_POOL = (
    "pods hold all CPUs that are not reserved: with strict-cpu-reservation, the kubelet rejects a state with "
    "an empty shared pool (kubernetes issue 141196)"
)


@pytest.mark.parametrize(
    ("entries", "options", "reason"),
    [
        (
            {"p": {"c": "1-15,17-31"}, "q": {"c": "40"}},
            {},
            "q/c cannot keep CPU 40; other CPUs free for exclusive use: 0",
        ),
        (
            {"p": {"c": "1-14,17-30"}, "q": {"c": "40-42"}},
            {},
            "q/c cannot keep CPUs 40-42; other CPUs free for exclusive use: 2",
        ),
        (
            {"p": {"c": "1-15,17-31"}},
            {"strict_cpu_reservation": True},
            EMPTY_POOL,
        ),
    ],
)
def test_the_reason_is_reported_if_there_is_no_repair(
    entries: dict[str, dict[str, str]], options: dict[str, bool], reason: str
) -> None:
    result = repair(entries, options=options)
    advice = (
        f"remove a pod that has exclusive CPUs {FROM_NODE}, list its pods again, then "
        "cpuctl checkpoint repair --pods FILE"
    )
    assert result == NotRepaired(reason, advice)
