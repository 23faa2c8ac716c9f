"""Go's arithmetic with 64-bit integers: they wrap, saturate or round where Python's are unlimited.

Rule: ``k8s.io/apimachinery/pkg/api/resource/math.go`` and ``amount.go``.
"""

from __future__ import annotations

INT64_MAX = (1 << 63) - 1


def without_factors(number: int, factor: int) -> tuple[int, int]:
    """Divide by *factor* as long as that is exact; return the quotient and the number of divisions."""
    times = 0
    while not number % factor:
        number //= factor
        times += 1
    return number, times


def shifted(number: int, places: int) -> int:
    """Return ``number * 10**places``, rounded away from zero to a whole number."""
    power: int = 10 ** abs(places)
    if places >= 0:
        return number * power
    magnitude = -(-abs(number) // power)
    return magnitude if number > 0 else -magnitude


def fits_int64(number: int) -> bool:
    """Return whether Go's ``int64`` holds a number."""
    return -(1 << 63) <= number < 1 << 63


def low64(number: int) -> int:
    """Keep the low 64 bits, signed: what Go's integers do on overflow."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def short_count(unscaled: int, places: int) -> int:
    """Return ``unscaled * 10**places`` as the kubelet's short form does."""
    count = shifted(unscaled, places)
    if fits_int64(count):
        return count
    # The kubelet multiplies by these powers at once and lets them wrap; for others it steps, and gives up.
    return low64(count) if places in (1, 2, 3, 6, 9) else 0


def long_count(unscaled: int, places: int) -> int:
    """Return ``unscaled * 10**places`` as the kubelet's long form does."""
    power: int = 10 ** abs(places)
    if places >= 0:
        # Go's conversion of a too large float to int64 gives -2^63 on amd64.
        return low64(unscaled * min(power, 1 << 63))
    if unscaled >= INT64_MAX or places <= -19:
        return low64(-(-unscaled // power))
    # The range check ignores negative numbers: they wrap first, and inexact ones round up once too often.
    low = low64(unscaled)
    ceiling = -(-low // power)
    return ceiling + 1 if low < 0 and low % power else ceiling
