"""Entries that nobody needs any more: those of pods that do not run, and of containers that pods have not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from cpuctl.engine.state_checks.owners import Owners, Standing

_Held = TypeVar("_Held")
_GONE = {
    Standing.POD_GONE: "the pod does not run",
    Standing.CONTAINER_GONE: "the pod has no such container",
}


def gone(entries: Mapping[str, Mapping[str, object]], owners: Owners) -> Iterator[tuple[str, str, str]]:
    """Yield UID, container and why for every entry whose owner is gone, as far as it is known who runs."""
    for uid, containers in sorted(entries.items()):
        for name in sorted(containers):
            if why := _GONE.get(owners.standing(uid, name)):
                yield uid, name, why


def kept(entries: Mapping[str, Mapping[str, _Held]], owners: Owners) -> dict[str, dict[str, _Held]]:
    """Return the entries whose owner is not gone."""
    left = {
        uid: {name: held for name, held in containers.items() if owners.standing(uid, name) not in _GONE}
        for uid, containers in entries.items()
    }
    return {uid: containers for uid, containers in left.items() if containers}
