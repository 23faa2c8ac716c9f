"""CPUs of a pod as a whole: slices, the pool, rejections, and restored pods (KEP-5526)."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.pod_level import allocate_bubble, restore_bubble, usable_bubble
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.outcome import Rejected
from tests.support.pod_bubbles import policy, request, shown


def test_a_pod_is_divided_as_the_kubelet_divides_it() -> None:
    """In the verified flow of the specification, shared containers get what sidecars and apps leave."""
    static = policy()
    state = static.fresh_state()
    bubble = allocate_bubble(static, state, request(6, "i0 s1 i3 i0b a2 s0 a0 a0b"))
    assert shown(bubble) == {
        "i0": "1-3,5-7",
        "s1": "1",
        "i3": "2,5-6",
        "i0b": "2-3,5-7",
        "s0": "3,5,7",
        "a2": "2,6",
        "a0": "3,5,7",
        "a0b": "3,5,7",
    }
    assert str(CPUSet(state.default)) == "0,4"
    assert str(CPUSet(state.pod_entries["pod"])) == "1-3,5-7"


@pytest.mark.parametrize(
    ("total", "words", "message"),
    [
        (2, "s2 i0 a0", "pod rejected, pod has shared init containers but no cpus available for them"),
        (
            3,
            "a2 s1 a0",
            (
                "pod rejected, sum of exclusive container cpu requests equals pod budget, "
                "leaving no cpus for shared containers"
            ),
        ),
    ],
)
def test_a_pod_with_an_empty_pool_is_rejected_and_changes_nothing(
    total: int, words: str, message: str
) -> None:
    static = policy()
    state = static.fresh_state()
    rejection = allocate_bubble(static, state, request(total, words))
    assert isinstance(rejection, Rejected)
    assert (rejection.reason, rejection.message) == ("EmptyPodSharedPoolError", message)
    assert state == static.fresh_state()


def test_slices_that_do_not_fit_lose_the_pods_cpus() -> None:
    """The kubelet does this, and nothing returns these CPUs."""
    static = policy()
    state = static.fresh_state()
    rejection = allocate_bubble(static, state, request(3, "i4 a1"))
    assert isinstance(rejection, Rejected)
    assert rejection.message == (
        "Allocate failed due to not enough cpus available to satisfy request: requested=4, available=3, "
        "which is unexpected"
    )
    assert state.assignments == {}
    state.keep_only({})
    assert len(CPUSet(state.default)) == 5


def test_whole_cores_are_checked_on_the_pod_only() -> None:
    static = policy(full_pcpus_only=True)
    odd = allocate_bubble(static, static.fresh_state(), request(3, "a1 a0"))
    assert isinstance(odd, Rejected)
    assert (odd.reason, odd.container) == ("SMTAlignmentError", "")
    assert shown(allocate_bubble(static, static.fresh_state(), request(4, "a1 a0"))) == {
        "a1": "1",
        "a0": "2,5-6",
    }


def test_cpus_are_returned_with_the_last_container() -> None:
    static = policy()
    state = static.fresh_state()
    allocate_bubble(static, state, request(4, "a2 a0"))
    before = state.default
    state.remove_container("pod", "a2")
    assert state.default == before
    state.remove_container("pod", "a0")
    assert state == static.fresh_state()


def restarted(words: str, *, lost: str = "") -> tuple[StaticPolicy, CPUManagerState]:
    static = policy()
    state = static.fresh_state()
    allocate_bubble(static, state, request(6, words))
    for name in lost.split():
        del state.assignments["pod"][name]
    return static, state


def test_from_1_38_a_restored_pod_keeps_everything() -> None:
    static, state = restarted("i0 s1 a2 a0")
    before = state.copy()
    again = restore_bubble(static, state, request(6, "i0 s1 a2 a0"))
    assert shown(again) == {name: str(CPUSet(cpus)) for name, cpus in before.assignments["pod"].items()}
    assert state == before


def test_slices_missing_from_the_file_are_cut_from_the_pods_cpus() -> None:
    static, state = restarted("s1 a2 a0", lost="a0")
    complete = restarted("s1 a2 a0")[1]
    assert shown(restore_bubble(static, state, request(6, "s1 a2 a0")))["a0"] == "3,5,7"
    assert state == complete


@pytest.mark.parametrize("lost", ["s1", "s1 a0"])
def test_entries_with_a_gap_are_not_trusted(lost: str) -> None:
    static, state = restarted("s1 a2 a0", lost=lost)
    assert usable_bubble(state, request(6, "s1 a2 a0").pod) is None
    restore_bubble(static, state, request(6, "s1 a2 a0"))
    assert state == restarted("s1 a2 a0")[1]


def test_a_failed_restore_returns_everything() -> None:
    static, state = restarted("s1 a2 a0", lost="a2 a0")
    rejection = restore_bubble(static, state, request(6, "s1 a9 a0"))
    assert isinstance(rejection, Rejected)
    assert state == static.fresh_state()
