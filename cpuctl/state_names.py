"""What a kubelet calls its state files, below its root directory."""

from __future__ import annotations

CPU_FILE, MEMORY_FILE = "cpu_manager_state", "memory_manager_state"
ALLOCATED_FILE, ACTUATED_FILE = "allocated_pods_state", "actuated_pods_state"
PODS_FILES = (ALLOCATED_FILE, ACTUATED_FILE)
STATUS_FILE = "pod_status_manager_state"
DEVICES_FILE, CLAIMS_FILE = "kubelet_internal_checkpoint", "dra_manager_state"
