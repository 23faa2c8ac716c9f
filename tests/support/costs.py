"""Limits on the cost of hostile input, wide enough for slow and busy machines."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seconds_below(limit: float) -> Iterator[None]:
    """Fail if the block takes *limit* seconds of this process's CPU time or more."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < limit, f"took {spent:.1f} seconds, expected less than {limit}"


@contextmanager
def bytes_below(limit: int) -> Iterator[None]:
    """Fail if the block allocates *limit* bytes of new memory or more at any time."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"held {peak} bytes, expected less than {limit}"
