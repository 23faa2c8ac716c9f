"""Which pods run on a node, and how others are reported."""

from __future__ import annotations

import pytest

from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners, OwnerStatus
from tests.support.pods import app, init
from tests.support.verifying import pod

RUNNING = Owners.of([pod("u1", app(name="main"), app(name="log"), inits=(init(name="first"),)), pod("u2")])


@pytest.mark.parametrize(
    ("uid", "container", "status"),
    [
        ("u1", "log", OwnerStatus.RUNNING),
        ("u1", "first", OwnerStatus.RUNNING),
        ("u1", "old", OwnerStatus.CONTAINER_GONE),
        ("u2", "main", OwnerStatus.CONTAINER_GONE),
        ("u3", "main", OwnerStatus.POD_GONE),
    ],
)
def test_the_status_of_a_container(uid: str, container: str, status: OwnerStatus) -> None:
    assert RUNNING.status(uid, container) is status
    assert UNKNOWN_OWNERS.status(uid, container) is OwnerStatus.UNKNOWN


def test_the_status_of_a_pod() -> None:
    statuses = [RUNNING.status("u1"), RUNNING.status("u3"), UNKNOWN_OWNERS.status("u1")]
    assert statuses == [OwnerStatus.RUNNING, OwnerStatus.POD_GONE, OwnerStatus.UNKNOWN]


def test_a_container_is_found_by_its_name() -> None:
    found = [RUNNING.container(uid, name) for uid in ("u1", "u3") for name in ("main", "first", "old")]
    assert [each and each.name for each in found] == ["main", "first", None, None, None, None]
    assert UNKNOWN_OWNERS.container("u1", "main") is None


@pytest.mark.parametrize(
    ("uids", "gone"),
    [((), False), (("u1",), False), (("u3",), True), (("u3", "u4"), True), (("u3", "u1"), False)],
)
def test_all_are_gone_if_none_of_them_runs(uids: tuple[str, ...], gone: bool) -> None:
    """If the running pods are not given, nothing is known."""
    assert RUNNING.all_gone(uids) == gone
    assert Owners.of([]).all_gone(uids) == bool(uids)
    assert not UNKNOWN_OWNERS.all_gone(uids)


def test_names() -> None:
    assert [RUNNING.name(*who) for who in (("u1",), ("u1", "log"), ("u3",), ("u3", "log"))] == [
        "shop/u1",
        "shop/u1/log",
        "u3",
        "u3/log",
    ]
    assert UNKNOWN_OWNERS.name("u1", "log") == "u1/log"


def test_names_are_cut() -> None:
    """A UID in a state file may be any text."""
    assert RUNNING.name("u" * 118, "c") == f"{'u' * 118}/c"
    assert RUNNING.name("u" * 118, "cd") == f"{'u' * 118}/c..."


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "shop/u1/a"),
        (3, "shop/u1/a, shop/u1/b, shop/u1/c"),
        (4, "shop/u1/a, shop/u1/b, shop/u1/c and 1 more"),
        (6, "shop/u1/a, shop/u1/b, shop/u1/c and 3 more"),
    ],
)
def test_names_of_many(count: int, text: str) -> None:
    assert RUNNING.names([("u1", name) for name in "abcdef"[:count]]) == text
