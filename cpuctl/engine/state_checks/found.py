"""State files as they are found: what a kubelet reads from them, and what else is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from cpuctl.checkpoints.model import (
    ClaimsStateFile,
    CPUStateFile,
    DevicesStateFile,
    MemoryStateFile,
    PodsStateFile,
    UnreadableState,
)
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, DEVICES_FILE, MEMORY_FILE

_State = TypeVar("_State")


class FileFacts(NamedTuple):
    """What a file is, whoever reads it.

    ``wrong_checksums`` are the members whose checksum is not that of the content. ``embedded_differs``: the
    older document that the newest formats carry does not say what the file says. ``readable_by`` are the
    kinds of kubelet that load it.
    """

    format: str = ""
    wrong_checksums: tuple[str, ...] = ()
    embedded_differs: bool = False
    readable_by: tuple[str, ...] = ()


class FoundFile(NamedTuple, Generic[_State]):
    """One file: ``read`` is what the kubelet makes of it, ``whole`` all that it says.

    ``whole`` is None where that cannot be told.
    """

    read: _State | UnreadableState
    whole: _State | None = None
    facts: FileFacts = FileFacts()

    @property
    def state(self) -> _State | None:
        """What there is to look at: what the kubelet reads or, where it reads nothing, what it says."""
        return self.whole if isinstance(self.read, UnreadableState) else self.read


class FoundStates(NamedTuple):
    """The files of one kubelet; None where there is none.

    ``pods`` are those that in-place resize keeps, ``devices`` the device manager's, ``claims`` the DRA
    manager's.
    """

    cpu: FoundFile[CPUStateFile] | None = None
    memory: FoundFile[MemoryStateFile] | None = None
    pods: Mapping[str, FoundFile[PodsStateFile]] = {}
    devices: FoundFile[DevicesStateFile] | None = None
    claims: FoundFile[ClaimsStateFile] | None = None

    @property
    def by_name(self) -> Mapping[str, AnyFile]:
        """All files that are there."""
        files: dict[str, AnyFile | None] = {
            CPU_FILE: self.cpu,
            MEMORY_FILE: self.memory,
            **self.pods,
            DEVICES_FILE: self.devices,
            CLAIMS_FILE: self.claims,
        }
        return {name: file for name, file in files.items() if file is not None}


AnyFile: TypeAlias = (
    FoundFile[CPUStateFile]
    | FoundFile[MemoryStateFile]
    | FoundFile[PodsStateFile]
    | FoundFile[DevicesStateFile]
    | FoundFile[ClaimsStateFile]
)
