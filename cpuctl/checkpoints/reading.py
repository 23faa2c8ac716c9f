"""How the files of other managers than CPU and Memory Manager are read, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.checkpoints.claim_state import read_claims_state
from cpuctl.checkpoints.device_state import read_devices_state
from cpuctl.checkpoints.pods_state import read_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.checkpoints.status_state import read_status_state
from cpuctl.state_names import ACTUATED_FILE, ALLOCATED_FILE, CLAIMS_FILE, DEVICES_FILE, STATUS_FILE

OTHER_FILES: Mapping[str, Callable[[str, StateReader], object]] = {
    DEVICES_FILE: read_devices_state,
    CLAIMS_FILE: read_claims_state,
    STATUS_FILE: read_status_state,
    ALLOCATED_FILE: read_pods_state,
    ACTUATED_FILE: read_pods_state,
}
