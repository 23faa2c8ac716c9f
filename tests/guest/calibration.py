"""Work whose duration on a host and in a guest shows how much slower the guest is."""

from __future__ import annotations

import os
import time

_TURNS = 300


def calibration() -> float:
    """Return the CPU seconds of some system calls, text operations and arithmetic."""
    handle = os.open("/proc/self/stat", os.O_RDONLY)
    begun = time.process_time()
    for _ in range(_TURNS):
        sum(int(word) for word in os.pread(handle, 4096, 0).split()[3:40])
    spent = time.process_time() - begun
    os.close(handle)
    return spent / _TURNS
