"""The checksum of the kubelet's state files: 32-bit FNV-1a over one line that shows a Go value.

The line is what the kubelet's printer makes of the file's struct, its checksum shown as 0 (kubernetes
``pkg/kubelet/checkpointmanager/checksum``).
"""

from __future__ import annotations

from collections.abc import Mapping

_OFFSET, _PRIME = 2_166_136_261, 16_777_619


def fnv1a_32(text: str) -> int:
    """Hash the UTF-8 bytes of *text*."""
    value = _OFFSET
    for byte in text.encode("utf-8", "surrogatepass"):
        value = (value ^ byte) * _PRIME & 0xFFFF_FFFF
    return value


def shown_map(members: Mapping[str, str]) -> str:
    """Show a map whose values are shown already: keys sorted by their bytes."""
    return "map[" + " ".join(f"{key}:{members[key]}" for key in sorted(members, key=_utf8)) + "]"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
