"""The order of writes, checked against the kernel's rules of both versions on generated hierarchies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cgroups.names import ancestors
from cpuctl.cgroups.writes import Write, order_writes
from cpuctl.cpuset import CPUSet


def sets(**texts: str) -> dict[str, CPUSet]:
    """``pod__a="0-3"`` means the cgroup ``/pod/a``."""
    return {"/" + path.replace("__", "/"): CPUSet.parse(text) for path, text in texts.items()}


def shown(writes: list[Write]) -> list[str]:
    return [f"{write.path} {write.before} -> {write.after}" for write in writes]


def test_nothing_to_do() -> None:
    assert order_writes(sets(a="0-3"), sets(a="0-3")) == []


def test_the_shared_container_shrinks_before_the_exclusive_one_grows() -> None:
    writes = order_writes(sets(a="0-1", b="2-7"), sets(a="0-3", b="4-7"))
    assert shown(writes) == ["/b 2-7 -> 4-7", "/a 0-1 -> 0-3"]


def test_parents_grow_first_and_shrink_last() -> None:
    now = sets(pods="0-3", pods__a="0-3")
    assert shown(order_writes(now, sets(pods__a="4-5"))) == ["/pods 0-3 -> 0-5", "/pods/a 0-3 -> 4-5"]
    down = order_writes(now, sets(pods="0-1", pods__a="0-1"))
    assert shown(down) == ["/pods/a 0-3 -> 0-1", "/pods 0-3 -> 0-1"]


def test_a_swap_is_done_although_two_overlap_for_a_moment() -> None:
    writes = order_writes(sets(a="0-1", b="2-3"), sets(a="2-3", b="0-1"))
    assert shown(writes) == ["/a 0-1 -> 2-3", "/b 2-3 -> 0-1"]


def test_a_chain_is_written_from_its_free_end() -> None:
    writes = order_writes(sets(a="0", b="1", c="2"), sets(a="1", b="2", c="3"))
    assert shown(writes) == ["/c 2 -> 3", "/b 1 -> 2", "/a 0 -> 1"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [(sets(pods__a=""), "no CPUs are requested"), (sets(pods="0", pods__a="1"), "only 0 for /pods")],
)
def test_impossible_changes_are_refused(wanted: dict[str, CPUSet], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        order_writes(sets(pods="0-3", pods__a="0-3"), wanted)


CPUS = st.sets(st.integers(0, 7), min_size=1).map(CPUSet.of)


@st.composite
def hierarchies(draw: st.DrawFn) -> dict[str, CPUSet]:
    """Draw nested cgroups, each with CPUs of the cgroup above."""
    now: dict[str, CPUSet] = {"/top": draw(CPUS)}
    for path in ("/top/p0", "/top/p1", "/top/p0/a", "/top/p0/b", "/top/p1/c", "/top/p1/d"):
        above = path.rpartition("/")[0]
        now[path] = CPUSet.of(draw(st.sets(st.sampled_from(sorted(now[above])), min_size=1)))
    return now


LEAVES = ["/top/p0/a", "/top/p0/b", "/top/p1/c", "/top/p1/d"]


@given(st.data(), hierarchies())
def test_no_write_breaks_the_hierarchy_and_the_result_is_as_wanted(
    data: st.DataObject, now: dict[str, CPUSet]
) -> None:
    paths = data.draw(st.lists(st.sampled_from(LEAVES), unique=True))
    wanted = {path: data.draw(CPUS) for path in paths}
    state = dict(now)
    for write in order_writes(now, wanted):
        assert state[write.path] == write.before
        assert write.after
        state[write.path] = write.after
        for path, cpus in state.items():
            assert all(cpus <= state[above] for above in ancestors(path) if above in state)
    assert {path: state[path] for path in LEAVES} == {path: wanted.get(path, now[path]) for path in LEAVES}


@given(st.data(), hierarchies())
def test_containers_with_child_groups_are_written_in_steps_that_v1_accepts(
    data: st.DataObject, now: dict[str, CPUSet]
) -> None:
    """Pods represent containers here, each with two cgroups below."""
    wanted = {path: data.draw(CPUS) for path in ("/top/p0", "/top/p1")}
    for path in LEAVES:
        above = sorted(wanted[path.rpartition("/")[0]])
        wanted[path] = CPUSet.of(data.draw(st.sets(st.sampled_from(above), min_size=1)))
    state = dict(now)
    for write in order_writes(now, wanted):
        assert (state[write.path], bool(write.after)) == (write.before, True)
        state[write.path] = write.after
        for path, cpus in state.items():
            assert all(cpus <= state[above] for above in ancestors(path) if above in state)
    assert {path: state[path] for path in wanted} == wanted


def test_no_step_exceeds_the_groups_above() -> None:
    """On v2 a list may have CPUs that the cgroup above does not have; lists written meanwhile must not."""
    now = sets(pods="0-5,7", pods__a="5-6")
    assert shown(order_writes(now, sets(pods__a="6-7"))) == ["/pods 0-5,7 -> 0-7", "/pods/a 5-6 -> 6-7"]
    now = sets(pods="0-5", pods__p="5,7", pods__p__a="5")
    assert shown(order_writes(now, sets(pods__p__a="6"))) == [
        "/pods 0-5 -> 0-6",
        "/pods/p 5,7 -> 5-6",
        "/pods/p/a 5 -> 6",
    ]


def in_effect(lists: dict[str, CPUSet], path: str) -> CPUSet:
    """Return a list's effective CPUs on v2: those that the cgroup above also has, or else all of these."""
    above = path.rpartition("/")[0]
    has = in_effect(lists, above) if above else CPUSet.parse("0-7")
    return lists[path] & has or has


@given(st.data())
def test_on_v2_every_write_is_in_effect_at_once(data: st.DataObject) -> None:
    state = {path: data.draw(CPUS) for path in ("/top", "/top/p0", "/top/p1", *LEAVES)}
    wanted = {path: data.draw(CPUS) for path in data.draw(st.lists(st.sampled_from(LEAVES), unique=True))}
    for write in order_writes(state, wanted):
        state[write.path] = write.after
        assert in_effect(state, write.path) == write.after
    assert {path: in_effect(state, path) for path in wanted} == wanted


@given(st.data(), hierarchies())
def test_cpus_change_hands_without_being_shared_unless_in_a_ring(
    data: st.DataObject, now: dict[str, CPUSet]
) -> None:
    """Growing and shrinking alone never overlap: only containers that swap all their CPUs do."""
    wanted = {path: data.draw(CPUS) for path in LEAVES}
    if any(now[path].isdisjoint(wanted[path]) for path in LEAVES):
        return
    state = dict(now)
    for write in order_writes(now, wanted):
        gained = write.after - state[write.path]
        for other in LEAVES:
            if other != write.path and write.path in LEAVES:
                assert gained.isdisjoint(state[other] - wanted[other])
        state[write.path] = write.after
