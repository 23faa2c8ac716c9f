"""Laws of CPU sets, checked against Python's own sets."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from cpuctl.cpuset import MAX_CPU, CPUSet

MEMBERS = st.frozensets(st.integers(0, 200) | st.integers(0, MAX_CPU), max_size=40)
REFUSALS = re.compile(
    r'strconv\.Atoi: parsing ".*": (invalid syntax|value out of range)'
    r'|invalid range ".*" \(\d+ > -?\d+\)'
    rf"|CPU \d+ is beyond {MAX_CPU}, the largest CPU number cpuctl accepts",
    re.DOTALL,
)


@given(MEMBERS, MEMBERS)
def test_agrees_with_python_sets(left: frozenset[int], right: frozenset[int]) -> None:
    a, b = CPUSet.of(left), CPUSet.of(right)
    assert frozenset(a | b) == left | right
    assert frozenset(a & b) == left & right
    assert frozenset(a - b) == left - right
    assert (a <= b) is (left <= right)
    assert (a == b) is (left == right)
    assert a.isdisjoint(b) is left.isdisjoint(right)


@given(MEMBERS, st.integers(-3, 210))
def test_members_are_ascending_and_unique(members: frozenset[int], probe: int) -> None:
    cpus = CPUSet.of(members)
    assert list(cpus) == sorted(members)
    assert len(cpus) == len(members)
    assert bool(cpus) is bool(members)
    assert (probe in cpus) is (probe in members)
    assert not cpus or cpus.lowest == min(members)


@given(MEMBERS, MEMBERS)
def test_difference_and_intersection_split_a_set(left: frozenset[int], right: frozenset[int]) -> None:
    a, b = CPUSet.of(left), CPUSet.of(right)
    assert (a - b) | (a & b) == a
    assert (a - b).isdisjoint(a & b)
    assert a & b <= a <= a | b


@given(MEMBERS)
def test_the_text_parses_to_the_same_set(members: frozenset[int]) -> None:
    cpus = CPUSet.of(members)
    assert CPUSet.parse(str(cpus)) == cpus
    assert CPUSet.parse(",".join(map(str, members))) == cpus


@given(MEMBERS)
def test_runs_are_ascending_and_maximal(members: frozenset[int]) -> None:
    runs = list(CPUSet.of(members).runs())
    assert [cpu for first, last in runs for cpu in range(first, last + 1)] == sorted(members)
    assert all(before + 1 < after for (_, before), (after, _) in pairwise(runs))


@given(st.text() | st.text("0123456789,-+ ", max_size=12) | st.text("0123456789-", min_size=15, max_size=40))
@example("9" * 5000)
@example("0-" + "9" * 5000)
@example("-" * 5000)
def test_any_text_is_read_or_rejected_in_known_words(text: str) -> None:
    try:
        cpus = CPUSet.parse(text)
    except ValueError as error:
        assert REFUSALS.fullmatch(str(error))  # noqa: PT017 - not rejecting is right as well
    else:
        assert CPUSet.parse(str(cpus)) == cpus
