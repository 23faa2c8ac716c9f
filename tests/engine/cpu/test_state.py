"""The CPU Manager's state: which CPUs are held, how they are returned, and what a restart accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu import state as state_module
from cpuctl.engine.cpu.state import CPUManagerState, validate
from cpuctl.engine.masks import CPUMask
from cpuctl.pods.model import ContainerKind
from cpuctl.records import replace
from tests.support.changed import changed
from tests.support.topologies import mask

INIT, APP = ContainerKind.INIT, ContainerKind.APP


def made(default: str, **assigned: str) -> CPUManagerState:
    """Assign CPUs to the containers of pod ``pod``, as a kubelet does."""
    state = CPUManagerState(mask(default))
    for name, cpus in assigned.items():
        state.assign("pod", name, mask(cpus))
    return state


def filled() -> CPUManagerState:
    state = made("0-1", main="2-3")
    state.pod_entries["pod"] = mask("2-5")
    state.postpone("pod", "main", mask("2"))
    state.remember_reuse("pod", INIT, mask("4"))
    return state


def test_a_copy_is_independent_in_every_part() -> None:
    state = filled()
    copy = state.copy()
    assert copy == state
    copy.assign("pod", "other", mask("4"))
    copy.pod_entries["other"] = mask("6")
    copy.postpone("pod", "other", mask("4"))
    assert state == filled()
    assert copy.baselines == {"pod": {"main": mask("2-3"), "other": mask("4")}}


def test_what_pods_hold() -> None:
    state = made("0", main="2-3")
    state.pod_entries = {"pod": mask("3-4"), "whole": mask("5")}
    assert (state.held_by("pod"), state.held_by("whole"), state.held_by("none")) == (
        mask("2-4"),
        mask("5"),
        0,
    )
    assert state.owners == {"pod", "whole"}
    assert state.owned == mask("0,2-5")


def test_the_first_cpus_of_a_container_are_its_baseline() -> None:
    state = made("0-7")
    assert (state.assigned("pod", "main"), state.baseline("pod", "main")) == (None, None)
    state.assign("pod", "main", mask("2-3"))
    state.assign("pod", "main", mask("2-5"))
    assert (state.assigned("pod", "main"), state.baseline("pod", "main")) == (mask("2-5"), mask("2-3"))


# CPUs given up after a delay


def test_a_container_gives_up_when_its_delay_has_passed() -> None:
    state = made("0", main="2-5", other="6-7")
    state.postpone("pod", "main", mask("2-4"))
    state.postpone("pod", "main", mask("2-3"))
    state.postpone("pod", "other", mask("6"))
    assert state.settle("pod", "main") == mask("4-5")
    assert state.default == mask("0,4-5")
    assert state.assignments == {"pod": {"main": mask("2-3"), "other": mask("6-7")}}
    assert (state.awaited("pod", "main"), state.awaited("pod", "other")) == (None, mask("6"))


def test_a_container_that_waits_for_nothing_gives_up_nothing() -> None:
    state = made("0", main="2-5")
    assert state.settle("pod", "main") == 0
    assert state == made("0", main="2-5")


def test_a_removed_container_gives_up_nothing() -> None:
    state = made("0")
    state.postpone("pod", "main", mask("2"))
    assert state.settle("pod", "main") == 0
    assert state == made("0")


def test_a_cancelled_reduction_is_forgotten() -> None:
    state = made("0", main="2-5", other="6-7")
    state.postpone("pod", "main", mask("2"))
    state.postpone("pod", "other", mask("6"))
    state.call_off("pod", "third")
    state.call_off("else", "main")
    assert state.pending == {"pod": {"main": mask("2"), "other": mask("6")}}
    state.call_off("pod", "main")
    assert state.pending == {"pod": {"other": mask("6")}}
    state.call_off("pod", "other")
    assert state.pending == {}


# Returned CPUs


def test_cpus_that_another_container_of_the_pod_uses_stay_with_it() -> None:
    """An init container's CPUs were reused."""
    state = made("0", first="2-5", main="2-3")
    assert state.remove_container("pod", "first") == mask("4-5")
    assert state == made("0,4-5", main="2-3")
    assert state.remove_container("pod", "main") == mask("2-3")
    assert state == made("0,2-5")


