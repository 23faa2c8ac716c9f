"""The kubelet's state files on disk between one kubelet and the next.

A file that a kubelet has written is kept as its value and writer, and formatted when it is read.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, SavedCPUState, SavedMemoryState
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.masks import CPUMask
from cpuctl.records import Record


class WrittenCPUs(Record):
    """``cpu_manager_state`` as a kubelet wrote it."""

    state: CPUStateFile
    writer: StateReader

    @property
    def text(self) -> str:
        """The file's content."""
        return write_cpu_state(self.state, self.writer)


class WrittenMemory(Record):
    """``memory_manager_state`` as a kubelet wrote it."""

    state: MemoryStateFile
    writer: StateReader

    @property
    def text(self) -> str:
        """The file's content."""
        return write_memory_state(self.state, self.writer)


CPUFile: TypeAlias = WrittenCPUs | str | None
MemoryFile: TypeAlias = WrittenMemory | str | None


class SavedWait(Record):
    """A scale-down that survives a restart, as announced: the CPUs to keep, its due time, and its boot.

    ``cpus`` is a mask, ``due`` in nanoseconds.
    """

    cpus: CPUMask
    due: int
    boot: int


class Disk:
    """The files; None for a missing one. ``waits`` exist only with the announced per-pod delay."""

    def __init__(self) -> None:
        self.cpu: CPUFile = None
        self.memory: MemoryFile = None
        self.waits: dict[tuple[str, str], SavedWait] = {}

    def read_cpu(self, reader: StateReader) -> SavedCPUState:
        """Read ``cpu_manager_state`` as a kubelet does at start."""
        text = self.cpu_text
        return None if text is None else read_cpu_state(text, reader)

    def read_memory(self, reader: StateReader) -> SavedMemoryState:
        """Read ``memory_manager_state`` as a kubelet does at start."""
        text = self.memory.text if isinstance(self.memory, WrittenMemory) else self.memory
        return None if text is None else read_memory_state(text, reader)

    @property
    def cpu_text(self) -> str | None:
        """The content of ``cpu_manager_state``."""
        return self.cpu.text if isinstance(self.cpu, WrittenCPUs) else self.cpu

    @property
    def cpu_format(self) -> str:
        """Return the format of ``cpu_manager_state`` (``cpuctl checkpoint`` has details)."""
        if isinstance(self.cpu, WrittenCPUs):
            writer = self.cpu.writer
            return "v4" if writer.minor >= 37 else "v3" if writer.keeps_pods else "v2"
        try:
            members = json.loads(self.cpu or "")
        except ValueError:
            return ""
        if not isinstance(members, dict):
            return ""
        return "v4" if "data" in members else "v3" if "podEntries" in members else "v2"
