"""FNV-1a, the hash of Fowler, Noll and Vo: that of the kubelet's state files, and of derived UIDs."""

from __future__ import annotations


def fnv1a_32(data: bytes) -> int:
    """Hash to 32 bits."""
    return _fnv1a(data, 0x811C9DC5, 0x0100_0193, (1 << 32) - 1)


def fnv1a_128(data: bytes) -> int:
    """Hash to 128 bits."""
    return _fnv1a(data, 0x6C62272E_07BB0142_62B82175_6295C58D, (1 << 88) + 0x13B, (1 << 128) - 1)


def _fnv1a(data: bytes, value: int, prime: int, mask: int) -> int:
    for byte in data:
        value = (value ^ byte) * prime & mask
    return value
