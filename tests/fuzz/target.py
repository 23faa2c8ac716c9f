"""What a fuzzer needs to know about a parser: how to call it, its allowed exceptions, and its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
FINDINGS = Path(__file__).parent / "findings"


@dataclass(frozen=True, slots=True)
class Target:
    """``run`` reads any bytes; an undocumented exception or a broken law is a failure."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]


def texts(*samples: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [sample.encode() for sample in samples]


def files(*patterns: str, most: int = 200, largest: int = 1 << 16) -> Callable[[], Iterable[bytes]]:
    """Use fixtures as seeds, the smallest first: mutations of large ones rarely find anything."""

    def read() -> list[bytes]:
        found = {path for pattern in patterns for path in FIXTURES.glob(pattern) if path.is_file()}
        assert found, f"no fixture matches {patterns}"
        small = sorted((path.stat().st_size, path) for path in found)
        return [path.read_bytes() for size, path in small[:most] if size <= largest]

    return read


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
