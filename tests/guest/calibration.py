"""Work that takes its time on a host and in a guest, to tell how much slower the guest is."""

from __future__ import annotations

import os
import time

_TURNS = 300


def calibration() -> float:
    """Return the CPU time that some calls of the kernel, texts and arithmetic take, once, in seconds."""
    handle = os.open("/proc/self/stat", os.O_RDONLY)
    begun = time.process_time()
    for _ in range(_TURNS):
        sum(int(word) for word in os.pread(handle, 4096, 0).split()[3:40])
    spent = time.process_time() - begun
    os.close(handle)
    return spent / _TURNS
