"""The two readings of KEP-5554's allocator."""

from __future__ import annotations

from enum import StrEnum


class Semantics(StrEnum):
    """What the preview of the allocator follows: KEP-5554's text, or its reference implementation."""

    KEP = "kep"
    REFERENCE = "reference"
