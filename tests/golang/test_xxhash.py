"""XXH64 compared with published hashes of texts, and with the reference implementation's sanity checks."""

from __future__ import annotations

import pytest

from cpuctl.golang.hashes import xxh64

_PRIME = 2654435761
_PRIME_64 = 11400714785074694797


def sanity_buffer(length: int) -> bytes:
    """Return the input of the reference implementation's sanity checks (``xsum_sanity_check.c``)."""
    value, data = _PRIME, bytearray()
    for _ in range(length):
        data.append(value >> 56)
        value = value * _PRIME_64 & (1 << 64) - 1
    return bytes(data)


@pytest.mark.parametrize(
    ("length", "plain", "seeded"),
    [
        (0, 0xEF46DB3751D8E999, 0xAC75FDA2929B17EF),
        (1, 0xE934A84ADB052768, 0x5014607643A9B4C3),
        (4, 0x9136A0DCA57457EE, 0xCAAB286BD8E9FDB5),
        (14, 0x8282DCC4994E35C8, 0xC3BD6BF63DEB6DF0),
        (222, 0xB641AE8CB691C174, 0x20CB8AB7AE10C14A),
    ],
)
def test_sanity_checks(length: int, plain: int, seeded: int) -> None:
    data = sanity_buffer(length)
    assert (xxh64(data), xxh64(data, _PRIME)) == (plain, seeded)


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("a", 0xD24EC4F1A98C6E5B),
        ("abc", 0x44BC2CF5AD770999),
        ("Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_texts(text: str, hashed: int) -> None:
    assert xxh64(text.encode()) == hashed
