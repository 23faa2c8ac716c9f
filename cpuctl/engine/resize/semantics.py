"""The two readings of KEP-5554's allocator."""

from __future__ import annotations

from enum import StrEnum


class Semantics(StrEnum):
    """By what the preview of the allocator goes: KEP-5554's text, or its reference implementation."""

    KEP = "kep"
    REFERENCE = "reference"
