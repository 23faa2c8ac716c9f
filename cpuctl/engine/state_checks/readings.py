"""Which state files a kubelet reads, and what it does where it cannot load one.

Rule: ``NewContainerManager``, ``NewMainKubelet``, ``Run`` and ``Start`` of the managers, 1.27 to 1.36.
"""

from __future__ import annotations

from enum import StrEnum

from cpuctl.engine.state_checks.findings import (
    ACTUATED_FILE,
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)
from cpuctl.kubelet.gates.feature_gates import FeatureGates


class Reading(StrEnum):
    """What becomes of a kubelet that cannot load a file."""

    STOPS = "stops"
    CRASHES = "crashes"
    GOES_ON = "goesOn"
    UNREAD = "unread"


ORDER = (CLAIMS_FILE, ALLOCATED_FILE, ACTUATED_FILE, STATUS_FILE, CPU_FILE, MEMORY_FILE, DEVICES_FILE)
"""In this order a kubelet opens its files."""


def reading_of(name: str, gates: FeatureGates) -> Reading:
    """Tell what a kubelet does with the file of that name."""
    if name == DEVICES_FILE:
        return Reading.GOES_ON
    if name == CLAIMS_FILE:
        return Reading.STOPS if gates.enabled("DynamicResourceAllocation") else Reading.UNREAD
    if name not in (STATUS_FILE, ALLOCATED_FILE, ACTUATED_FILE):
        return Reading.STOPS
    release = gates.release
    mine = (name == STATUS_FILE) != release.keeps_allocated_pods
    if not mine or not gates.enabled("InPlacePodVerticalScaling"):
        return Reading.UNREAD
    returned = name == ACTUATED_FILE and release.returns_actuated_error
    return Reading.STOPS if returned else Reading.CRASHES