def test_a_container_without_cpus_returns_nothing() -> None:
    state = made("0", main="2-3")
    assert (state.remove_container("pod", "other"), state.remove_container("else", "main")) == (0, 0)
    assert state == made("0", main="2-3")


def test_a_pod_returns_its_cpus_with_its_last_container() -> None:
    state = made("0", main="2-3", other="4")
    state.pod_entries["pod"] = mask("2-5")
    assert state.remove_container("pod", "main") == 0
    assert (state.default, state.assignments) == (mask("0"), {"pod": {"other": mask("4")}})
    assert state.remove_container("pod", "other") == mask("2-5")
    assert state == made("0,2-5")


def test_a_container_without_a_baseline_returns_its_cpus() -> None:
    """A state file may have baselines for only some containers."""
    assigned = {"pod": {"main": mask("2"), "other": mask("3")}, "else": {"a": mask("4"), "b": mask("5")}}
    state = changed(CPUManagerState(mask("0")), assignments=assigned, baselines={"pod": {"other": mask("3")}})
    assert (state.remove_container("pod", "main"), state.remove_container("else", "a")) == (0b100, 0b10000)
    assert state.assignments == {"pod": {"other": mask("3")}, "else": {"b": mask("5")}}
    assert state.baselines == {"pod": {"other": mask("3")}}
    assert state.remove_container("else", "b") == mask("5")
    assert state == made("0,2,4-5", other="3")


def test_a_removed_container_no_longer_waits() -> None:
    state = made("0", main="2-5", other="6")
    state.postpone("pod", "main", mask("2"))
    state.remove_container("pod", "main")
    assert state == made("0,2-5", other="6")


def test_all_but_the_kept_containers_are_released() -> None:
    state = made("0", main="2-3", other="4")
    state.assign("else", "main", mask("5"))
    assert state.keep_only({"pod": ["main", "third"]}) == mask("4-5")
    assert state == made("0,4-5", main="2-3")


@pytest.mark.parametrize("uid", ["", "pod"])
def test_at_first_nothing_is_lent(uid: str) -> None:
    """A manifest may have no UID."""
    assert made("0-7").reusable_for(uid) == 0


@pytest.mark.parametrize(("kind", "want"), [(INIT, "2-4"), (APP, "2")])
def test_init_containers_add_to_what_is_lent_and_others_take_from_it(kind: ContainerKind, want: str) -> None:
    state = made("0")
    state.remember_reuse("pod", INIT, mask("2-3"))
    state.remember_reuse("pod", kind, mask("3-4"))
    assert state.reusable_for("pod") == mask(want)
    state.remember_reuse("else", kind, mask("6"))
    assert state.reusable_for("pod") == 0


# The state file

FILE = CPUStateFile(
    policy_name="static",
    default_cpu_set=CPUSet.parse("0-1"),
    entries={"pod": {"main": CPUSet.parse("2-3")}},
    pod_entries={"pod": CPUSet.parse("2-5")},
    baselines={"pod": {"main": CPUSet.parse("2")}},
)


def test_a_state_file_is_read_as_it_was_written() -> None:
    state = CPUManagerState.of_file(FILE)
    assert state == changed(
        CPUManagerState(mask("0-1")),
        assignments={"pod": {"main": mask("2-3")}},
        baselines={"pod": {"main": mask("2")}},
        pod_entries={"pod": mask("2-5")},
    )
    assert state.as_file("static", pod_level=True, baselines=True) == FILE
    assert state.as_file("static", pod_level=True) == replace(FILE, baselines={})
    assert state.as_file("static", baselines=True) == replace(FILE, pod_entries={})


def test_without_baselines_in_the_file_the_assignment_is_the_baseline() -> None:
    state = CPUManagerState.of_file(replace(FILE, baselines={}))
    assert state.baselines == state.assignments


@dataclass(frozen=True)
class Saved:
    """A saved state on a machine of eight CPUs, CPU 0 reserved, and what is wrong with it."""

    name: str
    default: str
    error: str = ""
    assigned: dict[str, str] = field(default_factory=dict)
    strict: bool = False


