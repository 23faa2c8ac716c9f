"""What psutil uses of its C extension before it reads /proc; cpuctl does not need the rest."""

from __future__ import annotations

from collections.abc import Mapping
from resource import getpagesize

__all__ = ["check_pid_range", "getpagesize", "net_if_addrs", "version"]

version = 722
"""The pinned release; psutil compares it with its own."""


def net_if_addrs() -> Mapping[str, object]:
    """Return no network interfaces: psutil only imports this function."""
    return {}


def check_pid_range(pid: int) -> None:
    """Accept any number: it is only used as the name of a directory in /proc."""
