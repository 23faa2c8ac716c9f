from __future__ import annotations

from uuid import RFC_4122, UUID

import pytest

from cpuctl.golang.hashes import fnv1a_128
from cpuctl.pods.identity import copied, with_uids
from cpuctl.pods.model import Container, Pod


def pod(name: str, uid: str = "", namespace: str = "default") -> Pod:
    return Pod(name=name, uid=uid, namespace=namespace, containers=(Container(name="main"),))


def test_derived_uids_are_the_same_in_every_run() -> None:
    (derived,) = with_uids([pod("web")])
    assert derived.uid == "9084e481-40f3-8a5f-b02c-0039a3fb6fc5"
    uid = UUID(derived.uid)
    assert (uid.version, uid.variant) == (8, RFC_4122)


def test_derived_uids_are_spread_by_a_known_hash() -> None:
    """FNV-1a of 128 bits; this is its published value of ``foobar``."""
    assert fnv1a_128(b"foobar") == 0x343E1662793C64BF6F0D3597BA446F18


def test_the_first_digits_of_derived_uids_differ() -> None:
    replicas = with_uids(pod(f"web-{number}") for number in range(100))
    assert len({replica.uid[:8] for replica in replicas}) == 100


def test_derived_uids_are_unique() -> None:
    pods = [pod("web"), pod("web"), pod("web", namespace="shop"), pod("web#2"), pod("db")]
    assert len({item.uid for item in with_uids(pods)}) == len(pods)


def test_uids_already_there_are_kept_and_never_derived_again() -> None:
    """Pods of several inputs are identified together, some of them for the second time."""
    first = with_uids([pod("web"), pod("db", uid="given")])
    again = with_uids([pod("web"), *first])
    assert again[1:] == first
    assert len({item.uid for item in again}) == 3


def test_shared_uid_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^pods default/a and default/b have the same UID u$"):
        with_uids([pod("a", uid="u"), pod("b", uid="u")])


def test_copies_are_separate_pods() -> None:
    given = with_uids([pod("web"), pod("db", uid="given")])
    copies = copied(given, 2, {item.uid for item in given})
    assert [item.full_name for item in copies] == ["default/web-2", "default/db-2"]
    assert len({item.uid for item in (*given, *copies)}) == 4
    assert copies == copied(given, 2, set())


def test_derived_uids_never_equal_existing_ones() -> None:
    (first,) = with_uids([pod("web")])
    (second,) = with_uids([pod("web")], taken={first.uid})
    assert second.uid not in ("", first.uid)