OVERLAP = 'pod: pod, container: {} cpuset: "{}" overlaps with default cpuset "{}"'
OTHERS = 'current set of available CPUs "{}" doesn\'t match with CPUs in state "{}"'


@pytest.mark.parametrize(
    "saved",
    [
        Saved("fine", "0-3,6-7", assigned={"main": "4-5"}),
        Saved("fine, strict", "1-3,6-7", assigned={"main": "4-5"}, strict=True),
        Saved("nothing saved yet", ""),
        Saved("nothing saved yet, strict", "", strict=True),
        Saved("an empty pool", "", "default cpuset cannot be empty", {"main": "0-7"}),
        Saved(
            "reserved CPUs in a strict pool",
            "0-7",
            'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"',
            strict=True,
        ),
        Saved(
            "reserved CPUs missing",
            "1-7",
            'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"',
        ),
        Saved("shared and exclusive", "0-7", OVERLAP.format("b", "4-5", "0-7"), {"c": "6-7", "b": "4-5"}),
        Saved("a CPU missing", "0-6", OTHERS.format("0-7", "0-6")),
        Saved("a CPU too many", "0-7", OTHERS.format("0-7", "0-8"), {"main": "8"}),
        Saved("a CPU missing, strict", "1-6", OTHERS.format("1-7", "1-6"), strict=True),
    ],
    ids=lambda saved: saved.name,
)
def test_what_a_restart_accepts(saved: Saved) -> None:
    state = made(saved.default, **saved.assigned)
    assert validate(state, machine=mask("0-7"), reserved=mask("0"), strict=saved.strict) == saved.error


@pytest.mark.parametrize(("strict", "pool"), [(False, "0-7"), (True, "1-7")])
def test_an_empty_state_becomes_a_fresh_one(strict: bool, pool: str) -> None:
    state = made("")
    validate(state, machine=mask("0-7"), reserved=mask("0"), strict=strict)
    assert state == made(pool)


def test_a_container_still_waits_after_another_of_its_pod_ends() -> None:
    state = CPUManagerState(CPUMask(0))
    for name, cpus in (("ends", 0b0011), ("waits", 0b1100)):
        state.assign("p", name, CPUMask(cpus))
        state.postpone("p", name, CPUMask(cpus & 0b0101))
    state.remove_container("p", "ends")
    assert (state.awaited("p", "ends"), state.awaited("p", "waits")) == (None, 0b0100)


def test_all_containers_of_a_removed_pod_are_released() -> None:
    state = made("0-1", one="2-3", two="4-5")
    assert state.keep_only({}) == mask("2-5")
    assert (state.default, state.assignments, state.baselines) == (mask("0-5"), {}, {})


def test_the_cpus_of_all_containers_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full node has thousands of holders, and needs the result whenever a pod is added or removed."""
    joined = []
    join = state_module._join

    def counted(assignments: Mapping[str, Mapping[str, CPUMask]]) -> Any:
        joined.append(len(assignments))
        return join(assignments)

    monkeypatch.setattr(state_module, "_join", counted)
    state = CPUManagerState(CPUMask(CPUMask(1 << 4096) - 1))
    for number in range(1000):
        state.assign(f"pod-{number}", "main", CPUMask(1 << number))
        assert state.exclusive == (1 << number + 1) - 1
    for number in range(0, 1000, 2):
        state.remove_container(f"pod-{number}", "main")
    assert state.exclusive == sum(1 << number for number in range(1, 1000, 2))
    assert len(joined) == 1


_HELD = st.integers(0, 255)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.none() | _HELD)))
def test_the_joined_cpus_are_those_that_each_container_holds(
    steps: list[tuple[str, str, int | None]],
) -> None:
    """This also holds if several containers hold the same CPUs, or one gets others."""
    state = CPUManagerState(CPUMask(0))
    for uid, container, cpus in steps:
        if cpus is None:
            state.remove_container(uid, container)
        elif cpus == 255:
            state.forget(uid)
        else:
            state.assign(uid, container, CPUMask(cpus))
        held = [cpus for each in state.assignments.values() for cpus in each.values()]
        assert state.exclusive == reduce(or_, held, 0)
        assert state.copy() == state
        assert state.copy().exclusive == state.exclusive
