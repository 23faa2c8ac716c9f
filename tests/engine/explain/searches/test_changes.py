"""What a change does to a scenario."""

from __future__ import annotations

import pytest

from cpuctl.engine.explain.searches.changes import Amount, ChangeKind, EarlierPosition, Removal, RequestChange
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.engine.explain.scenarios import EIGHT, divided, named, scenario, whole
from tests.support.pods import app, init, resources

FOUR = [named(name, whole(1)) for name in "abcd"]


def cpus(container: str, before: str, after: str) -> Amount:
    return Amount(container, "cpu", Quantity.parse(before), Quantity.parse(after))


@pytest.mark.parametrize(
    ("limit", "moved"),
    [("4", "2"), ("5", "5"), ("", "")],
    ids=["equal stays equal", "higher stays", "none"],
)
def test_limits_that_were_equal_follow_a_lower_request(limit: str, moved: str) -> None:
    before, after = (f"cpu={text}" if text else "" for text in (limit, moved))
    changed = RequestChange((cpus("main", "4", "2"),)).changed_pod(named("a", app("cpu=4", before)))
    assert changed.containers[0].resources == resources("cpu=2", after)


def test_a_limit_is_never_lower_than_a_higher_request() -> None:
    changed = RequestChange((cpus("main", "1", "4"),)).changed_pod(
        named("a", app("cpu=1", "cpu=2 memory=1Gi"))
    )
    assert changed.containers[0].resources == resources("cpu=4 memory=1Gi", "cpu=4 memory=1Gi")


def test_the_request_of_every_part_of_a_pod_can_change() -> None:
    pod = divided("a", "cpu=8 memory=1Gi", init("cpu=2"), app("cpu=3 memory=1Gi"), app("cpu=3", name="other"))
    amounts = cpus("init", "2", "1"), cpus("main", "3", "2"), cpus("", "8", "7")
    changed = RequestChange(amounts).applied(scenario(EIGHT, *FOUR[:2], pod))
    assert changed.pods[:2] == tuple(FOUR[:2])
    assert changed.pod.resources == resources("cpu=7 memory=1Gi", "cpu=7 memory=1Gi")
    assert [each.resources.requests for each in changed.pod.init_containers] == [resources("cpu=1").requests]
    assert [each.resources for each in changed.pod.containers] == [
        resources("cpu=2 memory=1Gi"),
        resources("cpu=3"),
    ]


def test_the_same_amount_in_another_form_is_a_change() -> None:
    """The Memory Manager rejects amounts that are not written as whole numbers."""
    memory = Quantity.parse("1.5Gi")
    assert Amount("main", "memory", memory, memory.canonical()).differs
    assert not Amount("main", "memory", Quantity.parse("1Gi"), Quantity.parse("1024Mi")).differs


def test_pods_after_the_moved_pod_stay_after_it() -> None:
    requested = replace(scenario(EIGHT, *FOUR), position=2)
    moved = EarlierPosition(0, (FOUR[0], FOUR[1])).applied(requested)
    assert [pod.name for pod in moved.pods] == ["c", "a", "b", "d"]
    assert moved.position == 0


def test_removed_pods_add_up() -> None:
    gone = replace(scenario(EIGHT, *FOUR), removed=frozenset({"a"}))
    assert Removal((FOUR[1],)).applied(gone).removed == {"a", "b"}


def test_every_change_names_its_kind() -> None:
    assert EarlierPosition(0, ()).kind is ChangeKind.ORDER
    assert Removal(()).kind is ChangeKind.REMOVAL
    assert RequestChange(()).kind is ChangeKind.REQUEST
