"""A pod restored by a kubelet of 1.38: what is kept from its state file, and what is unusable."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.pod_level import CPUBubble, allocate_bubble, give_back, restore_bubble, usable_bubble
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.outcome import FaultKind, KubeletFault
from tests.support.changed import changed
from tests.support.pod_bubbles import policy, request, shown
from tests.support.topologies import mask, regular

BUBBLE = "1-3,5-7"


def left_by(bubble: str, default: str, **containers: str) -> CPUManagerState:
    """Return the state that another kubelet has left."""
    assignments = {"pod": {name: mask(cpus) for name, cpus in containers.items()}} if containers else {}
    return changed(
        CPUManagerState(mask(default)),
        assignments=assignments,
        pod_entries={"pod": mask(bubble)},
        baselines={uid: dict(given) for uid, given in assignments.items()},
    )


def written(state: CPUManagerState) -> tuple[str, str, dict[str, str]]:
    """Show the shared pool, what the pod has as a whole, and what its containers have."""
    entries = state.assignments.get("pod", {})
    bubble = str(CPUSet(state.pod_entries.get("pod", 0)))
    return str(CPUSet(state.default)), bubble, {name: str(CPUSet(cpus)) for name, cpus in entries.items()}


@pytest.mark.parametrize(
    ("kept", "missing"),
    [
        ({"s1": "7"}, {"a2": "1,5", "a0": "2-3,6"}),
        ({"s1": "7", "a2": "2,5"}, {"a0": "1,3,6"}),
        ({"s1": "7", "a2": "2,5", "a0": "1"}, {}),
        ({}, {"s1": "1", "a2": "2,6", "a0": "3,5,7"}),
    ],
)
def test_missing_slices_are_cut_from_what_others_leave(kept: dict[str, str], missing: dict[str, str]) -> None:
    """This holds even if no picker would choose the CPUs that are kept."""
    state = left_by(BUBBLE, "0,4", **kept)
    bubble = restore_bubble(policy(), state, request(6, "s1 a2 a0"))
    assert shown(bubble) == kept | missing
    assert written(state) == ("0,4", BUBBLE, kept | missing)
    assert isinstance(bubble, CPUBubble)
    picked = {name: [str(CPUSet(step.cpus)) for step in steps] for name, steps in bubble.steps.items()}
    assert picked == {name: [cpus] for name, cpus in missing.items() if name != "a0"}


def test_only_kept_slices_of_long_running_containers_are_set_aside() -> None:
    """An ordinary init container has ended, and a shared container has no slice."""
    kept = {"i0": BUBBLE, "i3": "5-7", "s0": "1", "s1": "7"}
    state = left_by(BUBBLE, "0,4", **kept)
    bubble = restore_bubble(policy(), state, request(6, "i0 i3 s0 s1 a2 a0"))
    assert shown(bubble) == {**kept, "a2": "1,5", "a0": "2-3,6"}


@pytest.mark.parametrize(
    ("bubble", "default", "kept"),
    [
        (BUBBLE, "0,3-4", {"s1": "1"}),
        ("2-3,5-7", "0,4,6", {}),
        (BUBBLE, "0,4", {"a0": "3,5,7"}),
    ],
)
def test_inconsistent_cpus_are_returned_to_the_pool(bubble: str, default: str, kept: dict[str, str]) -> None:
    """CPUs are also in the node's pool, or a container cannot have been placed before the others."""
    state = left_by(bubble, default, **kept)
    assert usable_bubble(state, request(4, "s1 a2 a0").pod) is None
    again = CPUManagerState(mask(bubble) | mask(default))
    wanted = allocate_bubble(policy(), again, request(4, "s1 a2 a0"))
    assert shown(restore_bubble(policy(), state, request(4, "s1 a2 a0"))) == shown(wanted)
    assert state == again


def test_a_pod_without_cpus_returns_nothing() -> None:
    state = left_by(BUBBLE, "0,4", a0="3")
    give_back(state, "other")
    assert state == left_by(BUBBLE, "0,4", a0="3")
    assert usable_bubble(state, request(6, "a0").pod) == mask(BUBBLE)
    give_back(state, "pod")
    assert state == CPUManagerState(mask("0-7"))
    assert usable_bubble(state, request(6, "a0").pod) is None


def test_a_pod_that_makes_the_kubelet_hang() -> None:
    """As for containers, 54 CPUs whose whole cores cannot be divided evenly make it loop forever."""
    endless = policy(
        regular(sockets=2, nodes=2, cores=8, threads=2),
        reserved="0,8,16,24",
        full_pcpus_only=True,
        distribute_cpus_across_numa=True,
    )
    for allocate in (allocate_bubble, restore_bubble):
        fault = allocate(endless, endless.fresh_state(), request(54, "a1"))
        assert isinstance(fault, KubeletFault)
        assert fault.kind is FaultKind.ENDLESS_LOOP
