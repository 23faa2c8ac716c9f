"""What a Memory Manager needs to start: a policy for this platform, and memory reserved to the byte.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager``, ``NewManager``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.engine.outcome import MEMORY_UNKNOWN, Undetermined, memory_unknown_of
from cpuctl.kubelet.config import KubeletConfiguration, SettingError
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.quantity import Quantity

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import MemoryNode
    from cpuctl.engine.memory.manager import StaticMemoryPolicy
    from cpuctl.machine.machine_info import MachineInfo

MOST_NODES = 14
"""Of up to this many nodes, all sets can be checked one by one."""
_SETTING = "memoryManagerPolicy"


def start_memory_manager(
    info: MachineInfo, config: KubeletConfiguration, gates: FeatureGates, reserved: Mapping[str, Quantity]
) -> StaticMemoryPolicy | Undetermined | None:
    """Set the manager up, or raise SettingError with the kubelet's text; None for the policy ``None``.

    *reserved* is what is kept from pods, by resource. Undetermined if the machine's memory is not recorded.
    """
    if not gates.enabled("MemoryManager"):
        return None
    match config.memory_manager_policy:
        case "None":
            return None
        case "Static":
            return _static(info, config, reserved, gates.release)
        case "BestEffort" if gates.release.knows_best_effort_memory:
            raise SettingError('policy "BestEffort" is not available for platform "linux"', _SETTING)
        case other:
            raise SettingError(f'unknown policy: "{other}"', _SETTING)


def _static(
    info: MachineInfo, config: KubeletConfiguration, reserved: Mapping[str, Quantity], release: Behaviours
) -> StaticMemoryPolicy | Undetermined:
    from cpuctl.engine.memory.manager import StaticMemoryPolicy
    from cpuctl.engine.memory.tables import fresh_tables
    from cpuctl.kubelet.reservations import reserved_by_node

    if not info.memory_bytes:
        return Undetermined(MEMORY_UNKNOWN)
    if unrecorded := info.nodes_without_memory:
        return Undetermined(memory_unknown_of(unrecorded))
    nodes = {node.id for node in info.nodes}
    by_node = reserved_by_node(config.reserved_memory, nodes, reserved)
    return StaticMemoryPolicy(
        tables=fresh_tables(info, by_node),
        rejects_overlaps=release.rejects_overlapping_memory_groups,
        compares_groups=release.compares_memory_of_groups,
        hugepages_known=info.hugepages_known,
    )


def overdrawn(policy: StaticMemoryPolicy | None) -> Undetermined | None:
    """Return Undetermined if sums over NUMA nodes wrap around and there are too many sets to check each."""
    if policy is None or len(policy.tables) <= MOST_NODES:
        return None
    for number, node in policy.tables.items():
        for name, table in node.memory_map.items():
            if table.allocatable > table.total:
                return Undetermined(
                    f"reservedMemory and huge pages take more {name} of NUMA node {number} than it has, and "
                    "the kubelet continues with wrapped numbers: these are not computed for "
                    f"more than {MOST_NODES} NUMA nodes"
                )
    return None


def wrapped_amounts(tables: Mapping[int, MemoryNode]) -> Iterator[str]:
    """Name memory of which more is kept from pods than exists: the kubelet's accounting wraps around."""
    for number, node in tables.items():
        for name, table in node.memory_map.items():
            if table.allocatable > table.total:
                yield f"{name} of NUMA node {number}"
