"""The names of a kubelet's state files, below its root directory."""

from __future__ import annotations

from typing import Final

CPU_FILE: Final = "cpu_manager_state"
MEMORY_FILE: Final = "memory_manager_state"
ALLOCATED_FILE: Final = "allocated_pods_state"
ACTUATED_FILE: Final = "actuated_pods_state"
PODS_FILES: Final = (ALLOCATED_FILE, ACTUATED_FILE)
STATUS_FILE: Final = "pod_status_manager_state"
DEVICES_FILE: Final = "kubelet_internal_checkpoint"
CLAIMS_FILE: Final = "dra_manager_state"
