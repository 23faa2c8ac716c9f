"""What containers are to have, and what that was worked out from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cgroups.desired import Desired, Member, Place

if TYPE_CHECKING:
    from cpuctl.audit.picture import Picture
    from cpuctl.cpuset import CPUSet


class Request(NamedTuple):
    """What is to be, and what it was worked out from.

    ``held`` are exclusive CPUs by pod and container, ``recorded`` the SHA-256 of state files by their path.
    ``now`` is what a plan has found in the groups, by path and file.
    """

    kind: str
    desired: Desired
    held: Mapping[str, Mapping[str, CPUSet]] = {}
    recorded: Mapping[str, str] | None = None
    now: Mapping[tuple[str, str], CPUSet] = {}


def members_of(picture: Picture) -> list[Member]:
    """Return the containers that run."""
    return [Member(owner=seen.owner, group=seen.group) for seen in picture.containers]


def places_of(entries: Mapping[str, Mapping[str, CPUSet]]) -> dict[Place, CPUSet]:
    """Name containers by the UID of their pod, as state files do."""
    return {
        Place(uid, name): cpus for uid, containers in entries.items() for name, cpus in containers.items()
    }
