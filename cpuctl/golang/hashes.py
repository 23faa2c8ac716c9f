"""Hashes of Go programs: FNV-1a for state files and derived UIDs, xxHash for the scheduler's input."""

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


_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_STRIPE, _LANE = 32, 8


def xxh64(data: bytes, seed: int = 0) -> int:
    """Hash to 64 bits; *seed* is an unsigned 64-bit integer."""
    value = _striped(data, seed) if len(data) >= _STRIPE else seed + _P5
    value = value + len(data) & _MASK
    rest = data[len(data) - len(data) % _STRIPE :]
    while len(rest) >= _LANE:
        value = _rotated(value ^ _round(0, rest), 27) * _P1 + _P4 & _MASK
        rest = rest[_LANE:]
    if len(rest) >= 4:
        value ^= int.from_bytes(rest[:4], "little") * _P1 & _MASK
        value = _rotated(value, 23) * _P2 + _P3 & _MASK
        rest = rest[4:]
    for byte in rest:
        value = _rotated(value ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    return _avalanche(value)


def _striped(data: bytes, seed: int) -> int:
    """Process all whole stripes of 32 bytes, in four lanes."""
    lanes = [each & _MASK for each in (seed + _P1 + _P2, seed + _P2, seed, seed - _P1)]
    for start in range(0, len(data) - len(data) % _STRIPE, _STRIPE):
        for lane in range(4):
            at = start + lane * _LANE
            lanes[lane] = _round(lanes[lane], data[at : at + _LANE])
    value = sum(_rotated(each, by) for each, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for each in lanes:
        value = (value ^ _round(0, each.to_bytes(_LANE, "little"))) * _P1 + _P4 & _MASK
    return value


def _round(lane: int, data: bytes) -> int:
    return _rotated(lane + int.from_bytes(data[:_LANE], "little") * _P2 & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32
