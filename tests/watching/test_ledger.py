"""Reports of things that come, change and go: once, after they have lasted, and correct in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.watching.ledger import LONGEST, Change, How, Identity, Kind, Ledger, Patience, Thing

USUAL = Patience(changing=10, going=10)


def finding(name: str, detail: object = "", patience: Patience = USUAL) -> Thing:
    return Thing(Kind.FINDING, (name,), str(detail), name, patience)


def reported(changes: Iterable[Change]) -> list[tuple[str, str]]:
    return [(change.how.value, change.thing.key[0]) for change in changes]


def test_arrival_is_reported_once_and_departure_after_a_delay() -> None:
    ledger = Ledger()
    assert reported(ledger.see([finding("stray")], 0)) == [("came", "stray")]
    assert reported(ledger.see([finding("stray")], 5)) == []
    assert reported(ledger.see([], 10)) == []
    assert ledger.due == 20
    assert reported(ledger.see([], 19)) == []
    assert reported(ledger.see([], 20)) == [("went", "stray")]
    assert reported(ledger.see([], 100)) == []


def test_a_return_before_the_departure_is_reported_is_not_news() -> None:
    ledger = Ledger()
    ledger.see([finding("stray")], 0)
    for second in range(5, 100, 10):
        assert reported(ledger.see([], second)) == []
        assert reported(ledger.see([finding("stray")], second + 5)) == []


def test_a_changed_detail_is_reported_after_it_has_lasted() -> None:
    ledger = Ledger()
    ledger.see([finding("stray", 1)], 0)
    assert reported(ledger.see([finding("stray", 2)], 1)) == []
    assert reported(ledger.see([finding("stray", 3)], 9)) == []
    assert reported(ledger.see([finding("stray", 3)], 18)) == []
    (change,) = ledger.see([finding("stray", 3)], 19)
    assert change.how is How.CHANGED
    assert (change.before and change.before.detail, change.thing.detail) == ("1", "3")
    assert reported(ledger.see([finding("stray", 1)], 20)) == []
    assert reported(ledger.see([finding("stray", 3)], 40)) == []


def test_findings_that_the_kubelet_may_fix_are_delayed() -> None:
    ledger = Ledger()
    moving = finding("cpuset", patience=USUAL._replace(not_before=12))
    leaving = finding("stale", patience=USUAL._replace(incoming=10))
    assert reported(ledger.see([moving, leaving], 5)) == []
    assert ledger.due == 12
    assert reported(ledger.see([leaving], 12)) == []
    assert reported(ledger.see([moving, leaving], 15)) == [("came", "cpuset"), ("came", "stale")]


def test_a_thing_gone_before_its_report_is_never_reported() -> None:
    ledger = Ledger()
    leaving = finding("stale", patience=USUAL._replace(incoming=10))
    assert reported(ledger.see([leaving], 0)) == []
    assert reported(ledger.see([], 5)) == []
    assert reported(ledger.see([leaving], 11)) == []
    assert ledger.due == 21


def test_things_known_from_the_start_are_not_reported() -> None:
    ledger = Ledger()
    ledger.begin([finding("pod")])
    assert reported(ledger.see([finding("pod")], 0)) == []
    assert reported(ledger.see([], 1)) == []
    assert reported(ledger.see([], 11)) == [("went", "pod")]


def test_flapping_is_reported_less_and_less_often() -> None:
    """It is present for 15 seconds and absent for 15, for an hour."""
    ledger, stated = Ledger(), []
    for second in range(3600):
        here = [finding("flapping")] if second % 30 < 15 else []
        stated += [(second, *each) for each in reported(ledger.see(here, second))]
    assert stated[:3] == [(0, "came", "flapping"), (25, "went", "flapping"), (30, "came", "flapping")]
    assert len(stated) == 3
    # When it is gone permanently, this is reported within the longest time.
    assert reported(ledger.see([], 3600 + LONGEST)) == [("went", "flapping")]


def test_the_first_of_two_things_with_the_same_identity_is_used() -> None:
    ledger = Ledger()
    (change,) = ledger.see([finding("stray", "worst"), finding("stray", "other")], 0)
    assert change.thing.detail == "worst"


PATIENCE = st.builds(
    Patience,
    incoming=st.sampled_from([0.0, 3.0]),
    changing=st.sampled_from([0.0, 4.0]),
    going=st.sampled_from([0.0, 5.0]),
    not_before=st.sampled_from([float("-inf"), 6.0, 30.0]),
)
THINGS = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 2), PATIENCE), max_size=4).map(
    lambda found: [finding(name, detail, patience) for name, (detail, patience) in found.items()]
)
STEPS = st.lists(st.tuples(THINGS, st.floats(0, 20)), max_size=30)


def replayed(first: Mapping[Identity, Thing], changes: Iterable[Change]) -> dict[Identity, Thing]:
    """Apply the changes to the first state."""
    known = dict(first)
    for change in changes:
        if change.how is How.CAME:
            assert change.thing.identity not in known
            assert change.before is None
        else:
            assert known[change.thing.identity] == change.before
        if change.how is How.WENT:
            del known[change.thing.identity]
        else:
            known[change.thing.identity] = change.thing
    return known


@given(begun=THINGS, steps=STEPS, last=THINGS)
def test_changes_lead_from_the_first_state_to_the_last(
    begun: list[Thing], steps: list[tuple[list[Thing], float]], last: list[Thing]
) -> None:
    """Each change follows from the previous reports; once nothing changes, reports are complete."""
    ledger, now = Ledger(), 0.0
    ledger.begin(begun)
    first = ledger.stated
    changes: list[Change] = []
    for things, pause in steps:
        now += pause
        changes += ledger.see(things, now)
        assert replayed(first, changes) == ledger.stated
    while True:
        changes += ledger.see(last, now)
        if ledger.due == float("inf"):
            break
        assert ledger.due > now
        now = ledger.due
    assert replayed(first, changes) == ledger.stated
    assert {key: each.detail for key, each in ledger.stated.items()} == {
        each.identity: each.detail for each in last
    }


@given(steps=STEPS)
def test_nothing_is_reported_twice(steps: list[tuple[list[Thing], float]]) -> None:
    """A thing that came has to go before it can come again, and a changed one differs from before."""
    ledger, now, there = Ledger(), 0.0, set[Identity]()
    for things, pause in steps:
        now += pause
        for change in ledger.see(things, now):
            assert (change.thing.identity in there) == (change.how is not How.CAME)
            there ^= {change.thing.identity} if change.how is not How.CHANGED else set()
            assert change.how is not How.CHANGED or change.before != change.thing
        assert ledger.see(things, now) == ()
