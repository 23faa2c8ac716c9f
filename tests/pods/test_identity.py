from __future__ import annotations

import pytest

from cpuctl.pods.identity import copied, with_uids
from cpuctl.pods.model import Container, Pod


def pod(name: str, uid: str = "", namespace: str = "default") -> Pod:
    return Pod(name=name, uid=uid, namespace=namespace, containers=(Container(name="main"),))


def test_derived_uids_are_the_same_in_every_run() -> None:
    (derived,) = with_uids([pod("web")])
    assert derived.uid == "4731b3c4-1539-592a-87a1-dfa6f74503cd"


def test_derived_uids_are_unique() -> None:
    pods = [pod("web"), pod("web"), pod("web", namespace="shop"), pod("web#2"), pod("db")]
    assert len({item.uid for item in with_uids(pods)}) == len(pods)


def test_uids_already_there_are_kept_and_never_derived_again() -> None:
    """Pods of several inputs are identified together, some of them for the second time."""
    first = with_uids([pod("web"), pod("db", uid="given")])
    again = with_uids([pod("web"), *first])
    assert again[1:] == first
    assert len({item.uid for item in again}) == 3


def test_shared_uid_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^pods default/a and default/b have the same uid u$"):
        with_uids([pod("a", uid="u"), pod("b", uid="u")])


def test_copies_are_pods_of_their_own() -> None:
    given = with_uids([pod("web"), pod("db", uid="given")])
    copies = copied(given, 2, {item.uid for item in given})
    assert [item.full_name for item in copies] == ["default/web-2", "default/db-2"]
    assert len({item.uid for item in (*given, *copies)}) == 4
    assert copies == copied(given, 2, set())


def test_derived_uids_are_never_those_that_are_taken() -> None:
    (first,) = with_uids([pod("web")])
    (second,) = with_uids([pod("web")], taken={first.uid})
    assert second.uid not in ("", first.uid)
