"""What is mounted where, by ``/proc/self/mountinfo`` (*proc(5)*)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

CGROUP_TYPES = {1: "cgroup", 2: "cgroup2"}
"""The file system's name by the version of control groups."""

_ESCAPE = re.compile(r"\\([0-7]{3})")
_POINT = 4


class Mount(NamedTuple):
    """A mount: where it is, and the type of its file system."""

    point: str
    kind: str


def mount_of(mountinfo: str, path: str) -> Mount | None:
    """Return the mount that an absolute path without links is on; a later one hides an earlier."""
    on = [mount for mount in _mounts(mountinfo) if f"{path}/".startswith(f"{mount.point.rstrip('/')}/")]
    longest = max((len(mount.point) for mount in on), default=0)
    return next((mount for mount in reversed(on) if len(mount.point) == longest), None)


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        head, separator, tail = line.partition(" - ")
        fields, kinds = head.split(" "), tail.split(" ")
        if separator and len(fields) > _POINT:
            point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[_POINT])
            yield Mount(point, kinds[0])
