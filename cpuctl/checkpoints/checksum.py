"""The checksum of the kubelet's state files: 32-bit FNV-1a over one line that shows a Go value.

The line is what the kubelet's printer makes of the file's struct, its checksum shown as 0 (kubernetes
``pkg/kubelet/checkpointmanager/checksum``).
"""

from __future__ import annotations

from cpuctl.golang import fnv


def fnv1a_32(text: str) -> int:
    """Hash the UTF-8 bytes of *text*."""
    return fnv.fnv1a_32(text.encode("utf-8", "surrogatepass"))
