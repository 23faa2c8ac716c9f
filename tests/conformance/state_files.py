"""The state files of a recorded node as text: read at start, written when their contents change."""

from __future__ import annotations

from dataclasses import dataclass, field

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, SavedCPUState, SavedMemoryState
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.node import Node
from tests.conformance.corpus import Json


@dataclass(slots=True)
class StateFiles:
    """Both files, None if there is none, and their contents."""

    reader: StateReader
    cpu: str | None = None
    memory: str | None = None
    cpu_said: SavedCPUState = field(default=None, init=False)
    memory_said: SavedMemoryState = field(default=None, init=False)

    def load(self) -> tuple[SavedCPUState, SavedMemoryState]:
        """Read the files that exist."""
        self.cpu_said = None if self.cpu is None else read_cpu_state(self.cpu, self.reader)
        self.memory_said = None if self.memory is None else read_memory_state(self.memory, self.reader)
        return self.cpu_said, self.memory_said

    def save_cpu(self, file: CPUStateFile) -> None:
        """Write the file as the kubelet does: whenever the state changes."""
        if file != self.cpu_said:
            self.cpu, self.cpu_said = write_cpu_state(file, self.reader), file

    def save_memory(self, file: MemoryStateFile) -> None:
        """Write the memory file."""
        if file != self.memory_said:
            self.memory, self.memory_said = write_memory_state(file, self.reader), file

    def save(self, node: Node) -> None:
        """Write what has changed."""
        self.save_cpu(node.cpu.state_file())
        self.save_memory(node.memory.state_file())

    def replaced(self, step: Json) -> None:
        """Replace the files by those of a step."""
        self.cpu = step.get("cpuManagerState", self.cpu)
        self.memory = step.get("memoryManagerState", self.memory)

    def texts(self) -> Json:
        """Return both files in the form of the recordings."""
        files = {"cpuManagerState": self.cpu, "memoryManagerState": self.memory}
        return {name: text for name, text in files.items() if text is not None}
