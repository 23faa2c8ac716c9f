"""The errors of a guest."""

from __future__ import annotations


class GuestError(Exception):
    """The guest could not be built, did not start, or ended without a result."""


class GuestTimeoutError(GuestError):
    """The guest was still running when its time limit expired, and was killed."""
