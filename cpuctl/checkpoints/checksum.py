"""The checksum of the kubelet's state files: 32-bit FNV-1a over one line that shows a Go value.

The line is what the kubelet's printer makes of the file's struct, its checksum shown as 0 (kubernetes
``pkg/kubelet/checkpointmanager/checksum``).
"""

from __future__ import annotations

_OFFSET, _PRIME = 2_166_136_261, 16_777_619


def fnv1a_32(text: str) -> int:
    """Hash the UTF-8 bytes of *text*."""
    value = _OFFSET
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _PRIME & 0xFFFF_FFFF
    return value
