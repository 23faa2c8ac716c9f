"""What psutil asks of its compiled part before it reads /proc; of the rest of that part cpuctl has no use."""

from __future__ import annotations

from collections.abc import Mapping
from resource import getpagesize

__all__ = ["check_pid_range", "getpagesize", "net_if_addrs", "version"]

version = 722
"""The release that the pin names; psutil compares."""


def net_if_addrs() -> Mapping[str, object]:
    """Know no network interfaces: psutil takes the function along when it is imported."""
    return {}


def check_pid_range(pid: int) -> None:
    """Accept any number: they are names of directories of /proc."""
