"""What the kubelet's state files say, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cpuctl.cpuset import CPUSet


@dataclass(frozen=True, slots=True, kw_only=True)
class CPUStateFile:
    """``cpu_manager_state``: the shared pool, and exclusive CPUs by pod UID and container name."""

    policy_name: str
    default_cpu_set: CPUSet
    entries: Mapping[str, Mapping[str, CPUSet]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnreadableState:
    """A state file that a kubelet refuses to load: its error text."""

    error: str


SavedCPUState = CPUStateFile | UnreadableState | None
"""What a kubelet finds at start; None when there is no file."""
