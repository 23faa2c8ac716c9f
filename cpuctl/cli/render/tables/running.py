"""Parts of the layout of a running node: names, shares, rates; a dash for unknown values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.top import Container, Top

UNKNOWN = "-"
DISTURBED = 0.05
"""CPU use of other processes from which on it is marked: ticks are not exact."""
_FEW = 8


def share(value: float | None) -> str:
    """Write a share of a time in percent."""
    return (
        UNKNOWN
        if value is None
        else f"{100 * value:.0f}%"
        if value >= 0.0995 or not value
        else f"{100 * value:.1f}%"
    )


def amount(value: float | None) -> str:
    """Write a number of CPUs."""
    return UNKNOWN if value is None else f"{value:.2f}"


def rate(value: float | None) -> str:
    """Write a rate per second."""
    if value is None:
        return UNKNOWN
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 9.95 or not value else f"{value:.1f}"


def seconds(value: float | None) -> str:
    """Write seconds of CPU time per second."""
    if value is None:
        return UNKNOWN
    return (
        f"{value:.1f}s"
        if value >= 1
        else f"{1000 * value:.0f}ms"
        if value >= 0.0095 or not value
        else f"{1000 * value:.1f}ms"
    )


def loads_text(loads: Sequence[float | None]) -> str:
    """Write the load of each CPU if there are few; otherwise the minimum, the mean and the maximum."""
    if len(loads) <= _FEW:
        return " ".join(UNKNOWN if each is None else f"{100 * each:.0f}" for each in loads)
    known = [100 * each for each in loads if each is not None]
    if not known:
        return UNKNOWN
    return f"{min(known):.0f} to {max(known):.0f}, mean {sum(known) / len(known):.0f}"


def pod_name(container: Container) -> str:
    """Return the name of a container's pod."""
    return f"{container['namespace']}/{container['pod']}" if container["pod"] else container["uid"]


def container_name(container: Container) -> str:
    """Return the name of a container, or its id if its name is unknown."""
    return container["container"] or f"({(container['containerID'] or '?')[:12]})"


def full_name(container: Container) -> str:
    """Return the name of a container with its pod."""
    return f"{pod_name(container)}/{container_name(container)}"


def top_heading(document: Top) -> str:
    """Show the node and the time."""
    node, policy = document["node"] or "node", document["cpuManagerPolicy"]
    groups = f"cgroup v{document['cgroupVersion']}" if document["cgroupVersion"] else "no cgroups"
    known = f"CPU Manager policy {policy}" if policy else "no CPU Manager state"
    return (
        f"{node}, {document['time'][11:19]} UTC, {document['seconds']:.1f} s: "
        f"{counted(len(document['cpus']), 'CPU')}, {groups}, {known}"
    )


_MANAGERS = {"pods": "all pods", "bestEffort": "BestEffort", "burstable": "Burstable"}


def pressure_text(document: Top) -> str:
    """Return the share of time in which some thread waited for a CPU."""
    parts = (
        f"{_MANAGERS.get(each['scope'], each['scope'])} {share(each['some'])}"
        for each in document["pressure"]
    )
    return f"CPU pressure (PSI, some): {', '.join(parts)}"
