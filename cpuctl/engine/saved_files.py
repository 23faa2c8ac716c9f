"""The state files that a kubelet finds when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from cpuctl.records import Record
from cpuctl.state_names import (
    ACTUATED_FILE,
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import SavedCPUState, SavedMemoryState, UnreadableState
    from cpuctl.kubelet.gates.feature_gates import FeatureGates


class SavedFiles(Record):
    """What a kubelet reads from the files that it finds; ``unreadable`` are others that it cannot load.

    ``by_others`` is what other releases, by their minors, read from the same files, if the input does not
    name a release.
    """

    cpu: SavedCPUState = None
    memory: SavedMemoryState = None
    unreadable: Mapping[str, UnreadableState] = {}
    by_others: Mapping[int, SavedFiles] = {}


LoadFailure: TypeAlias = Literal["stops", "crashes", "goesOn", "unread"]
"""What happens to a kubelet that cannot load a file."""


ORDER = (CLAIMS_FILE, ALLOCATED_FILE, ACTUATED_FILE, STATUS_FILE, CPU_FILE, MEMORY_FILE, DEVICES_FILE)
"""The order in which a kubelet opens its files."""


def load_failure_of(name: str, gates: FeatureGates) -> LoadFailure:
    """Return what a kubelet does if it cannot load the file of that name."""
    if name == DEVICES_FILE:
        return "goesOn"
    if name == CLAIMS_FILE:
        return "stops" if gates.enabled("DynamicResourceAllocation") else "unread"
    if name not in (STATUS_FILE, ALLOCATED_FILE, ACTUATED_FILE):
        return "stops"
    release = gates.release
    mine = (name == STATUS_FILE) != release.keeps_allocated_pods
    if not mine or not gates.enabled("InPlacePodVerticalScaling"):
        return "unread"
    returned = name == ACTUATED_FILE and release.returns_actuated_error
    return "stops" if returned else "crashes"
