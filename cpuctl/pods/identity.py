"""UIDs for pods that have none yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import count, islice
from typing import TypeVar
from uuid import UUID

from cpuctl.golang.hashes import fnv1a_128
from cpuctl.pods.model import Pod

_Pod = TypeVar("_Pod", bound=Pod)
_MOST_OF_A_NAME = 32
"""How many UIDs derived from one name are considered."""
_FIXED_BITS = 0xF << 76 | 0b11 << 62
_VERSION_AND_VARIANT = 8 << 76 | 0b10 << 62


def with_uids(pods: Iterable[_Pod], taken: Collection[str] = ()) -> tuple[_Pod, ...]:
    """Give every pod without a UID one that is the same in every run, unique among *pods* and not *taken*.

    It is a UUID of version 8 (RFC 9562) made from ``namespace/name``; if that is taken, from
    ``namespace/name#2`` and so on. Raise ValueError if two pods have the same UID.
    """
    pods = tuple(pods)
    used = _given_uids(pods).union(taken)
    candidates: dict[str, Iterator[str]] = {}
    identified = []
    for pod in pods:
        uid = pod.uid
        if not uid:
            derived = candidates.setdefault(pod.full_name, _derived_uids(pod.full_name))
            uid = next(candidate for candidate in derived if candidate not in used)
            used.add(uid)
        identified.append(pod._replace(uid=uid))
    return tuple(identified)


def copied(pods: Iterable[_Pod], number: int, taken: Collection[str]) -> tuple[_Pod, ...]:
    """Return *pods* as copy *number*: ``web`` is named ``web-2`` and has its own UID."""
    return with_uids((pod._replace(name=f"{pod.name}-{number}", uid="") for pod in pods), taken)


def is_made_up(uid: str, full_name: str) -> bool:
    """Return whether ``with_uids`` gives pods of this name such a UID; no API server generates them."""
    return uid in islice(_derived_uids(full_name), _MOST_OF_A_NAME)


def _derived_uids(name: str) -> Iterator[str]:
    yield _uuid(name)
    for number in count(2):
        yield _uuid(f"{name}#{number}")


def _uuid(text: str) -> str:
    # FNV, as the hashlib that version 5 needs takes as long to load as half of Python; twice, so that
    # web-1 and web-2 differ in the first digits: people compare no more of a UID.
    value = fnv1a_128(2 * text.encode("utf-8", "surrogatepass"))
    return str(UUID(int=value & ~_FIXED_BITS | _VERSION_AND_VARIANT))


def _given_uids(pods: Iterable[Pod]) -> set[str]:
    owners: dict[str, Pod] = {}
    for pod in pods:
        if pod.uid and (other := owners.setdefault(pod.uid, pod)) is not pod:
            raise ValueError(f"pods {_named(other)} and {_named(pod)} have the same UID {pod.uid}")
    return set(owners)


def _named(pod: Pod) -> str:
    origin = str(pod.origin)
    return f"{pod.full_name} ({origin})" if origin else pod.full_name
