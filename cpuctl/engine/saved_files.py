"""The state files that a kubelet finds when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import SavedCPUState, SavedMemoryState, UnreadableState


class SavedFiles(NamedTuple):
    """What a kubelet makes of the files that it finds; ``unreadable`` are others that it cannot load."""

    cpu: SavedCPUState = None
    memory: SavedMemoryState = None
    unreadable: Mapping[str, UnreadableState] = {}
