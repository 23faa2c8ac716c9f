"""How the files of other managers than CPU and Memory Manager are read, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.checkpoints.claim_state import read_claims_state
from cpuctl.checkpoints.device_state import read_devices_state
from cpuctl.checkpoints.pods_state import ACTUATED_FILE_NAME, ALLOCATED_FILE_NAME, read_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.checkpoints.status_state import read_status_state

OTHER_FILES: Mapping[str, Callable[[str, StateReader], object]] = {
    "kubelet_internal_checkpoint": read_devices_state,
    "dra_manager_state": read_claims_state,
    "pod_status_manager_state": read_status_state,
    ALLOCATED_FILE_NAME: read_pods_state,
    ACTUATED_FILE_NAME: read_pods_state,
}
