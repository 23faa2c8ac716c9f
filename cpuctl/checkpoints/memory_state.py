"""``memory_manager_state`` under the Memory Manager policy ``None``: always the same text (format V1)."""

from __future__ import annotations

from cpuctl.checkpoints.checksum import fnv1a_32

FILE_NAME = "memory_manager_state"


def write_memory_state_of_none() -> str:
    """Write the file's text, byte for byte as the kubelet does."""
    checksum = fnv1a_32(
        "(*state.MemoryManagerCheckpoint){PolicyName:(string)None MachineState:(state.NUMANodeMap)map[] "
        "Entries:(state.ContainerMemoryAssignments)map[] Checksum:(checksum.Checksum)0}"
    )
    return f'{{"policyName":"None","machineState":{{}},"checksum":{checksum}}}'
